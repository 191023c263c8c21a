"""State in files: run again it is the same, what was replaced goes, and it is as large as what is live."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any
from zlib import crc32

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import fs

from rdflive_stores.spark.dataflow import state
from rdflive_stores.spark.dataflow.files import Folder
from rdflive_stores.spark.dataflow.runs import Layout, Run
from rdflive_stores.spark.dataflow.state import Bucket, Home, Mark, TaskMoment, moment, note, noted, standing
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


class Task:
    """An attempt at the only task of a micro-batch, which finds where the bucket stands by the notes."""

    def __init__(self, folder: Path, batch: int) -> None:
        place = Folder.local(str(folder))
        mark = standing(place, 0, batch) if noted(place, 0, batch - 1) else Mark(batch)
        self.now = TaskMoment(place, batch, {0: mark})

    @property
    def bucket(self) -> Bucket:
        """Open the bucket as the next stage does."""
        return Bucket.of(self.now, "some", 0, LAYOUT)

    def add(self, weights: Weights, key: Callable[[str], int] = len) -> Run | None:
        """Write changes, and note that the micro-batch has run."""
        run = self.bucket.add(rows(weights, key))
        note(self.now, 0)
        return run


def before(folder: Path, batch: int) -> Counter[str]:
    """Add up the state before a micro-batch."""
    return total(Task(folder, batch).bucket.before())


def names(folder: Path) -> list[str]:
    """List the files of the bucket."""
    return sorted(path.name for path in (folder / "some").rglob("*.*"))


def compacted(folder: Path, batch: int) -> Path:
    """Merge the state behind a micro-batch into another folder."""
    new = folder / "compact"
    task = Task(folder, batch + 1)
    now = TaskMoment(Folder.local(str(new)), batch, {0: Mark(batch)})
    task.bucket.copy(Bucket.of(now, "some", 0, LAYOUT))
    note(now, 0)
    return new


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
                task = Task(folder, number)
                assert total(task.bucket.before()) == expected
                # neither what the micro-batch before has added, nor what an earlier attempt has
                assert task.bucket.added() is None
                if attempt == 2:  # of one that Spark has forgotten nothing is left
                    assert Task(folder, number).add({}) is None
                added = task.add(weights)
                assert total([added] if added else []) == weights
                again = task.bucket.added()
                assert total([again] if again else []) == weights
            # Spark may run the one before again
            assert before(folder, max(number - 1, 0)) == earlier
            assert before(folder, number) == expected
            earlier, expected = (
                expected,
                Counter({t: n for t in {*expected, *weights} if (n := expected[t] + weights.get(t, 0))}),
            )
            assert before(folder, number + 1) == expected
        for _ in range(2):  # one that is compact stays as it is, and so does an empty one
            folder = compacted(folder, len(batches) - 1)
            assert before(folder, len(batches)) == expected
            assert len(names(folder)) <= 1 + len(expected)


def test_a_merge_takes_as_many_batches_as_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight runs of a size become one, a segment per micro-batch; until then they are read themselves."""
    monkeypatch.setattr(state, "_STEP", 4000)
    expected: Counter[str] = Counter()
    under_way = []
    for number in range(40):
        brought = {f"{number} {i} {'x' * 40}": 1 for i in range(60 if number < 7 else 1)}
        Task(tmp_path, number).add(brought, spread)
        expected.update(brought)
        assert before(tmp_path, number + 1) == expected
        under_way.append(len(manifest(tmp_path)["merges"]))
    assert under_way[:7] == [0] * 7
    assert sum(under_way[7:20]) >= 5
    (long,) = [run for run in manifest(tmp_path)["runs"].values() if len(run) > 1]
    assert len(long) >= 3
    # the next micro-batches remove what was merged: nothing stays but what is named
    for number in (40, 41, 42):
        Task(tmp_path, number).add({})
    held = manifest(tmp_path)
    named = {segment for run in held["runs"].values() for segment, *_ in run}
    assert {name for name in names(tmp_path) if name.endswith(".arrow")} == named


def test_a_row_is_written_a_few_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
        run = Task(tmp_path, number).add({f"{number} {i} {'x' * 60}": 1 for i in range(20)}, spread)
        assert run is not None
        brought += written[0]
        per_batch.append(sum(written))
        written.clear()
    assert sum(per_batch) < 10 * brought
    assert max(per_batch) < 4 * (1 << 14) + 10 * brought / count
    assert len(Task(tmp_path, count).bucket.before()) < 40


def test_compact_leaves_what_is_not_committed(tmp_path: Path) -> None:
    """A micro-batch that was stopped half-way runs again and reads what was before it."""
    for number in range(3):
        Task(tmp_path, number).add({"a": 1, f"b{number}": 1})
    compact = compacted(tmp_path, 1)
    assert names(compact) == ["2-0.arrow", "state-2.json"]
    assert before(compact, 2) == {"a": 2, "b0": 1, "b1": 1}
    Task(compact, 2).add({"a": 1})
    assert before(compact, 3) == {"a": 3, "b0": 1, "b1": 1}


def test_what_killed_and_late_attempts_leave_is_not_read_and_goes(tmp_path: Path) -> None:
    """Files half-written, and whole ones that no manifest names, are removed two micro-batches later."""
    Task(tmp_path, 0).add({"a": 1})
    place = tmp_path / "some" / "0"
    for name in ("2-0.arrow.draft-5e", "state-1.json.draft-17", "4-0.arrow.draft-a0", "2-1.arrow"):
        (place / name).write_bytes(b"ARROW1 and no more")
    for number in (1, 2):
        note(Task(tmp_path, number).now, 0)
    assert before(tmp_path, 3) == {"a": 1}
    Task(tmp_path, 3).add({})
    assert before(tmp_path, 4) == {"a": 1}
    assert names(tmp_path) == ["1-0.arrow", "4-0.arrow.draft-a0", "state-1.json", "state-4.json"]


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(
        st.one_of(st.none(), st.dictionaries(st.sampled_from("abc"), st.sampled_from([-1, 1]))),
        min_size=5,
        max_size=12,
    ),
    st.randoms(use_true_random=False),
)
def test_an_attempt_that_ends_late_changes_nothing(
    tmp_path_factory: Any, batches: list[Weights | None], chance: Random
) -> None:
    """Its copy has won, and any number of micro-batches have followed: it writes the same, or nothing.

    To a bucket without rows, None, nothing is written.
    """

    def run(task: Task, weights: Weights | None) -> None:
        if weights is None:
            note(task.now, 0)
        else:
            task.add(weights)

    folder = tmp_path_factory.mktemp("late")
    waiting: list[tuple[Task, Weights | None]] = []
    expected: Counter[str] = Counter()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(state, "_LEAST_BYTES", 0)
        patch.setattr(state, "_FANOUT_BITS", 1)
        patch.setattr(state, "_FANOUT", 2)
        for number, weights in enumerate(batches):
            waiting.append((Task(folder, number), weights))
            run(Task(folder, number), weights)
            expected.update(weights or {})
            for attempt in [each for each in waiting if chance.random() < 0.3]:
                waiting.remove(attempt)
                with suppress(state.StateError):  # the state before it has been removed
                    run(*attempt)
            assert before(folder, number + 1) == {t: n for t, n in expected.items() if n}


def test_listings_may_lag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a bucket stands at is known by name, so nothing is lost where a listing shows an earlier time."""
    monkeypatch.setattr(Folder, "names", lambda folder: [])
    for number in range(40):
        Task(tmp_path, number).add({"a": 1, f"b{number % 5}": 1})
    assert before(tmp_path, 40) == {"a": 40} | {f"b{n}": 8 for n in range(5)}


class Unreplacing:
    """A file system that moves no file over another, as HDFS does not."""

    def __init__(self) -> None:
        self._system = fs.LocalFileSystem()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._system, name)

    def move(self, source: str, target: str) -> None:
        """Move a file, or refuse."""
        if os.path.exists(target):
            raise OSError(f"{target} is there")
        self._system.move(source, target)


def test_a_file_is_replaced_where_moves_do_not_replace(tmp_path: Path) -> None:
    """The second attempt at a task writes the same file again."""
    folder = Folder(Unreplacing(), str(tmp_path / "folder"))  # type: ignore[arg-type]
    for text in ("one", "two"):
        folder.write_text("name", text)
        assert folder.text("name") == text
    assert folder.names() == ["name"]


def test_a_file_stays_where_a_copy_of_a_task_that_writes_it_again_is_killed(tmp_path: Path) -> None:
    """Without moves that replace, the file of the attempt that counts is never away."""
    system = Unreplacing()
    folder = Folder(system, str(tmp_path / "folder"))  # type: ignore[arg-type]
    folder.write_text("name", "one")
    removed: list[str] = []
    system.delete_file = removed.append  # type: ignore[attr-defined]  # as if it were killed there
    folder.write_text("name", "one")
    assert str(tmp_path / "folder" / "name") not in removed
    assert folder.text("name") == "one"


@pytest.mark.parametrize("lost", ["1-0.arrow", "state-2.json"])
def test_damage_is_told(lost: str, tmp_path: Path) -> None:
    """A file that is gone, or no longer what was written, is named."""
    Task(tmp_path, 0).add({"a": 1})
    Task(tmp_path, 1).add({"b": 1})
    path = tmp_path / "some" / "0" / lost
    path.write_bytes(path.read_bytes()[:40])
    for found in ("damaged", "missing"):
        with pytest.raises(state.StateError, match=f"{lost} is {found}: "):
            before(tmp_path, 2)
        path.unlink(missing_ok=True)


def test_moment_needs_a_streaming_query() -> None:
    """Outside of a streaming query there is no micro-batch, and the error says what makes one."""
    pytest.importorskip("pyspark", reason="the extra spark is not installed")
    with pytest.raises(state.StateError, match="use writeStream"):
        moment(Home(Folder.local("somewhere"), "0"))
