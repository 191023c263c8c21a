"""A few seeded kills of a subscriber; `python tests/kill/subscriber.py` runs any number."""

from __future__ import annotations

from pathlib import Path

import pytest

from kill import clock_subscriber, stream_subscriber
from kill.subscriber import run
from support.effort import HUNT, drawn_from


@pytest.mark.posix("tells by the signal whether a program was killed or failed")
def test_a_killed_subscriber_misses_nothing(tmp_path: Path) -> None:
    """A subscriber killed at random moments receives every delta, and each number with one content."""
    pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    kills = 4 if HUNT else 1
    outcome = run(tmp_path, kills=kills, batches=120, seed=drawn_from("subscriber").getrandbits(32))
    assert outcome.lives == kills + 1
    assert outcome.deltas > 50


@pytest.mark.posix("tells by the signal whether a program was killed or failed")
def test_a_killed_subscriber_of_a_stream_misses_nothing(tmp_path: Path) -> None:
    """Windows continue after kills at random moments, and each number has one content."""
    kills = 4 if HUNT else 1
    seed = drawn_from("stream").getrandbits(32)
    for outcome in stream_subscriber.run(tmp_path, kills=kills, elements=400, seed=seed):
        assert outcome.lives == kills + 1
        assert outcome.deltas > 20


@pytest.mark.posix("tells by the signal whether a program was killed or failed")
def test_a_killed_subscriber_is_told_what_was_due_meanwhile(tmp_path: Path) -> None:
    """After kills at random moments it receives each row that a clock changed, also in between."""
    pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    kills = 4 if HUNT else 1
    seed = drawn_from("clock").getrandbits(32)
    outcome = clock_subscriber.run(tmp_path, kills=kills, batches=120, seed=seed)
    assert outcome.lives == kills + 1
    assert outcome.deltas > 50
