"""A mirror through Spark that is killed."""

from __future__ import annotations

import pytest

from kill import spark_mirror


@pytest.mark.linux("asks /proc whether a JVM has ended")
def test_a_killed_mirror_loses_nothing_and_applies_nothing_twice() -> None:
    """Whether its Python or its JVM is killed both end, and the next run goes on with the graph as it is."""
    pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    outcome = spark_mirror.run(kills=3, batches=300, seed=1)
    assert (outcome.kills, outcome.jvm_kills, outcome.batches) == (3, 2, 300)
    assert outcome.deltas > 2
