"""A few kills of a program that writes to a guarded store; `python tests/kill/guarded.py` does any number."""

from __future__ import annotations

from pathlib import Path

import pytest

from kill import guarded
from support.effort import DEEP, drawn_from


@pytest.mark.posix("tells by the signal whether a program was killed or failed")
def test_a_guarded_store_is_never_left_with_half_a_commit(tmp_path: Path) -> None:
    """After each kill it is as before or after the commit that was under way, and the shapes hold."""
    pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    kills = 50 if DEEP else 3
    seed = drawn_from("guarded").getrandbits(32)
    outcome = guarded.run(kills, seed, str(tmp_path))
    assert outcome.kills == kills
    assert outcome.commits > kills
