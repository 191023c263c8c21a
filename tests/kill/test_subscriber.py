"""A few kills of a subscriber, seeded; `python tests/kill/subscriber.py` does any number of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kill.subscriber import run


@pytest.mark.posix("tells by the signal whether a program was killed or failed")
def test_a_killed_subscriber_misses_nothing(tmp_path: Path) -> None:
    """Killed at random moments, a subscriber is told every delta, and each number with one content."""
    pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    outcome = run(tmp_path, kills=4, batches=120, seed=4)
    assert outcome.lives == 5
    assert outcome.deltas > 50
