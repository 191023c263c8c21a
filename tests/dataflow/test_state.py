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

from rdflive_stores.spark.dataflow import state
from rdflive_stores.spark.dataflow.files import Folder
from rdflive_stores.spark.dataflow.runs import Layout, Run
from rdflive_stores.spark.dataflow.state import Bucket, Home, Moment, moment
from support.effort import examples, rounds

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


def names(folder: Path) -> list[str]:
    """List the files of the bucket."""
    return sorted(path.name for path in folder.rglob("*.*"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Give the place of a bucket whose folder is made, as the first micro-batch does."""
    bucket(tmp_path).folder.make()
    return tmp_path


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
    bucket(folder).folder.make()
    earlier: Counter[str] = Counter()
    expected: Counter[str] = Counter()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state, "_LEAST_BYTES", least)
        patch.setattr(state, "_STEP", step)
        patch.setattr(state, "_UNIT", 500)
        patch.setattr(state, "_FANOUT_BITS", bits)
        patch.setattr(state, "_FANOUT", 1 << bits)
        for number, (weights, repeats) in enumerate(batches):
            for attempt in range(1 + repeats):
                assert total(bucket(folder).before(number)) == expected
                if attempt == 0:  # what the micro-batch before has added is not of this one
                    assert bucket(folder).added(number) is None
                if attempt == 2:  # of one that Spark has forgotten nothing is left
                    assert bucket(folder).add(number, rows({})) is None
                    assert bucket(folder).added(number) is None
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
        for _ in range(2):  # one that is compact stays as it is, and so does an empty one
            bucket(folder).compact(last)
            assert total(bucket(folder).before(last + 1)) == expected
            assert len(names(folder)) <= 1 + len(expected)


def test_a_merge_takes_as_many_batches_as_it_needs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight runs of a size become one, a segment per micro-batch; until then they are read themselves."""
    monkeypatch.setattr(state, "_STEP", 4000)
    expected: Counter[str] = Counter()
    under_way = []
    for number in range(40):
        brought = {f"{number} {i} {'x' * 40}": 1 for i in range(60 if number < 7 else 1)}
        bucket(folder).add(number, rows(brought, spread))
        expected.update(brought)
        assert total(bucket(folder).before(number + 1)) == expected
        under_way.append(len(manifest(folder)["merges"]))
    assert under_way[:7] == [0] * 7
    assert sum(under_way[7:20]) >= 5
    (long,) = [run for run in manifest(folder)["runs"].values() if len(run) > 1]
    assert len(long) >= 3
    # the next micro-batches remove what was merged: nothing stays but what is named
    for number in (40, 41, 42):
        bucket(folder).add(number, rows({}))
    held = manifest(folder)
    named = {segment for run in held["runs"].values() for segment, *_ in run}
    assert {name for name in names(folder) if name.endswith(".arrow")} == named


def test_a_row_is_written_a_few_times(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of hundreds of micro-batches, each byte is written less than ten times, none writes much at once."""
    monkeypatch.setattr(state, "_UNIT", 1 << 11)
    monkeypatch.setattr(state, "_LEAST_BYTES", 1 << 13)
    monkeypatch.setattr(state, "_STEP", 1 << 14)
    written: list[int] = []
    write = Folder.write_table
    monkeypatch.setattr(
        Folder,
        "write_table",
        lambda self, name, table: written.append(size := write(self, name, table)) or size,
    )
    brought, per_batch, count = 0, [], rounds(1000)
    for number in range(count):
        run = bucket(folder).add(number, rows({f"{number} {i} {'x' * 60}": 1 for i in range(20)}, spread))
        assert run is not None
        brought += written[0]
        per_batch.append(sum(written))
        written.clear()
    assert sum(per_batch) < 10 * brought
    assert max(per_batch) < 4 * (1 << 14) + 10 * brought / count
    assert len(bucket(folder).before(count)) < 40


def test_compact_leaves_what_is_not_committed(folder: Path) -> None:
    """A micro-batch that was stopped half-way and runs again reads what was before it."""
    for number in range(3):
        bucket(folder).add(number, rows({"a": 1, f"b{number}": 1}))
    bucket(folder).compact(1)
    assert names(folder) == ["3-0.arrow", "state-2.json", "state-3.json", "whole-2-0.arrow"]
    assert total(bucket(folder).before(2)) == {"a": 2, "b0": 1, "b1": 1}
    bucket(folder).add(2, rows({"a": 1}))
    assert total(bucket(folder).before(3)) == {"a": 3, "b0": 1, "b1": 1}


def test_drafts_of_killed_tasks_are_not_read_and_go(folder: Path) -> None:
    """What a task left half-written counts for nothing, and is removed two micro-batches later."""
    bucket(folder).add(0, rows({"a": 1}))
    place = Path(bucket(folder).folder.path)
    for name in ("2-0.arrow.draft-5e", "state-1.json.draft-17", "4-0.arrow.draft-a0"):
        (place / name).write_bytes(b"ARROW1 and no more")
    assert total(bucket(folder).before(1)) == {"a": 1}
    bucket(folder).add(3, rows({}))
    assert total(bucket(folder).before(4)) == {"a": 1}
    assert names(folder) == ["1-0.arrow", "4-0.arrow.draft-a0", "state-1.json", "state-4.json"]


@pytest.mark.parametrize("lost", ["1-0.arrow", "state-2.json"])
def test_damage_is_told(lost: str, folder: Path) -> None:
    """A file that is gone, or no longer what was written, is named."""
    bucket(folder).add(0, rows({"a": 1}))
    bucket(folder).add(1, rows({"b": 1}))
    path = Path(bucket(folder).folder.path) / lost
    path.write_bytes(path.read_bytes()[:40])
    for _ in range(1 + lost.endswith("arrow")):
        with pytest.raises(state.StateError, match=f"{lost} is damaged: "):
            bucket(folder).before(2)
        path.unlink(missing_ok=True)


def test_moment_needs_a_streaming_query() -> None:
    """Outside of a streaming query there is no micro-batch, and the error says what makes one."""
    pytest.importorskip("pyspark", reason="the extra spark is not installed")
    with pytest.raises(state.StateError, match="use writeStream"):
        moment(Home(Folder.local("somewhere"), "0"))
