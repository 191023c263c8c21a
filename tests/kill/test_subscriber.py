"""A few kills of a subscriber, seeded; `python tests/kill/subscriber.py` does any number of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kill import clock_subscriber, stream_subscriber
from kill.subscriber import run
from support.effort import HUNT, drawn_from


@pytest.mark.posix("tells by the signal whether a program was killed or failed")
def test_a_killed_subscriber_misses_nothing(tmp_path: Path) -> None:
    """Killed at random moments, a subscriber is told every delta, and each number with one content."""
    pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    kills = 4 if HUNT else 1
    outcome = run(tmp_path, kills=kills, batches=120, seed=drawn_from("subscriber").getrandbits(32))
    assert outcome.lives == kills + 1
    assert outcome.deltas > 50


@pytest.mark.posix("tells by the signal whether a program was killed or failed")
def test_a_killed_subscriber_of_a_stream_misses_nothing(tmp_path: Path) -> None:
    """Killed at random moments, windows go on as they were, and each number has one content."""
    kills = 4 if HUNT else 1
    seed = drawn_from("stream").getrandbits(32)
    for outcome in stream_subscriber.run(tmp_path, kills=kills, elements=400, seed=seed):
        assert outcome.lives == kills + 1
        assert outcome.deltas > 20


@pytest.mark.posix("tells by the signal whether a program was killed or failed")
def test_a_killed_subscriber_is_told_what_was_due_meanwhile(tmp_path: Path) -> None:
    """Killed at random moments, it is told each row that a clock made come or go, also while it was away."""
    pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    kills = 4 if HUNT else 1
    seed = drawn_from("clock").getrandbits(32)
    outcome = clock_subscriber.run(tmp_path, kills=kills, batches=120, seed=seed)
    assert outcome.lives == kills + 1
    assert outcome.deltas > 50
