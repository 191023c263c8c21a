"""Queries and a mirror to disturb on a cluster, with their expected and actual results."""

from __future__ import annotations

import os
import random
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq
import rdflib
from pyspark.sql import SparkSession

from rdflive import Quad
from rdflive.feeds.terms import RowReader
from rdflive_stores.spark import mirror, rebuild, subscribe
from spark import test_subscription_entailment as entailed
from spark.test_parameters import LATE, Rows, Told, drawn
from spark.test_snapshots import as_quads
from spark.test_windowed_subscription import PATH, WINDOW_OF_6, Elements, expected
from spark.world import World
from support.spark_mirrors import state
from support.spark_queries import PREDICATES, QUERIES
from support.spark_streams import AT_ONCE, ChangeFiles, Nets, nets, operations

__all__ = ["PLAYS_BY_NAME", "Act", "Play"]

Act: TypeAlias = tuple[Callable[[], Any], list[dict[str, Any]]]
"""An action, and the orders for its tasks."""


class Play(ABC):
    """A query or a mirror to disturb."""

    def __init__(self, spark: SparkSession, folder: Path, chance: random.Random) -> None:
        self.spark, self.folder, self.chance = spark, folder, chance

    def acts(self, count: int) -> Iterator[Act]:
        """Yield runs of micro-batches, most of them disturbed, then an undisturbed one.

        The first disturbances hit the last stage.
        """
        self.write(count + 2)
        ordered: list[dict[str, Any]] = [{"batch": n + 1, "stage": self.draw()} for n in range(count)]
        # The last stage comes first, when results of other parts cannot be withdrawn. In the second
        # order an attempt outlives its executor before it records that its part is done.
        for order, within in zip(ordered, ("", "/reached"), strict=False):
            order |= {"stage": self.stages()[-1], "part": 3, "point": 0, "within": within}
        yield self.run, ordered
        self.write(2)
        yield self.run, []

    def draw(self) -> str:
        """Draw a stage."""
        return self.chance.choice(self.stages())

    @abstractmethod
    def stages(self) -> list[str]:
        """Return the names of the stages."""

    @abstractmethod
    def run(self) -> None:
        """Process the available files."""

    @abstractmethod
    def write(self, count: int) -> None:
        """Write the files of micro-batches."""

    @abstractmethod
    def compare(self) -> tuple[int, int, int]:
        """Return the numbers of delivered, lost and wrong micro-batches."""


class Subscribed(Play):
    """A query and its delivered micro-batches."""

    def __init__(self, spark: SparkSession, folder: Path, chance: random.Random) -> None:
        super().__init__(spark, folder, chance)
        self.found = Nets()

    @abstractmethod
    def subscribe(self) -> Any:
        """Make a subscription with the checkpoint."""

    @abstractmethod
    def wanted(self) -> list[Any]:
        """Return the expected micro-batches."""

    def stages(self) -> list[str]:
        plan = self.subscribe()._flow.plan
        return [
            "match",
            *(["count"] if plan.entailment else []),
            *(f"walk {number}" for number in range(plan.matching.rounds)),
            *(f"finish {number}" for number in range(plan.stages)),
        ]

    def run(self) -> None:
        self.subscribe().start(self.found, trigger=AT_ONCE).awaitTermination()

    def compare(self) -> tuple[int, int, int]:
        found, wanted = self.found.list, self.wanted()
        wrong = sum(one != other for one, other in zip(found, wanted, strict=False))
        return len(found), len(wanted) - len(found), wrong


class Queries(Subscribed):
    """Joins, OPTIONAL and groups in one subscription."""

    TEXTS: Any = MappingProxyType({name: QUERIES[name] for name in ("groups", "two optional", "not exists")})
    ENTAILMENT: str | None = None

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        seed = self.chance.randrange(1 << 30)
        self.world = World(self.spark, self.folder, self.TEXTS, seed, self.ENTAILMENT)

    def subscribe(self) -> Any:
        return self.world.subscribe()

    def write(self, count: int) -> None:
        for _ in range(count):
            self.world.write(operations(self.chance, 80, PREDICATES, nodes=16))

    def wanted(self) -> list[Any]:
        return nets(self.TEXTS, self.world.batches, self.ENTAILMENT)


class Entailment(Queries):
    """A query over RDFS entailments."""

    ENTAILMENT = "rdfs"

    def __init__(self, *given: Any) -> None:
        self.TEXTS = entailed.QUERY
        super().__init__(*given)
        self.commits = iter(entailed.commits(self.chance, 200))

    def write(self, count: int) -> None:
        for _ in range(count):
            self.world.write([operation for _ in range(4) for operation in next(self.commits)])


class Snapshot(Queries):
    """A snapshot, and state that is rebuilt in other partitions, or compacted."""

    TEXTS = QUERIES["subselect"]

    def acts(self, count: int) -> Iterator[Act]:
        """Disturb the snapshot, `rebuild`, `compact`, and the micro-batches after each of them."""
        self.first = operations(self.chance, 60, PREDICATES)
        live: dict[Any, None] = {}
        for operation in self.first:
            live.pop(operation[1:], None)
            if operation.op == "A":
                live[operation[1:]] = None
        initial = as_quads(self.spark, Counter(list(live)))

        def begin() -> None:
            self.world.subscribe(initial=initial).start(self.found, trigger=AT_ONCE).awaitTermination()

        def part() -> None:
            answer = Nets()
            place = self.world.checkpoint
            rebuild(place, spark=self.spark, partitions=self.chance.randint(3, 4), sink=answer)
            self.answers.append((answer.total, self.found.total))

        self.answers: list[tuple[Any, Any]] = []
        self.write(2)
        snapshot = {"batch": None, "stage": self.draw()}
        yield begin, [snapshot, {"batch": 1, "stage": self.draw()}]
        for number in range(max(1, count // 3)):
            yield part, [{"batch": None, "stage": self.chance.choice(["live_quads", self.draw()])}]
            self.write(2)
            yield self.run, [{"batch": 2 + 4 * number, "stage": self.draw()}]
            yield self.subscribe().compact, [{"batch": None, "stage": "compact"}]
            self.write(2)
            yield self.run, [{"batch": 4 + 4 * number, "stage": self.draw()}]

    def wanted(self) -> list[Any]:
        return nets(self.TEXTS, [self.first, *self.world.batches])

    def compare(self) -> tuple[int, int, int]:
        told, lost, wrong = super().compare()
        return told, lost, wrong + sum(one != other for one, other in self.answers)


class Window(Subscribed):
    """A window, whose watermark follows the stream."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.folder.mkdir()
        self.elements = Elements(self.folder / "elements")

    def subscribe(self) -> Any:
        changes = self.elements.stream(self.spark).withWatermark("at", "2 seconds")
        return subscribe(changes, PATH, checkpoint=self.folder / "checkpoint", window=WINDOW_OF_6)

    def write(self, count: int) -> None:
        self.elements.draw(count)

    def wanted(self) -> list[Any]:
        return expected(self.elements.batches, 2_000_000)[0]


class Parameters(Subscribed):
    """A query with parameters from a second stream."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.files, self.one = ChangeFiles(self.folder / "changes"), Told(LATE)
        self.rows, self.nets = Rows(self.folder / "rows"), list[Any]()

    def subscribe(self) -> Any:
        changes, rows = self.files.stream(self.spark), self.rows.stream(self.spark)
        return subscribe(changes, LATE, checkpoint=self.folder / "checkpoint", parameters=rows)

    def write(self, count: int) -> None:
        for _ in range(count):
            batch = [*drawn(self.chance, watching=True), *drawn(self.chance, watching=False)]
            self.nets.append(self.one.run(batch))
            self.rows.become(self.one.rows())
            self.files.add([change for change in batch if not change.s.startswith("<urn:u")])

    def wanted(self) -> list[Any]:
        return self.nets


class Mirror(Play):
    """A mirror of transactions, three files to a micro-batch."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        (self.folder / "files").mkdir(parents=True)
        self.graph, self.batches = rdflib.Dataset(), list[Any]()
        self.numbers, self.live, self.wrong = Counter[int](), set[Any](), 0
        self.states: list[Any] = []

    def acts(self, count: int) -> Iterator[Act]:
        """Disturb the decoding of each micro-batch but the first, in any of its two or three parts."""
        for act, ordered in super().acts(count):
            yield act, [order | {"part": None, "within": ""} for order in ordered]

    def stages(self) -> list[str]:
        return ["decode"]

    def run(self) -> None:
        columns = "value string, topic string, partition int, offset long"
        stream = self.spark.readStream.schema(columns).option("maxFilesPerTrigger", 3)
        mirror(
            stream.parquet(str(self.folder / "files")), self.graph, "rdf-patch",
            checkpoint=self.folder / "checkpoint", name="play", trigger=AT_ONCE, on_batch=self._compare,
        ).awaitTermination()  # fmt: skip

    def _compare(self, batch: Any) -> None:
        self.numbers[batch.batch] += 1
        self.wrong += {str(quad) for quad in state(self.graph)} != self.states[batch.batch]

    def write(self, count: int) -> None:
        for _ in range(count):
            for _ in range(3):
                batch, number = operations(self.chance, 15, PREDICATES), len(self.batches)
                lines = [f"{op} {s} {p} {o} ." for op, s, p, o, _ in batch]
                table = {
                    "value": ["\n".join(["TX .", *lines, "TC ."])], "topic": ["log"],
                    "partition": pa.array([0], pa.int32()), "offset": pa.array([number], pa.int64()),
                }  # fmt: skip
                path = self.folder / "files" / f"{number:04}.parquet"
                pq.write_table(pa.table(table), path)
                os.utime(path, (1_700_000_000 + number,) * 2)
                self.batches.append(batch)
                for op, *texts, _ in batch:
                    quad = str(Quad(*(RowReader(text).term("term") for text in texts), None))
                    (self.live.add if op == "A" else self.live.discard)(quad)
            self.states.append(set(self.live))

    def compare(self) -> tuple[int, int, int]:
        twice = sum(times > 1 for times in self.numbers.values())
        return len(self.numbers), len(self.states) - len(self.numbers), self.wrong + twice


PLAYS_BY_NAME: Final[dict[str, type[Play]]] = {
    "queries": Queries,
    "entailment": Entailment,
    "window": Window,
    "parameters": Parameters,
    "snapshot": Snapshot,
    "mirror": Mirror,
}
