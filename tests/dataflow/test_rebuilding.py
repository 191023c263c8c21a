"""State made anew in the middle: random queries, other partitions, compactions, attempts that are killed."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dataflow.simulation import Change, Simulation, in_order
from dataflow.test_finishing import Scenario, scenarios
from rdflive_stores.spark.dataflow import state
from rdflive_stores.spark.dataflow.files import Folder
from rdflive_stores.spark.dataflow.state import Moment
from rdflive_stores.spark.dataflow.tasks import live_quads
from support.effort import examples
from support.one_process import OneProcess, Row, added


def rebuilt(old: Simulation, folder: str, buckets: int) -> tuple[Simulation, Counter[Row]]:
    """Make the state anew from the live quads, as `rebuild` does; gives its whole answer too."""
    now = Moment(Folder.local(old.folder), old.batch - 1)
    numbers = pa.RecordBatch.from_pydict({"id": list(range(old.buckets))})
    changes = [
        Change(row["op"], row["s"], row["p"], row["o"], row["g"])
        for rows in live_quads(now, 2, [numbers])
        for row in rows.to_pylist()
    ]
    begun = old.batch - 1
    planned = {"entailment": old.entailment, "rules": old.rules, "path_steps": old.path_steps}
    new = Simulation(old.text, folder, buckets, old.hash, old.cuts, begun, **planned)
    return new, new.run(changes)


def interrupted(simulation: Simulation, changes: list[Change], chance: random.Random) -> None:
    """Run some stages of the next micro-batch, as if the tasks were killed behind them."""
    simulation.attempt(changes, chance.randint(1, simulation.length))


def check(scenario: Scenario, folder: Path, seed: int) -> None:
    """Compare each micro-batch with one process, whatever becomes of the state in between."""
    chance, engine = random.Random(seed), OneProcess(scenario.text)
    simulation = Simulation(scenario.text, str(folder / "0"), chance.randint(1, 4))
    initial, total = OneProcess(scenario.text).run([]), Counter[Row]()
    quads = dict.fromkeys(quad for batch in scenario.batches for _, quad in batch)
    for number, batch in enumerate([*scenario.batches, [("D", quad) for quad in quads]]):
        changes = in_order(batch)
        if chance.random() < 0.4:
            interrupted(simulation, changes, chance)
        found = simulation.run(changes, chance.randint(1, 2))
        assert found == engine.run(changes)
        total = added(total, found)
        if chance.random() < 0.3:
            simulation.compact()
        if chance.random() < 0.5:
            simulation, answer = rebuilt(simulation, str(folder / str(number + 1)), chance.randint(1, 4))
            assert answer == total
    assert total == initial


@pytest.mark.parametrize("least", [0, 1 << 18])
@settings(max_examples=examples(25), deadline=None, suppress_health_check=list(HealthCheck))
@given(scenario=scenarios(), seed=st.integers(0, 1 << 32))
def test_a_query_goes_on_whatever_becomes_of_its_state(
    tmp_path_factory: Any, least: int, scenario: Scenario, seed: int
) -> None:
    """Its deltas, and the answer at each rebuilding, are those of one process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state, "_LEAST_BYTES", least)
        patch.setattr(state, "_STEP", 1 + least)
        check(scenario, tmp_path_factory.mktemp("state"), seed)
