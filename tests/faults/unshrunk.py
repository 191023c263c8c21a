"""A pytest plugin for runs against planted faults, which stops at the first failing example."""

from __future__ import annotations

import pytest
from hypothesis import Phase, settings


@pytest.hookimpl(trylast=True)  # after the profile of every run
def pytest_configure(config: pytest.Config) -> None:
    """Neither shrink a failing example nor store it for later runs, which have no fault."""
    settings.register_profile(
        "unshrunk", settings.default, phases=(Phase.explicit, Phase.generate), database=None
    )
    settings.load_profile("unshrunk")
    from support import selection  # a plugin that pytest imports itself

    selection.SECONDS = 60  # a fault may make a loop endless
