"""All stages of queries, run without Spark: one call per task, on record batches cut at random."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from rdflive.entail.reasoning import SCHEMA_WORDS, TYPE, Rules
from rdflive_stores.spark.dataflow import tasks
from rdflive_stores.spark.dataflow.entailing import count, entail
from rdflive_stores.spark.dataflow.event_time import EventWindow
from rdflive_stores.spark.dataflow.files import Folder
from rdflive_stores.spark.dataflow.finishing import finish
from rdflive_stores.spark.dataflow.identity import check, describe
from rdflive_stores.spark.dataflow.matching import LAYOUT, LIVE, match
from rdflive_stores.spark.dataflow.query_plan import JointPlan, plan_queries
from rdflive_stores.spark.dataflow.runs import Run
from rdflive_stores.spark.dataflow.state import Bucket, TaskMoment, note
from rdflive_stores.spark.dataflow.walking import walk
from rdflive_stores.spark.dataflow.windowing import Elements, carry, keep_clock
from support.effort import drawn_from
from support.one_process import Row

Quad: TypeAlias = tuple[str, str, str, str]
"""Four texts; the last is empty for the default graph."""
Hash: TypeAlias = Callable[..., int]
Task: TypeAlias = Callable[[Iterable[pa.RecordBatch], Sequence[int]], Iterator[pa.RecordBatch]]
"""One task of a stage; the second argument are its buckets, if this is the first micro-batch."""


class Change(NamedTuple):
    """An operation on a quad, and where it stands."""

    op: Any
    s: Any
    p: Any
    o: Any
    g: Any = ""
    stream: str = ""
    offset: int = 0
    part: int = 0
    is_apart: bool = False
    time: int | None = None
    """In microseconds; of an element without a predicate, which no pattern can match, nothing else counts."""


def in_order(operations: Iterable[tuple[str, Quad]]) -> list[Change]:
    """Place operations one after the other in one stream."""
    return [Change(op, *quad, offset=number) for number, (op, quad) in enumerate(operations)]


@lru_cache(1 << 16)
def steady(*texts: str | None) -> int:
    """Hash texts as Spark's xxhash64 does, the same in every process: 64 bits with a sign."""
    digest = blake2b("\0".join(map(str, texts)).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)


def colliding(*texts: str | None) -> int:
    """Hash texts to two bits, so that most of them share one."""
    return steady(*texts) & 3


@dataclass
class Simulation:
    """One streaming query: its plan, its state in a folder, and how its rows are cut."""

    text: str | Mapping[str, str]
    """The query, or several by their names."""
    folder: str
    buckets: int = 3
    hash: Hash = steady
    cuts: random.Random = field(default_factory=lambda: drawn_from("cuts"))
    batch: int = 0
    """The micro-batch that is next."""
    salted: tuple[str, ...] = ()
    window: EventWindow | None = None
    is_snapshot: bool = False
    """Whether the next micro-batch makes state from what another has held."""
    late: int = 0
    """How many elements of the last micro-batch came too late."""
    entailment: str | None = None
    rules: Rules | None = None
    path_steps: int | None = None
    parameters: str | None = None
    joint: JointPlan = field(init=False)
    _now: TaskMoment = field(init=False)

    def __post_init__(self) -> None:
        self._first = self.batch
        self.joint = self._planned()
        tasks.claim(self.joint, self._place, self.buckets)

    def run(self, changes: Sequence[Change], attempts: int = 1) -> Counter[Row]:
        """Run the next micro-batch, perhaps several times, and commit it; gives the net solutions.

        They have the columns of the plan, where several queries run their label too.
        """
        found = [self.attempt(changes) for _ in range(attempts)]
        assert all(net == found[0] for net in found), "a micro-batch that is run again is the same"
        for part in range(self.buckets):
            note(self._now, part)
        self.batch += 1
        return found[0]

    def attempt(self, changes: Sequence[Change], stages: int | None = None) -> Counter[Row]:
        """Run the next micro-batch, or only its first stages, as if it were killed in the last of them.

        That one runs some of its tasks only. What solutions there are is given all the same.
        """
        shown: list[pa.RecordBatch] = []
        self.late = 0
        batches = self._batches(changes)
        self._now = self._moment(self.batch)
        for number, task in enumerate(self._stages(), 1):
            made = self._shuffled(task, batches, is_killed=number == stages)
            if number == stages:
                break
            if number == 1 and self.window is not None:
                # the second stage notes the largest time for the next micro-batch
                made = list(keep_clock(self._now, made))
            batches = [batch for batch in made if "bucket" in batch.schema.names]
            shown += [batch for batch in made if "bucket" not in batch.schema.names]
        return self._read(shown)

    @property
    def length(self) -> int:
        """The number of stages of a micro-batch."""
        plan = self.joint
        return (1 if self.entailment is None else 2) + plan.matching.rounds + plan.stages

    def restart(self) -> None:
        """Go on as another process does: plan the text again, and check that the state belongs to it."""
        self.joint = self._planned()
        check(self._place, describe(self.joint, self.buckets))

    def _match(self, now: TaskMoment, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        if self.window is None:
            yield from match(self.joint.matching, now, self.buckets, batches)
            return
        task = Elements(self.window, now, self._own, is_snapshot=self.is_snapshot)
        found = match(self.joint.matching, now, self.buckets, task.timed(batches), task.changes)
        yield from task.clock(found)
        self.late += task.late

    def rebuilt(self, folder: str, buckets: int) -> tuple[Simulation, Counter[Row]]:
        """Rebuild the state from the live quads, as `rebuild` does, and give its whole answer."""
        numbers = pa.RecordBatch.from_pydict({"id": list(range(self.buckets))})
        changes = [
            Change(*(row[name] for name in ("op", "s", "p", "o", "g")))
            for rows in tasks.live_quads(TaskMoment(self._place, self.batch - 1), [numbers])
            for row in rows.to_pylist()
        ]
        new = replace(self, folder=folder, buckets=buckets, batch=self.batch - 1)
        return new, new.run(changes)

    def compact(self) -> None:
        """Merge the files of all buckets into another folder, as is done while the query does not run."""
        numbers = pa.RecordBatch.from_pydict({"id": list(range(self.buckets))})
        old = TaskMoment(self._place, self.batch - 1)
        self.folder += "+"
        tasks.claim(self.joint, self._place, self.buckets)
        if self.window is not None:
            carry(old, self._place)
        assert list(tasks.compact(self.joint, old, TaskMoment(self._place, self.batch - 1), [numbers]))

    def states(self, name: str) -> list[list[Run]]:
        """Give the state of each bucket after the last micro-batch."""
        return [bucket.before() for bucket in self._open(name)]

    def rows_held(self, name: str) -> int:
        """Count the rows of a state in all its files that are in force."""
        return sum(len(run) for runs in self.states(name) for run in runs)

    def held(self) -> dict[str, int]:
        """Count the rows of each state that has some, after all files are merged."""
        self.compact()
        counts = {name: self.rows_held(name) for name in tasks._kept(self.joint)}
        return {name: count for name, count in counts.items() if count}

    def live(self) -> Counter[Quad]:
        """Give the live quads with the sums of their weights."""
        held: Counter[Quad] = Counter()
        for run in (run for runs in self.states(LIVE) for run in runs):
            quads = zip(*(run.table[name].to_pylist() for name in LAYOUT.text_names), strict=True)
            for quad, weight in zip(quads, run.table["weight"].to_pylist(), strict=True):
                held[quad] += weight
        return +held

    def _planned(self) -> JointPlan:
        plan = plan_queries(
            self.text,
            salted=self.salted,
            entailment=self.entailment,
            rules=self.rules,
            path_steps=self.path_steps,
            parameters=self.parameters,
        )
        plan = replace(plan, window=self.window)
        travelled: JointPlan = pickle.loads(pickle.dumps(plan))  # as it does to the executors
        return travelled

    @property
    def _place(self) -> Folder:
        return Folder.local(self.folder)

    def _moment(self, batch: int) -> TaskMoment:
        """Begin a micro-batch: find where all parts stand before it."""
        now = TaskMoment(self._place, batch)
        for part in range(self.buckets):
            now.marks[part] = tasks.begin_part(now, part, is_first=self.is_snapshot or batch == self._first)
        return now

    def _open(self, name: str) -> Iterator[Bucket]:
        layout, now = tasks._kept(self.joint)[name], self._moment(self.batch)
        for number in range(self.buckets):
            yield Bucket.of(now, name, number, layout)

    def _stages(self) -> Iterator[Task]:
        plan, now, buckets = self.joint, self._now, self.buckets
        if self.entailment is None:
            yield lambda mine, _: self._match(now, mine)
        else:
            yield lambda mine, _: entail(plan.matching, now, buckets, mine)
            yield lambda mine, _: count(plan.matching, now, buckets, mine)
        for number in range(plan.matching.rounds):
            yield lambda mine, _, number=number: walk(plan.matching, now, buckets, number, mine)
        for number in range(plan.stages):
            yield partial(finish, plan, now, buckets, number)

    def _batches(self, changes: Sequence[Change]) -> list[pa.RecordBatch]:
        rows = [(self.hash(*change[1:5]) % self.buckets, change) for change in changes]
        if self.entailment is not None:
            rows = [
                (bucket, change)
                for home, change in rows
                for bucket in (range(self.buckets) if change.p in SCHEMA_WORDS else [home])
            ]
        changes = [change for _, change in rows]
        columns: dict[str, Any] = {
            name: pa.array([getattr(change, name) for change in changes], pa.string())
            for name in ("op", "s", "p", "o", "g", "stream")
        }
        for name in ("s", "p", "o", "g"):
            columns[f"h{name}"] = [self.hash(getattr(change, name)) for change in changes]
        hashes = [self.hash(change.s, change.p, change.o, change.g) for change in changes]
        columns |= {"hash": hashes, "bucket": [bucket for bucket, _ in rows]}
        columns |= {"htype": [self.hash(TYPE)] * len(rows)}
        columns |= {name: [getattr(change, name) for change in changes] for name in ("offset", "part")}
        columns["is_apart"] = pa.array([change.is_apart for change in changes], pa.bool_())
        if self.window is not None:
            columns["time"] = [change.time for change in changes]
            columns["is_wanted"] = pa.array([change.p is not None for change in changes], pa.bool_())
        numbers = {
            name: pa.array(column, pa.int64()) for name, column in columns.items() if type(column) is list
        }
        return pa.table(columns | numbers).to_batches()

    def _shuffled(
        self, task: Task, batches: Sequence[pa.RecordBatch], *, is_killed: bool
    ) -> list[pa.RecordBatch]:
        """Run a stage: a task per partition, each of which has some of the buckets, or none with rows."""
        partitions = self.cuts.randint(1, self.buckets)
        made: list[pa.RecordBatch] = []
        for partition in range(self.cuts.randint(0, partitions) if is_killed else partitions):
            self._own = range(partition, self.buckets, partitions)
            mine: list[pa.RecordBatch] = []
            for batch in batches:
                chosen = [number % partitions == partition for number in batch["bucket"].to_pylist()]
                mine += self._cut(batch.filter(pa.array(chosen, pa.bool_())))
            begun: list[int] = []
            made += task(self._arriving(mine, begun, self._own), begun)
        self.cuts.shuffle(made)  # a shuffle loses order
        return made

    def _arriving(
        self, batches: list[pa.RecordBatch], begun: list[int], buckets: Iterable[int]
    ) -> Iterator[pa.RecordBatch]:
        """Give batches to a task, which knows its buckets when it has read them all."""
        yield from batches
        if self.batch == self._first:
            begun += buckets

    def _cut(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        places = sorted(self.cuts.randint(0, batch.num_rows) for _ in range(self.cuts.randrange(3)))
        for begin, end in zip([0, *places], [*places, batch.num_rows], strict=True):
            yield batch.slice(begin, end - begin)

    def _read(self, batches: Iterable[pa.RecordBatch]) -> Counter[Row]:
        """Read solutions as Spark does."""
        found: Counter[Row] = Counter()
        for batch in batches:
            assert batch.schema.names == [*self.joint.columns, "weight"]
            assert {*batch.schema.types[:-1]} <= {pa.string()}
            assert batch.schema.types[-1] == pa.int64()
            for *row, weight in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                assert weight, "what does not change does not come"
                assert tuple(row) not in found, "a solution comes at most once per micro-batch"
                found[tuple(row)] = weight
        return found
