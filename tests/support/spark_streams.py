"""Streams of changes for Spark, one parquet file per micro-batch, and the nets of subscriptions."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from rdflive_stores.spark.dataflow.files import Folder
from rdflive_stores.spark.dataflow.matching import LAYOUT, LIVE
from rdflive_stores.spark.dataflow.query_plan import JointPlan, plan_queries
from rdflive_stores.spark.dataflow.runs import Run
from rdflive_stores.spark.dataflow.state import REACHED, Bucket, TaskMoment
from rdflive_stores.spark.dataflow.tasks import part_behind
from support.effort import drawn_from
from support.one_process import OneProcess, Row, added

if TYPE_CHECKING:  # tests without Spark use these streams too
    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "AT_ONCE",
    "ChangeFiles",
    "Nets",
    "Operation",
    "Row",
    "by_query",
    "live_quads",
    "nets",
    "node",
    "number",
    "operations",
    "rows_held",
]

AT_ONCE = {"availableNow": True}
"""The trigger that processes the available files and ends."""
_SCHEMA = pa.schema(
    [(name, pa.string()) for name in ("op", "s", "p", "o", "g", "file")]
    + [("part", pa.int32()), ("offset", pa.int64())]
)
_FIRST = 1_700_000_000
"""The time of the first file; the source reads files in the order of time."""


class Operation(NamedTuple):
    """An operation on a quad; the graph None is the default graph."""

    op: Any
    s: Any
    p: Any
    o: Any
    g: str | None = None


def node(name: object) -> str:
    """Write an IRI."""
    return f"<urn:{name}>"


def number(value: int) -> str:
    """Write an integer."""
    return f'"{value}"^^<http://www.w3.org/2001/XMLSchema#integer>'


def operations(
    chance: random.Random,
    count: int,
    predicates: Sequence[str],
    *,
    nodes: int = 8,
    graphs: Sequence[str | None] = (None,),
) -> list[Operation]:
    """Draw random operations, among them repeated inserts and deletes of absent quads.

    The objects of `<urn:value>` are numbers.
    """
    made = []
    for _ in range(count):
        predicate = chance.choice(predicates)
        o = number(chance.randrange(5)) if predicate == node("value") else node(chance.randrange(nodes))
        s = node(chance.randrange(nodes))
        made.append(Operation(chance.choice("AAD"), s, predicate, o, chance.choice(graphs)))
    return made


def _placed(batch: Sequence[Operation], chance: random.Random, file: int) -> list[tuple[Any, ...]]:
    """Assign ordered operations to positions in two files of a log, and shuffle the rows.

    Files of later micro-batches have later names, as Spark may read two micro-batches as one after a kill.
    """
    cut = chance.randint(0, len(batch))
    places = [(f"{file:06}a", 0, place) for place in range(cut)] + [
        (f"{file:06}b", 7, place) for place in range(len(batch) - cut)
    ]
    rows = [(*operation, *place) for operation, place in zip(batch, places, strict=True)]
    chance.shuffle(rows)
    return rows


@dataclass
class ChangeFiles:
    """The folder of the files of a stream."""

    folder: Path
    count: int = 0

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)

    def add(self, batch: Sequence[Operation], seed: object = 0) -> None:
        """Write the file of the next micro-batch atomically."""
        rows = _placed(batch, drawn_from("places", seed, self.count), self.count)
        columns = zip(*rows, strict=True) if rows else [()] * len(_SCHEMA)
        draft, path = self.folder / ".draft", self.folder / f"{self.count:06}.parquet"
        table = pa.table(
            [pa.array(list(column), f.type) for column, f in zip(columns, _SCHEMA, strict=True)], _SCHEMA
        )
        pq.write_table(table, draft)
        os.utime(draft, (_FIRST + self.count,) * 2)
        draft.rename(path)
        self.count += 1

    def stream(self, spark: SparkSession) -> DataFrame:
        """Read the files as a stream, one per micro-batch."""
        columns = ", ".join([*(f"{name} string" for name in _SCHEMA.names[:6]), "part int", "offset long"])
        return spark.readStream.schema(columns).option("maxFilesPerTrigger", 1).parquet(str(self.folder))


@dataclass
class Nets:
    """A sink that records the net of each micro-batch, and how often it was delivered."""

    found: dict[int, Counter[Row]] = field(default_factory=dict)
    times: Counter[int] = field(default_factory=Counter)

    def __call__(self, deltas: DataFrame, batch: int) -> None:
        """Take a micro-batch; a repeated one must be equal."""
        names = [name for name in deltas.columns if name != "weight"]
        rows = deltas.toArrow().to_pylist()
        net = Counter({tuple(row[name] for name in names): row["weight"] for row in rows})
        assert len(net) == len(rows), "a solution comes at most once per micro-batch"
        assert 0 not in net.values(), "what does not change does not come"
        assert self.found.setdefault(batch, net) == net, f"micro-batch {batch} came again with other rows"
        self.times[batch] += 1

    @property
    def list(self) -> list[Counter[Row]]:
        """The nets in order."""
        return [self.found[batch] for batch in sorted(self.found)]

    @property
    def total(self) -> Counter[Row]:
        """The sum of all nets, which is the answer."""
        return added(*self.found.values())


def nets(
    query: str | Mapping[str, str], batches: Sequence[Iterable[Operation]], entailment: str | None = None
) -> list[Counter[Row]]:
    """Return the nets of one process per batch; rows of several queries have their name and all columns."""
    if isinstance(query, str):
        engine = OneProcess(query, entailment)
        return [engine.run(batch) for batch in batches]
    plan, joined = plan_queries(query), [Counter[Row]() for _ in batches]
    for label, one in zip(plan.labels, plan.queries, strict=True):
        for net, alone in zip(joined, nets(query[label], batches, entailment), strict=True):
            for texts, weight in alone.items():
                cells = dict(zip(one.names, texts, strict=True))
                net[(label, *map(cells.get, plan.columns[1:]))] = weight
    return joined


def by_query(plan: JointPlan, net: Counter[Row]) -> dict[str, Counter[Row]]:
    """Split a net of several queries by their names; each row has the columns of its own query."""
    parts: dict[str, Counter[Row]] = {label: Counter() for label in plan.labels}
    own = dict(zip(plan.labels, (query.names for query in plan.queries), strict=True))
    for (label, *texts), weight in net.items():
        cells = dict(zip(plan.columns[1:], texts, strict=True))
        assert all(cells[name] is None for name in cells if name not in own[str(label)])
        parts[str(label)][tuple(cells[name] for name in own[str(label)])] = weight
    return parts


def rows_held(checkpoint: Path, name: str) -> list[int]:
    """Return the number of rows of a state in each of its buckets, in all current files."""
    return [sum(map(len, runs)) for runs in _states(checkpoint, name)]


def live_quads(checkpoint: Path) -> Counter[Row]:
    """Return the live quads of a state with the sums of their weights."""
    held: Counter[Row] = Counter()
    for run in (run for runs in _states(checkpoint, LIVE) for run in runs):
        quads = zip(*(run.table[name].to_pylist() for name in LAYOUT.text_names), strict=True)
        for quad, weight in zip(quads, run.table["weight"].to_pylist(), strict=True):
            held[quad] += weight
    return added(held)


def _states(checkpoint: Path, name: str) -> Iterator[list[Run]]:
    (generation,) = checkpoint.glob("rdflive/*/*/")
    notes = [path.name.split("-", 1) for path in (generation / REACHED).iterdir()]
    now = TaskMoment(Folder.local(str(generation)), max(int(batch) for _, batch in notes))
    for part in sorted({int(part) for part, _ in notes}):
        part_behind(now, part)
        yield Bucket.of(now, name, part, LAYOUT).before()
