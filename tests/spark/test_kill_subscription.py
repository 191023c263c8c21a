"""A few kills of a subscription on Spark, seeded; `kill.spark_subscription` does any number of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from kill import spark_subscription


@pytest.mark.usefixtures("spark")  # there is a Java
def test_a_killed_subscription_tells_each_micro_batch_as_it_is(tmp_path: Path) -> None:
    """Whatever is killed, no net is lost, none is told in two ways, and the state is what is live."""
    outcome = spark_subscription.run(tmp_path, kills=3, batches=16, seed=5)
    assert (outcome.killed, outcome.batches) == (3, 16)
    assert outcome.groups > 0
