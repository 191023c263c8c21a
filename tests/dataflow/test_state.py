"""State in files: run again it is the same, what was replaced goes, and it is as large as what is live."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zlib import crc32

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dataflow.simulation import Quad, Simulation, in_order
from rdflive_stores.spark.dataflow import state
from rdflive_stores.spark.dataflow.files import Folder
from rdflive_stores.spark.dataflow.matching import LIVE
from rdflive_stores.spark.dataflow.runs import Layout, Run
from rdflive_stores.spark.dataflow.state import Bucket, Home, Moment, moment
from rdflive_stores.spark.dataflow.walking import ARRANGED
from support.effort import drawn_from, examples

LAYOUT = Layout(1)
Weights = dict[str, int]


def rows(weights: Weights, key: Callable[[str], int] = len) -> pa.Table:
    """Make rows; by default texts of one length have one key."""
    zeros = [0] * len(weights)
    columns: list[Any] = [zeros, [key(t) for t in weights], zeros, list(weights.values()), list(weights)]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, LAYOUT.schema, strict=True)]
    return pa.table(arrays, schema=LAYOUT.schema)


def spread(text: str) -> int:
    return crc32(text.encode())


def total(runs: list[Run]) -> Counter[str]:
    """Add what some runs hold."""
    held: Counter[str] = Counter()
    for row in (row for run in runs for row in run.table.to_pylist()):
        held[row["v0"]] += row["weight"]
    return Counter({text: weight for text, weight in held.items() if weight})


def bucket(folder: Path) -> Bucket:
    return Bucket.of(Moment(Folder.local(str(folder)), 0), "some", 0, LAYOUT)


def begun(folder: Path) -> None:
    """Make the folder of the bucket, as the first micro-batch does."""
    bucket(folder).folder.make()


def names(folder: Path) -> list[str]:
    """List the files of the bucket."""
    return sorted(path.name for path in folder.rglob("*.*"))


def manifest(folder: Path) -> dict[str, Any]:
    """Read the newest manifest."""
    found = max(folder.rglob("state-*.json"), key=lambda path: int(path.stem.split("-")[1]))
    read: dict[str, Any] = json.loads(found.read_text())
    return read


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(
        st.tuples(
            st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from([-1, 1]), max_size=8),
            st.integers(0, 3),
        ),
        max_size=30,
    ),
    st.sampled_from([0, 2000, 1 << 20]),
    st.sampled_from([1, 300, 1 << 20]),
    st.sampled_from([1, 3]),
)
def test_state_before_a_batch_is_the_sum_of_the_earlier(
    tmp_path_factory: Any, batches: Any, least: int, step: int, bits: int
) -> None:
    """However often a micro-batch runs, and however merges go on, it reads the sum of those before it."""
    folder = tmp_path_factory.mktemp("state")
    begun(folder)
    earlier: Counter[str] = Counter()
    expected: Counter[str] = Counter()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state, "_LEAST_BYTES", least)
        patch.setattr(state, "_STEP", step)
        patch.setattr(state, "_UNIT", 500)
        patch.setattr(state, "_FANOUT_BITS", bits)
        patch.setattr(state, "_FANOUT", 1 << bits)
        for number, (weights, repeats) in enumerate(batches):
            for _ in range(1 + repeats):
                assert total(bucket(folder).before(number)) == expected
                added = bucket(folder).add(number, rows(weights))
                assert total([added] if added else []) == weights
                again = bucket(folder).added(number)
                assert total([again] if again else []) == weights
            # Spark may run the one before again
            assert total(bucket(folder).before(max(number - 1, 0))) == earlier
            assert total(bucket(folder).before(number)) == expected
            earlier, expected = (
                expected,
                Counter({t: n for t in {*expected, *weights} if (n := expected[t] + weights.get(t, 0))}),
            )
            assert total(bucket(folder).before(number + 1)) == expected
        last = len(batches) - 1
        bucket(folder).compact(last)
        assert total(bucket(folder).before(last + 1)) == expected
        assert len(names(folder)) <= 1 + len(expected)


def test_added_is_what_the_batch_brought(tmp_path: Path) -> None:
    """A later stage reads the changes of its own micro-batch, None where there are none."""
    begun(tmp_path)
    assert bucket(tmp_path).add(0, rows({})) is None
    assert bucket(tmp_path).added(0) is None
    bucket(tmp_path).add(1, rows({"a": 1}))
    added = bucket(tmp_path).added(1)
    assert added is not None
    assert total([added]) == {"a": 1}
    assert bucket(tmp_path).added(0) is None
    assert bucket(tmp_path).added(2) is None


def test_a_batch_that_runs_again_may_bring_nothing(tmp_path: Path) -> None:
    """What an attempt that Spark has forgotten brought is there no more."""
    begun(tmp_path)
    bucket(tmp_path).add(0, rows({"a": 1}))
    bucket(tmp_path).add(1, rows({"b": 1}))
    assert bucket(tmp_path).add(1, rows({})) is None
    assert bucket(tmp_path).added(1) is None
    assert total(bucket(tmp_path).before(2)) == {"a": 1}


def test_a_merge_takes_as_many_batches_as_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight runs of a size become one, a segment per micro-batch; until then they are read themselves."""
    monkeypatch.setattr(state, "_STEP", 4000)
    begun(tmp_path)
    expected: Counter[str] = Counter()
    under_way = []
    for number in range(40):
        brought = {f"{number} {i} {'x' * 40}": 1 for i in range(60 if number < 7 else 1)}
        bucket(tmp_path).add(number, rows(brought, spread))
        expected.update(brought)
        assert total(bucket(tmp_path).before(number + 1)) == expected
        under_way.append(len(manifest(tmp_path)["merges"]))
    assert under_way[:7] == [0] * 7
    assert sum(under_way[7:20]) >= 5
    (long,) = [run for run in manifest(tmp_path)["runs"].values() if len(run) > 1]
    assert len(long) >= 3
    # the next micro-batches remove what was merged: nothing stays but what is named
    for number in (40, 41, 42):
        bucket(tmp_path).add(number, rows({}))
    held = manifest(tmp_path)
    named = {segment for run in held["runs"].values() for segment, *_ in run}
    assert {name for name in names(tmp_path) if name.endswith(".arrow")} == named


def test_a_row_is_written_a_few_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a thousand micro-batches, each byte is written less than ten times, and none writes much at once."""
    monkeypatch.setattr(state, "_UNIT", 1 << 11)
    monkeypatch.setattr(state, "_LEAST_BYTES", 1 << 13)
    monkeypatch.setattr(state, "_STEP", 1 << 14)
    begun(tmp_path)
    written: list[int] = []
    write = Folder.write_table
    monkeypatch.setattr(
        Folder,
        "write_table",
        lambda self, name, table: written.append(size := write(self, name, table)) or size,
    )
    brought, per_batch = 0, []
    for number in range(1000):
        run = bucket(tmp_path).add(number, rows({f"{number} {i} {'x' * 60}": 1 for i in range(20)}, spread))
        assert run is not None
        brought += written[0]
        per_batch.append(sum(written))
        written.clear()
    assert sum(per_batch) < 10 * brought
    assert max(per_batch) < 4 * (1 << 14) + 10 * brought / 1000
    assert len(bucket(tmp_path).before(1000)) < 40


def test_settled_state_is_removed_when_nobody_reads_it(tmp_path: Path) -> None:
    """What a merge replaced is there for the micro-batch that merged and the next, then it goes."""
    begun(tmp_path)
    for number in range(8):
        bucket(tmp_path).add(number, rows({"a": 1}))
    written = {f"{number}-0.arrow" for number in range(1, 9)}
    assert {*names(tmp_path)} == {"8-1.arrow", "state-8.json", "state-7.json", "state-6.json", *written}
    bucket(tmp_path).add(8, rows({}))
    assert written < {*names(tmp_path)}
    bucket(tmp_path).add(9, rows({}))
    assert names(tmp_path) == ["8-1.arrow", "state-10.json", "state-8.json", "state-9.json"]
    assert total(bucket(tmp_path).before(10)) == {"a": 8}


def test_compact_leaves_what_is_not_committed(tmp_path: Path) -> None:
    """A micro-batch that was stopped half-way and runs again reads what was before it."""
    begun(tmp_path)
    for number in range(3):
        bucket(tmp_path).add(number, rows({"a": 1, f"b{number}": 1}))
    bucket(tmp_path).compact(1)
    assert names(tmp_path) == ["3-0.arrow", "state-2.json", "state-3.json", "whole-2-0.arrow"]
    assert total(bucket(tmp_path).before(2)) == {"a": 2, "b0": 1, "b1": 1}
    bucket(tmp_path).add(2, rows({"a": 1}))
    assert total(bucket(tmp_path).before(3)) == {"a": 3, "b0": 1, "b1": 1}


def test_compact_again_changes_nothing(tmp_path: Path) -> None:
    """An empty bucket can be compacted, and one that is compact stays as it is."""
    begun(tmp_path)
    bucket(tmp_path).compact(-1)
    bucket(tmp_path).compact(4)
    assert not names(tmp_path)
    bucket(tmp_path).add(5, rows({"a": 1, "b": 1}))
    bucket(tmp_path).add(6, rows({"a": -1}))
    for _ in range(2):
        bucket(tmp_path).compact(6)
        assert names(tmp_path) == ["state-7.json", "whole-7-0.arrow"]
    bucket(tmp_path).add(7, rows({"b": -1}))
    bucket(tmp_path).compact(7)
    assert names(tmp_path) == ["state-8.json"]
    assert bucket(tmp_path).before(8) == []


def test_drafts_of_killed_tasks_are_not_read_and_go(tmp_path: Path) -> None:
    """What a task left half-written counts for nothing, and is removed two micro-batches later."""
    begun(tmp_path)
    bucket(tmp_path).add(0, rows({"a": 1}))
    folder = Path(bucket(tmp_path).folder.path)
    for name in ("2-0.arrow.draft-5e", "state-1.json.draft-17", "4-0.arrow.draft-a0"):
        (folder / name).write_bytes(b"ARROW1 and no more")
    assert total(bucket(tmp_path).before(1)) == {"a": 1}
    bucket(tmp_path).add(3, rows({}))
    assert total(bucket(tmp_path).before(4)) == {"a": 1}
    assert names(tmp_path) == ["1-0.arrow", "4-0.arrow.draft-a0", "state-1.json", "state-4.json"]


@pytest.mark.parametrize("lost", ["1-0.arrow", "state-2.json"])
def test_damage_is_told(lost: str, tmp_path: Path) -> None:
    """A file that is gone, or no longer what was written, is named."""
    begun(tmp_path)
    bucket(tmp_path).add(0, rows({"a": 1}))
    bucket(tmp_path).add(1, rows({"b": 1}))
    path = Path(bucket(tmp_path).folder.path) / lost
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(state.StateError, match=f"{lost} is damaged: "):
        bucket(tmp_path).before(2)
    if lost.endswith("arrow"):
        path.unlink()
        with pytest.raises(state.StateError, match=f"{lost} is damaged: "):
            bucket(tmp_path).before(2)


def test_moment_needs_a_streaming_query() -> None:
    """Outside of a streaming query there is no micro-batch, and the error says what makes one."""
    with pytest.raises(state.StateError, match="use writeStream"):
        moment(Home(Folder.local("somewhere"), "0"))


@pytest.mark.sampled(by="query")
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
    assert +simulation.live() == Counter(live)
    held = {LIVE: 1, ARRANGED: 2 if " . " in query else 0}
    for name, per_quad in held.items():
        assert simulation.rows_held(name) <= per_quad * (1.5 * size + step + 2 * 2 * 20)
    simulation.compact()
    assert {name: simulation.rows_held(name) for name in held} == {n: k * size for n, k in held.items()}


def quad(number: int) -> Quad:
    return f"<urn:{number % 97}>", "<urn:p>", f"<urn:{number}>", ""
