"""Subscriptions and a mirror on several executors: some are killed, given back, or fail in the middle.

Each test is a child process, `kill.spark_cluster`, with a session of its own on Spark's `local-cluster`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from kill.spark_cluster import PLAYS, Outcome, kill_driver, run
from support.effort import HUNT, drawn_from

pytestmark = [
    pytest.mark.linux("asks /proc which executor runs a worker"),
    pytest.mark.usefixtures("spark"),  # there is a Java
]

KILLS = {"queries": 10, "entailment": 9, "window": 9, "parameters": 9, "snapshot": 6, "mirror": 7}
"""Of each play, in a hunt."""


def disturbed(folder: Path, what: str, plays: list[str], count: int) -> Outcome:
    """Disturb plays; what they tell is right, and each query runs to its end."""
    seed = drawn_from("cluster", what, *plays).randrange(1000)
    outcome = run(folder, what, plays, count=count, seed=seed)
    print(outcome)
    assert (outcome.lost, outcome.wrong, outcome.ended) == (0, 0, 0), outcome
    assert outcome.told > count
    return outcome


@pytest.mark.parametrize(
    "play",
    [
        pytest.param(name, marks=() if name == "queries" else pytest.mark.hunted("the gate has queries"))
        for name in PLAYS
    ],
)
def test_executors_that_are_killed(play: str, tmp_path: Path) -> None:
    """In the middle of any stage. Some tasks go on without their executor, and end after their copies."""
    count = KILLS[play] if HUNT else 2
    outcome = disturbed(tmp_path, "kill", [play], count)
    assert outcome.repeated == outcome.disturbed >= count, outcome
    assert outcome.removed >= count, outcome
    assert outcome.outrun >= 1, outcome


@pytest.mark.hunted("the gate has executors that are killed")
def test_each_stage_fails_once(tmp_path: Path) -> None:
    """Whatever the first attempt at one of its tasks has written by then."""
    outcome = disturbed(tmp_path, "fail", list(PLAYS), 1)
    assert outcome.repeated == outcome.disturbed > 40, outcome
    assert outcome.stages > 8, outcome


@pytest.mark.hunted("the gate has executors that are killed")
@pytest.mark.parametrize("what", ["decommission", "allocation"])
def test_executors_come_and_go(what: str, tmp_path: Path) -> None:
    """Their machines are taken away after a notice, or Spark has no work for them for a while."""
    outcome = disturbed(tmp_path, what, ["queries", "window", "mirror"], 3)
    assert outcome.disturbed == 9, outcome
    assert outcome.removed > 1, outcome  # the second of two goes when another has come


@pytest.mark.hunted("the gate kills drivers with their executors")
def test_a_task_that_outlives_its_driver(tmp_path: Path) -> None:
    """It ends when another driver has gone on for two micro-batches."""
    outcome = kill_driver(tmp_path, seed=drawn_from("a driver").randrange(1000))
    assert (outcome.disturbed, outcome.repeated, outcome.outrun) == (1, 1, 1)
