"""Kills of a mirror and of a subscription on Spark; the programs in `kill` do any number of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kill import spark_mirror, spark_subscription
from support.effort import HUNT, drawn_from

KILLS = 3 if HUNT else 1


def kill_mirror(folder: Path) -> None:
    """Whether its Python or its JVM is killed both end, and the next run goes on with the graph as it is."""
    pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    batches = 300 if HUNT else 100
    seed = drawn_from("kills of a mirror").randrange(1000)
    outcome = spark_mirror.run(kills=KILLS, batches=batches, seed=seed)
    assert (outcome.kills, outcome.batches) == (KILLS, batches)
    assert outcome.jvm_kills == (KILLS + seed % 2) // 2
    assert outcome.deltas > 2


def kill_subscription(folder: Path) -> None:
    """Whatever is killed, no net is lost, none is told in two ways, and the state is what is live."""
    batches = 16 if HUNT else 8
    seed = drawn_from("kills of a subscription").randrange(1000)
    outcome = spark_subscription.run(folder, kills=KILLS, batches=batches, seed=seed, left=4)
    assert outcome.batches == batches
    assert outcome.groups > 0
    assert 1 <= outcome.killed <= KILLS  # a child may have ended before it is killed


KILLED = {"mirror": kill_mirror, "subscription": kill_subscription}


@pytest.mark.linux("asks /proc whether a JVM has ended")
@pytest.mark.usefixtures("spark")  # there is a Java
@pytest.mark.sampled(by="what")
@pytest.mark.parametrize("what", KILLED)
def test_what_is_killed_goes_on_where_it_was(what: str, tmp_path: Path) -> None:
    """Nothing is lost, and nothing is applied or told twice."""
    KILLED[what](tmp_path)
