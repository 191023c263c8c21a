"""The stages that find solutions, run without Spark: one call per task, on record batches cut at random."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias

import pyarrow as pa

from rdflive.entail.reasoning import SCHEMA_WORDS, TYPE
from rdflive.query import algebra
from rdflive_stores.spark.dataflow import tasks
from rdflive_stores.spark.dataflow.counting import COUNTED, count
from rdflive_stores.spark.dataflow.entailing import FACTS, SCHEMA, entail
from rdflive_stores.spark.dataflow.files import Folder
from rdflive_stores.spark.dataflow.matching import LAYOUT, LIVE, match
from rdflive_stores.spark.dataflow.packing import unpack
from rdflive_stores.spark.dataflow.query_plan import Operation, QueryPlan, plan_queries
from rdflive_stores.spark.dataflow.runs import Run
from rdflive_stores.spark.dataflow.state import Bucket, Moment
from rdflive_stores.spark.dataflow.terms import TextTerms
from rdflive_stores.spark.dataflow.walking import ARRANGED, layout, solved, walk
from support.effort import drawn_from

Quad: TypeAlias = tuple[str, str, str, str]
"""Four texts; the last is empty for the default graph."""
Row: TypeAlias = tuple[str | None, ...]
Hash: TypeAlias = Callable[..., int]


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

    text: str
    folder: str
    buckets: int = 3
    hash: Hash = steady
    cuts: random.Random = field(default_factory=lambda: drawn_from("cuts"))
    batch: int = 0
    """The micro-batch that is next."""
    salted: tuple[str, ...] = ()
    entailment: str | None = None

    def __post_init__(self) -> None:
        self.joint = plan_queries(self.text, salted=self.salted, entailment=self.entailment)
        self.plan: QueryPlan = self.joint.queries[0]
        tasks.claim(self.joint, Folder.local(self.folder), self.buckets)

    def run(self, changes: Sequence[Change]) -> Counter[Row]:
        """Run the next micro-batch and commit it; gives the net solutions, in the order of the variables."""
        net = solutions(self.plan, self.attempt(changes))
        self.batch += 1
        return net

    def attempt(self, changes: Sequence[Change], stages: int | None = None) -> Counter[Row]:
        """Run the next micro-batch, or only its first stages, as if it were killed behind them.

        Gives the net rows of the pattern.
        """
        batches = self._batches(changes)
        for task in self.tasks()[:stages]:
            batches = self._shuffled(task, batches)
        return Counter() if stages is not None else self._net(batches)

    def tasks(self) -> list[Callable[..., Iterator[pa.RecordBatch]]]:
        """Give the stages that find solutions of the next micro-batch, in order."""
        plan, now = self.joint.matching, Moment(Folder.local(self.folder), self.batch)
        first = [match] if self.entailment is None else [entail, count]
        return [
            *(partial(stage, plan, now, self.buckets) for stage in first),
            *(partial(walk, plan, now, self.buckets, number) for number in range(plan.rounds)),
        ]

    def compact(self) -> None:
        """Merge the files of all buckets, as is done while the query does not run."""
        for bucket in self._open():
            bucket.compact(self.batch - 1)

    def states(self, name: str) -> list[list[Run]]:
        """Give the state of each bucket after the last micro-batch."""
        return [bucket.before(self.batch) for bucket in self._open(name)]

    def rows_held(self, name: str) -> int:
        """Count the rows of a state in all its files that are in force."""
        return sum(len(run) for runs in self.states(name) for run in runs)

    def live(self) -> Counter[Quad]:
        """Give the live quads with the sums of their weights."""
        held: Counter[Quad] = Counter()
        for run in (run for runs in self.states(LIVE) for run in runs):
            quads = zip(*(run.table[name].to_pylist() for name in LAYOUT.text_names), strict=True)
            for quad, weight in zip(quads, run.table["weight"].to_pylist(), strict=True):
                held[quad] += weight
        return +held

    def files(self) -> list[list[str]]:
        """List the files of each bucket."""
        return [sorted(bucket.folder.names()) for bucket in self._open()]

    def _open(self, *names: str) -> Iterator[Bucket]:
        layouts = {LIVE: LAYOUT, ARRANGED: layout(self.plan.matching)}
        if self.entailment is not None:
            layouts |= {LIVE: FACTS, SCHEMA: FACTS, COUNTED: LAYOUT}
        for name in names or layouts:
            for number in range(self.buckets):
                yield Bucket.of(Moment(Folder.local(self.folder), self.batch), name, number, layouts[name])

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
        numbers = {
            name: pa.array(column, pa.int64()) for name, column in columns.items() if type(column) is list
        }
        return pa.table(columns | numbers).to_batches()

    def _shuffled(self, task: Callable[..., Iterator[pa.RecordBatch]], batches: list[pa.RecordBatch]) -> Any:
        """Run a stage: a task per partition, each of which has some of the buckets, or none with rows."""
        partitions = self.cuts.randint(1, self.buckets)
        made: list[pa.RecordBatch] = []
        for partition in range(partitions):
            mine: list[pa.RecordBatch] = []
            for batch in batches:
                chosen = [number % partitions == partition for number in batch["bucket"].to_pylist()]
                mine += self._cut(batch.filter(pa.array(chosen, pa.bool_())))
            made += list(task(mine))
        self.cuts.shuffle(made)  # a shuffle loses order
        return made

    def _cut(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        places = sorted(self.cuts.randint(0, batch.num_rows) for _ in range(self.cuts.randrange(3)))
        for begin, end in zip([0, *places], [*places, batch.num_rows], strict=True):
            yield batch.slice(begin, end - begin)

    def _net(self, batches: list[pa.RecordBatch]) -> Counter[Row]:
        net: Counter[Row] = Counter()
        where: dict[Row, int] = {}
        names = [f"v{place}" for place in range(len(self.plan.matching.shown[0].columns))]
        for bucket, kinds in unpack(batches):
            assert kinds.keys() == {solved(0)}
            weights = kinds[solved(0)]["weight"].to_pylist()
            columns = [kinds[solved(0)][name].to_pylist() for name in names]
            rows = zip(*columns, strict=True) if names else [()] * len(weights)
            for row, weight in zip(rows, weights, strict=True):
                assert where.setdefault(row, bucket) == bucket, "equal rows meet in one bucket"
                net[row] += weight
        return Counter({row: weight for row, weight in net.items() if weight})


def solutions(plan: QueryPlan, net: Counter[Row]) -> Counter[Row]:
    """Run the filters and projections above the pattern row by row; gives what the query shows."""
    for operation in (operation for stage in plan.stages for operation in stage.operations):
        net = _apply(operation, net)
    shown: Counter[Row] = Counter()
    for row, weight in net.items():
        shown[tuple(None if place is None else row[place] for place in plan.places)] += weight
    return Counter({row: weight for row, weight in shown.items() if weight})


def _apply(operation: Operation, net: Counter[Row]) -> Counter[Row]:
    node, terms, made = operation.node, TextTerms(), Counter[Row]()
    if isinstance(node, algebra.Filter):
        places = {column.name: place for place, column in enumerate(operation.inputs) if column.readable}
        test = node.condition.condition(places, terms)
        return Counter({row: n for row, n in net.items() if test(tuple(map(terms.id, row)))})
    assert isinstance(node, algebra.Project), f"{node} is tested with the stages behind"
    sources = [node.source(column) for column in operation.columns]
    for row, weight in net.items():
        made[tuple(None if s is None else row[operation.inputs.index(s)] for s in sources)] += weight
    return made
