"""Feeds as rows of DataFrames, and mirrors of them without Spark."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import pyarrow as pa

import rdflive
from rdflive import Change, Quad
from rdflive.api.target import GraphTarget
from rdflive.feeds import FeedFormat
from rdflive.feeds.terms import RowReader
from rdflive_stores.spark.mirroring.decoding import POSITION, DecodingFault, RecordPlace

__all__ = ["Answers", "arrow_rows", "mirrored", "refuse", "state", "to_changes"]


def arrow_rows(values: Sequence[Any], **more: Sequence[Any]) -> pa.RecordBatch:
    """Put values into rows as executors get them, by default without stream and offset."""
    count = len(values)
    columns: dict[str, Any] = {"value": values, "stream": [""] * count, "offset": [0] * count}
    columns |= {"part": [0] * count, "seq": range(count), **more}
    types = {"offset": pa.int64(), "part": pa.int64(), "seq": pa.int64(), "stream": pa.string()}
    return pa.RecordBatch.from_pydict(
        {name: pa.array(list(column), types.get(name)) for name, column in columns.items()}
    )


def to_changes(rows: Iterable[dict[str, Any]]) -> list[Change]:
    """Convert decoded change rows to changes, in the order of their positions."""
    placed = sorted((row for row in rows if row["note"] is None), key=lambda row: [row[n] for n in POSITION])
    return [
        Change(
            1 if row["op"] == "A" else -1,
            Quad(*(None if row[n] is None else RowReader(row[n]).term(n) for n in "spog")),
        )
        for row in placed
    ]


def refuse(place: RecordPlace, fault: DecodingFault) -> NoReturn:
    """Fail for any fault."""
    raise AssertionError((place, fault))


def mirrored(graph: Any, form: FeedFormat, text: str) -> None:
    """Mirror a feed without Spark."""
    rdflive.mirror(graph, io.BytesIO(text.encode()), form)


def state(graph: Any) -> set[Quad]:
    """Return the quads of a graph."""
    return set(GraphTarget(graph).quads())


class Answers:
    """Adds up the deltas of a subscription to all triples of the default graph."""

    def __init__(self, graph: Any) -> None:
        self.total: Counter[Any] = Counter()
        self.commits = 0
        self.subscription = rdflive.subscribe(graph, "SELECT * { ?s ?p ?o }", self._take, initial=False)

    def _take(self, delta: rdflive.Delta) -> None:
        self.commits += 1
        self.total.update(delta.weights())
        self.total = +self.total

    def check(self) -> None:
        """Compare the sum of the deltas with the answers."""
        assert self.total == Counter(self.subscription.answers())
