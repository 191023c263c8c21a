"""A mirror through Spark that is killed."""

from __future__ import annotations

import sys

import pytest

from kill import spark_mirror


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="asks /proc whether a JVM has ended")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_killed_mirror_loses_nothing_and_applies_nothing_twice(seed: int) -> None:
    """Whether its Python or its JVM is killed both end, and the next run goes on with the graph as it is."""
    pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    outcome = spark_mirror.run(kills=1, batches=400, seed=seed)
    assert (outcome.kills, outcome.batches) == (1, 400)
    assert outcome.deltas > 2
