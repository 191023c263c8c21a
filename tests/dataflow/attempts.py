"""Tasks as the executors of a cluster run them: several attempts at each, and some that end too late.

A `Cluster` is a `Simulation` that calls what Spark calls, one task per part. Attempts are killed in front of
any call of the file system, are repeated with their rows in another order, or stop there and go on some
micro-batches later, as a straggler does that its copy has outrun.
"""

from __future__ import annotations

import random
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyarrow import fs

from dataflow.simulation import Change, Simulation
from rdflive_stores.spark.dataflow import tasks
from rdflive_stores.spark.dataflow.files import Folder
from rdflive_stores.spark.dataflow.identity import FIRST, succeed
from rdflive_stores.spark.dataflow.matching import SIGNS
from rdflive_stores.spark.dataflow.state import Home, TaskMoment
from support.one_process import Row

__all__ = ["Cluster", "Disturbances", "Storage", "before_calls", "executors"]

Call: TypeAlias = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]
"""What Spark calls with the rows of a task."""
_QUERY: Final = "query"
_CALLS: Final = 30
"""A task calls its file system some so many times."""
_REMEMBERED: Final = 4
"""So many micro-batches back a task may be run again."""
_here: Final = threading.local()
"""Of the thread: the task that it runs, and what comes in front of each call of its file system."""


class Killed(BaseException):
    """The executor is gone."""


class Storage:
    """The file system of this machine, where a thread may stop, or die, in front of each call.

    A listing may lack any files, as one that lags lacks those that were written lately.
    """

    def __init__(self, order: random.Random) -> None:
        self._system, self._order = fs.LocalFileSystem(), order

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._system, name)
        if not callable(found):
            return found

        def call(*given: Any, **named: Any) -> Any:
            getattr(_here, "before_call", lambda: None)()
            answer = found(*given, **named)
            if given and isinstance(given[0], fs.FileSelector):
                return [info for info in answer if self._order.random() < 0.7]
            return answer

        return call


@dataclass(frozen=True)
class Task:
    """A task with what it was given; it is also what Spark tells it of itself."""

    call: Call
    batch: int
    part: int
    given: Sequence[pa.RecordBatch]

    def run(
        self, order: random.Random, before_call: Callable[[], None] = lambda: None
    ) -> list[pa.RecordBatch]:
        """Make an attempt, with the rows in any order."""
        _here.task, _here.before_call = self, before_call
        try:
            return list(self.call(self._mixed(order)))
        finally:
            del _here.task, _here.before_call

    def _mixed(self, order: random.Random) -> Iterator[pa.RecordBatch]:
        if not self.given:
            return
        table = pa.Table.from_batches(self.given)
        rows = list(range(len(table)))
        order.shuffle(rows)
        table = table.take(pa.array(rows, pa.int64())).combine_chunks()
        yield from table.to_batches(max_chunksize=order.randint(1, 1 + len(rows)))

    def partitionId(self) -> int:  # noqa: N802 - Spark's name
        """Give the number of the part."""
        return self.part

    def getLocalProperty(self, name: str) -> str:  # noqa: N802 - Spark's name
        """Tell the query and the micro-batch."""
        return {"sql.streaming.queryId": _QUERY, "streaming.sql.batchId": str(self.batch)}[name]


class Straggler(threading.Thread):
    """An attempt that stops in front of a call of its file system, until it may go on."""

    def __init__(self, task: Task, seed: float, calls: int, due: int) -> None:
        super().__init__(daemon=True)
        self.task, self.due = task, due
        self._order, self._calls = random.Random(seed), calls
        self._stopped, self._may_go = threading.Event(), threading.Event()
        self.error: Exception | None = None
        self.calls_late = 0
        self.start()
        self._stopped.wait()

    def run(self) -> None:
        """Make the attempt."""
        try:
            self.task.run(self._order, self._step)
        except Exception as error:  # noqa: BLE001 - Spark takes no notice of any
            self.error = error
        self._stopped.set()

    def _step(self) -> None:
        self._calls -= 1
        if self._calls < 0:
            self._stopped.set()
            self._may_go.wait()
            self.calls_late += 1

    def end(self) -> None:
        """Let it go on to its end."""
        self._may_go.set()
        self.join()


@dataclass
class Disturbances:
    """What goes on beside the tasks that count, over all states of a query."""

    stragglers: list[Straggler] = field(default_factory=list)
    """Attempts that have stopped."""
    past: deque[list[Task]] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    """The tasks of the last micro-batches."""
    seen: Counter[str] = field(default_factory=Counter)
    """How often each has happened."""

    def kill(self, task: Task, order: random.Random) -> None:
        """Make an attempt that is killed at some time."""
        left = iter(range(order.randrange(_CALLS)))

        def before_call() -> None:
            if next(left, None) is None:
                raise Killed

        try:
            task.run(order, before_call)
        except Killed:
            self.seen["killed"] += 1

    def stop(self, task: Task, order: random.Random) -> None:
        """Make an attempt that stops at some time."""
        due = task.batch + order.randrange(_REMEMBERED)
        self.stragglers.append(Straggler(task, order.random(), order.randrange(_CALLS), due))

    def end_some(self, batch: int, order: random.Random, share: float) -> None:
        """Let some of those go on that have stopped."""
        for straggler in [each for each in self.stragglers if each.due <= batch and order.random() < share]:
            self.stragglers.remove(straggler)
            straggler.end()
            self.seen["outrun"] += straggler.calls_late > 0 and straggler.task.batch < batch
            self._refused(straggler.error)

    def replay_some(self, order: random.Random, share: float) -> None:
        """Run some tasks of former micro-batches again."""
        for task in [task for done in self.past for task in done if order.random() < share]:
            try:
                task.run(order)
            except Exception as error:  # noqa: BLE001 - Spark takes no notice of any
                self._refused(error)
            self.seen["replayed"] += 1

    def end(self) -> None:
        """Let all go on that have stopped."""
        self.end_some(1 << 30, random.Random(0), 2)

    def _refused(self, error: Exception | None) -> None:
        if error is not None:
            self.seen[f"refused by {type(error).__name__}"] += 1


@dataclass
class Cluster(Simulation):
    """A simulation whose tasks are tried several times, at any time."""

    disturbances: Disturbances = field(default_factory=Disturbances)

    def __post_init__(self) -> None:
        self._root = Folder(Storage(self.cuts), self.folder)  # type: ignore[arg-type]  # it does all that is asked
        self.folder = f"{self.folder}/{_QUERY}/{FIRST}"
        super().__post_init__()

    def run(self, changes: Sequence[Change], attempts: int = 1) -> Counter[Row]:
        """Run the next micro-batch; before, between and behind its tasks, others are run again."""
        self.disturbances.replay_some(self.cuts, 0.05)
        found = [self.attempt(changes) for _ in range(attempts)]
        assert all(net == found[0] for net in found), "a micro-batch that is run again is the same"
        assert tasks.is_done(TaskMoment(self._place, self.batch), self.buckets)
        self.batch += 1
        return found[0]

    def attempt(self, changes: Sequence[Change], stages: int | None = None) -> Counter[Row]:
        """Run the next micro-batch, or only its first stages, as if the driver were killed in the last."""
        batches = self._batches(_unplaced(changes) if self.batch % 2 else changes)
        done: list[tuple[Task, Counter[Any]]] = []
        for number, call in enumerate(self._calls(), 1):
            parts = self.cuts.sample(range(self.buckets), self.buckets)
            if number == stages:
                parts = parts[: self.cuts.randint(0, self.buckets)]
            made: list[pa.RecordBatch] = []
            for part in parts:
                mine = [batch.filter(pc.equal(batch["bucket"], part)) for batch in batches]
                made += self._tried(Task(call, self.batch, part, mine), done)
            batches = made
            if number == stages:
                break
        self.disturbances.past.append([task for task, _ in done])
        return self._shown(batches) if stages is None else Counter()

    def compact(self) -> None:
        """Merge the files of all buckets; the former ones are removed."""
        super().compact()
        succeed(Folder.local(f"{self._root}/{_QUERY}"), self.folder.rpartition("/")[2])

    def _calls(self) -> list[Call]:
        """Give the stages, as `lay_out` puts them one behind the other."""
        plan = self.joint
        return [
            self._call(tasks.match),
            *([] if self.entailment is None else [self._call(tasks.count)]),
            *(self._call(tasks.walk, number) for number in range(plan.matching.rounds)),
            *(self._call(tasks.finish, number, {}) for number in range(plan.stages)),
        ]

    def _call(self, function: Callable[..., Any], *more: Any) -> Call:
        plan, buckets, batch = self.joint, self.buckets, self.batch
        generation = self.folder.rpartition("/")[2]
        is_made = self.is_snapshot or batch == self._first > 0
        place = self._root / _QUERY

        def call(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            # what is pickled for a task, so that none sees what another has noted in it
            snapshot = TaskMoment(place / generation, batch) if is_made else None
            home = Home(place if is_made else self._root, "" if is_made else generation, snapshot)
            found: Iterator[pa.RecordBatch] = function(plan, home, buckets, *more, rows)
            return found

        return call

    def _tried(self, task: Task, done: list[tuple[Task, Counter[Any]]]) -> list[pa.RecordBatch]:
        """Run a task, with all that may come before and behind it."""
        order, beside = self.cuts, self.disturbances
        while order.random() < 0.1:
            beside.kill(task, order)
        if order.random() < 0.1:
            beside.stop(task, order)
        beside.end_some(self.batch, order, 0.2)
        made = task.run(order)
        done.append((task, _sent(made)))
        if order.random() < 0.1:
            beside.stop(task, order)
        while order.random() < 0.2:
            again, sent = order.choice(done)
            assert _sent(again.run(order)) == sent, "an attempt sends what the one before it has sent"
            beside.seen["repeated"] += 1
        return made

    def _shown(self, batches: Sequence[pa.RecordBatch]) -> Counter[Row]:
        """Read solutions as `lay_out` does."""
        table = pa.Table.from_batches(batches)
        self.late = sum(filter(None, table["late rows"].to_pylist()))
        rows = table.filter(table["weight"].is_valid()).drop_columns(list(tasks.MEASURES))
        return self._read(rows.to_batches())


@contextmanager
def before_calls(function: Callable[[], None]) -> Iterator[None]:
    """Have this thread call a function in front of each call of a `Storage`."""
    _here.before_call = function
    try:
        yield
    finally:
        del _here.before_call


def _unplaced(changes: Sequence[Change]) -> Sequence[Change]:
    """Take away where changes stand, which some sources do not tell, if no quad comes and goes."""
    signs = {(change[1:5], change.op in SIGNS) for change in changes}
    if len({quad for quad, _ in signs}) < len(signs):
        return changes
    return [change._replace(stream="", offset=0, part=0) for change in changes]


def _sent(batches: Sequence[pa.RecordBatch]) -> Counter[Any]:
    """Count the rows that a task gives, packets by their bytes."""
    return Counter(row for batch in batches for row in zip(*batch.to_pydict().values(), strict=True))


def executors(patch: pytest.MonkeyPatch) -> None:
    """Let tasks of clusters ask Spark where they are."""
    context = SimpleNamespace(get=lambda: getattr(_here, "task", None))
    patch.setitem(sys.modules, "pyspark", SimpleNamespace(TaskContext=context))
    patch.setattr(tasks, "spare_collections", lambda: None)
