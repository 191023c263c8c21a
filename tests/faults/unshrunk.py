"""A plugin of pytest for runs against planted faults: the first example that fails is enough."""

from __future__ import annotations

import pytest
from hypothesis import Phase, settings


@pytest.hookimpl(trylast=True)  # behind the profile of every run
def pytest_configure(config: pytest.Config) -> None:
    """Neither look for a smaller example nor keep it for later runs, where the fault is not planted."""
    settings.register_profile(
        "unshrunk", settings.default, phases=(Phase.explicit, Phase.generate), database=None
    )
    settings.load_profile("unshrunk")
    from support import selection  # a plugin, which pytest wants to import itself

    selection.SECONDS = 60  # a fault may make a loop endless
