"""State in files: run again it is the same, what was replaced goes, and it is as large as what is live."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdflive_stores.spark.dataflow import state
from rdflive_stores.spark.dataflow.matching import LIVE
from rdflive_stores.spark.dataflow.runs import Layout, Run
from rdflive_stores.spark.dataflow.state import Bucket, Moment, moment
from rdflive_stores.spark.dataflow.walking import ARRANGED
from spark.dataflow.simulation import Quad, Simulation, in_order
from support.effort import drawn_from, examples

LAYOUT = Layout(1)
MOST_FILES = 20
"""Those in force, and as many that a merge replaced."""
Weights = dict[str, int]


def rows(weights: Weights) -> pa.Table:
    zeros = [0] * len(weights)
    columns: list[Any] = [zeros, [len(t) for t in weights], zeros, list(weights.values()), list(weights)]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, LAYOUT.schema, strict=True)]
    return pa.table(arrays, schema=LAYOUT.schema)


def total(runs: list[Run]) -> Counter[str]:
    """Add what some runs hold."""
    held: Counter[str] = Counter()
    for run in runs:
        for text, weight in zip(run.table["v0"].to_pylist(), run.weight.tolist(), strict=True):
            held[text] += weight
    return Counter({text: weight for text, weight in held.items() if weight})


def bucket(folder: Path) -> Bucket:
    return Bucket.of(Moment(str(folder), 0), "some", 0, LAYOUT)


@settings(max_examples=examples(40), deadline=None)
@given(
    st.lists(
        st.tuples(
            st.dictionaries(st.sampled_from("abcd"), st.sampled_from([-1, 1]), max_size=4), st.integers(0, 3)
        ),
        max_size=14,
    ),
    st.sampled_from([0, 2, 4096]),
)
def test_state_before_a_batch_is_the_sum_of_the_earlier(
    tmp_path_factory: Any, batches: Any, least: int
) -> None:
    """However often a micro-batch runs, merges included, it reads the sum of those before it."""
    folder = tmp_path_factory.mktemp("state")
    expected: Counter[str] = Counter()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state, "_LEAST_BYTES", least)
        for number, (weights, repeats) in enumerate(batches):
            for _ in range(1 + repeats):
                assert total(bucket(folder).settle(number)) == expected
                bucket(folder).add(number, rows(weights))
            assert total(bucket(folder).before(number)) == expected
            expected = Counter(
                {t: n for t in {*expected, *weights} if (n := expected[t] + weights.get(t, 0))}
            )
            assert total(bucket(folder).before(number + 1)) == expected
    assert len(list(folder.rglob("*.arrow"))) <= MOST_FILES


def test_added_is_what_the_batch_brought(tmp_path: Path) -> None:
    """A later stage reads the changes of its own micro-batch, None where there are none."""
    assert bucket(tmp_path).add(0, rows({})) is None
    assert bucket(tmp_path).added(0) is None
    bucket(tmp_path).add(1, rows({"a": 1}))
    added = bucket(tmp_path).added(1)
    assert added is not None
    assert total([added]) == {"a": 1}
    assert bucket(tmp_path).added(0) is None


def test_a_batch_that_runs_again_may_bring_nothing(tmp_path: Path) -> None:
    """What an attempt that Spark has forgotten brought is there no more."""
    bucket(tmp_path).add(0, rows({"a": 1}))
    bucket(tmp_path).add(1, rows({"b": 1}))
    assert bucket(tmp_path).add(1, rows({})) is None
    assert bucket(tmp_path).added(1) is None
    assert total(bucket(tmp_path).before(2)) == {"a": 1}


def test_settle_removes_what_it_replaced_when_nobody_reads_it(tmp_path: Path) -> None:
    """What a merge replaced is there for the micro-batch that merged, and gone two later."""
    for number in range(9):
        bucket(tmp_path).add(number, rows({"a": 1}))
    bucket(tmp_path).settle(9)
    names = {path.name for path in tmp_path.rglob("*.arrow")}
    assert {"base-8.arrow", *(f"delta-{n}.arrow" for n in range(9))} == names
    bucket(tmp_path).settle(10)
    assert total(bucket(tmp_path).before(10)) == {"a": 9}
    assert [path.name for path in tmp_path.rglob("*.arrow")] == ["base-8.arrow"]


def test_compact_leaves_what_is_not_committed(tmp_path: Path) -> None:
    """A micro-batch that was stopped half-way and runs again reads what was before it."""
    for number in range(3):
        bucket(tmp_path).add(number, rows({"a": 1, f"b{number}": 1}))
    bucket(tmp_path).compact(1)
    assert sorted(path.name for path in tmp_path.rglob("*.*")) == ["base-1.arrow", "delta-2.arrow"]
    assert total(bucket(tmp_path).settle(2)) == {"a": 2, "b0": 1, "b1": 1}
    bucket(tmp_path).add(2, rows({"a": 1}))
    assert total(bucket(tmp_path).before(3)) == {"a": 3, "b0": 1, "b1": 1}


def test_compact_again_changes_nothing(tmp_path: Path) -> None:
    """An empty bucket can be compacted, and one that is compact stays as it is."""
    bucket(tmp_path).compact(-1)
    bucket(tmp_path).compact(4)
    assert not list(tmp_path.rglob("*.*"))
    bucket(tmp_path).add(5, rows({"a": 1}))
    bucket(tmp_path).add(6, rows({"a": -1}))
    for _ in range(2):
        bucket(tmp_path).compact(6)
        assert [path.name for path in tmp_path.rglob("*.*")] == ["base-6.arrow"]
        assert [len(run) for run in bucket(tmp_path).before(7)] == [0]


def test_drafts_of_killed_tasks_are_not_read_and_go(tmp_path: Path) -> None:
    """What a task left half-written counts for nothing, and is removed two micro-batches later."""
    bucket(tmp_path).add(0, rows({"a": 1}))
    folder = Path(bucket(tmp_path).folder)
    for name in ("delta-1.arrow.5e", "base-0.arrow.17", "delta-3.arrow.a0"):
        (folder / name).write_bytes(b"ARROW1 and no more")
    assert total(bucket(tmp_path).settle(1)) == {"a": 1}
    assert total(bucket(tmp_path).settle(3)) == {"a": 1}
    assert sorted(os.listdir(folder)) == ["delta-0.arrow", "delta-3.arrow.a0"]


def test_moment_needs_a_streaming_query() -> None:
    """Outside of a streaming query there is no micro-batch, and the error says what makes one."""
    with pytest.raises(state.StateError, match="use writeStream"):
        moment("somewhere")


@pytest.mark.turns(by="query")
@pytest.mark.parametrize("query", ["?a <urn:p> ?b . ?b <urn:p> ?c", "?a <urn:p> ?b"])
def test_state_is_as_large_as_what_is_live(
    query: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After ten times as many updates as live quads, files hold half as much again as is live, at most."""
    monkeypatch.setattr(state, "_LEAST_BYTES", 20)
    cuts = drawn_from("churn", query)
    size, step = 600, 150
    simulation = Simulation(f"SELECT * {{ {query} }}", str(tmp_path), 2, cuts=cuts)
    live = [quad(number) for number in range(size)]
    simulation.run(in_order(("A", each) for each in live))
    for number in range(10 * size // step):
        cuts.shuffle(live)
        gone = [live.pop() for _ in range(step // 2)]
        come = [quad(size + number * step + n) for n in range(step // 2)]
        live += come
        simulation.run(in_order([*(("D", each) for each in gone), *(("A", each) for each in come)]))
        assert max(len(names) for names in simulation.files()) <= MOST_FILES
    assert +simulation.live() == Counter(live)
    held = {LIVE: 1, ARRANGED: 2 if " . " in query else 0}
    for name, per_quad in held.items():
        assert simulation.rows_held(name) <= per_quad * (1.5 * size + step + 2 * 2 * 20)
    simulation.compact()
    assert {name: simulation.rows_held(name) for name in held} == {n: k * size for n, k in held.items()}


def quad(number: int) -> Quad:
    return f"<urn:{number % 97}>", "<urn:p>", f"<urn:{number}>", ""
