"""A graph that follows a streaming DataFrame: each micro-batch is one commit, with the source's offsets."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.streaming.query import StreamingQuery

import rdflive
from rdflive.api.interrupts import interrupt_later
from rdflive.api.target import GraphTarget
from rdflive.errors import FeedError, RdfliveError
from rdflive.feeds import FeedFormat, Line
from rdflive.feeds.entries import DeadLetters
from rdflive.feeds.terms import write_quad
from rdflive.model import Change
from rdflive.store import GraphLike
from rdflive_stores.spark.change_rows import stream_columns
from rdflive_stores.spark.logs.files import still_has
from rdflive_stores.spark.mirroring.checkpoints import MirrorCheckpoint
from rdflive_stores.spark.mirroring.cursor import (
    BatchPlan,
    Cursor,
    Given,
    resync,
    step,
    stream_ends,
    without_cursor,
)
from rdflive_stores.spark.mirroring.decoding import DecodingFault, RecordPlace
from rdflive_stores.spark.mirroring.formats import shape_of
from rdflive_stores.spark.mirroring.shapes import Reading, RowShape, ShapeError
from rdflive_stores.spark.running import readable

__all__ = ["BatchApplier", "MirroredBatch", "mirror", "unapplied"]

log: Final = logging.getLogger("rdflive")

_CURSOR: Final = "cursor"
_OWN: Final = "feed "
"""Prefix for the keys of the format itself, which `rdflive.mirror` stores the same way."""
_starting: Final = threading.Lock()


@dataclass(slots=True, eq=False)
class _Running:
    """A running mirror."""

    query: StreamingQuery | None = None
    """The streaming query; None while it is being started."""


_Key: TypeAlias = tuple[int, str]
"""The store and the name of a mirror."""
_running: Final[dict[_Key, _Running]] = {}
"""The running mirrors. Any other mirror commits no more."""


@dataclass(frozen=True, slots=True)
class MirroredBatch:
    """The result of a micro-batch."""

    batch: int
    """Its number in the checkpoint."""
    changes: int
    """Net number of applied changes."""
    skipped: int
    """Number of units written to the dead letters, because they are bad or late."""


def mirror(
    df: DataFrame,
    graph: GraphLike,
    format: str | FeedFormat | None = None,  # noqa: A002 - rdflib's name
    *,
    checkpoint: str | os.PathLike[str],
    name: str | None = None,
    on_bad: Literal["stop", "skip"] = "stop",
    dead_letters: str | os.PathLike[str] | None = None,
    trigger: Mapping[str, Any] | None = None,
    on_batch: Callable[[MirroredBatch], object] | None = None,
) -> StreamingQuery:
    """Start a streaming query that applies a DataFrame to a graph, each micro-batch as one commit.

    `graph` is an `rdflib.Graph`, a `Dataset` or a `LiveStore` of this process; its subscribers are notified.
    The rows of `df` are, by `format`:

    - None: changes, with the columns `op` (A or D, or + or -), `s`, `p`, `o` and optionally `g`, with terms
      in N-Triples; NULL in `g` is the default graph;
    - "rdf-patch", "nquads": text in `value`, each row with complete transactions or lines;
    - "neptune": a record or a response of Neptune Streams in `value`;
    - `rdflive.feeds.debezium(mapping)`: an event in `value`, optionally its `key`, as Kafka has them;
    - `rdflive.feeds.delta_lake(mapping)`: rows of a change data feed, with `_change_type` and
      `_commit_version`; timestamps have microseconds, in UTC.

    Executors decode the rows and net the changes of a micro-batch; this process applies the result. The
    columns `file`, `offset` and `part`, or `topic`, `partition` and `offset`, give the order of rows, which
    is that of the source; `shard` and `sequence` give that of the shard. Without these columns, Debezium
    events are applied in the order of their 'source'. An event older than one already applied to its row is
    skipped with a warning, and goes to the dead letters with `on_bad="skip"`. A quad that two rows of one
    micro-batch insert and delete is refused. A transaction that the source cuts is applied in two steps;
    rdflive's source "rdf_patch" cuts none.

    `checkpoint` is that of the query. The graph stores the position in the source under `name`, in the same
    commit as the changes. So each row is applied once, even after a kill, and rows with positions also with a
    new checkpoint. `name` defaults to the path of the checkpoint; pass one if that path may change: under
    another name a used checkpoint is refused, and with a new one the source is applied from its start. If
    rows may be missing, the query ends with an error that explains how to resync. A micro-batch with a bad
    unit is not applied, and ends the query. With `on_bad="skip"` the unit goes to the file `dead_letters`,
    and so does a single quad that the store refuses. Input that the source "rdf_patch" cannot read always
    ends the query.

    Waiting for the query raises `DataflowError` if rdflive ended it, and `query.exception()` returns this
    error. `trigger` holds the options of `DataStreamWriter.trigger`. The query's thread calls `on_batch`
    after each commit. Raises `ShapeError` for a DataFrame or a format that cannot be mirrored,
    `UnsupportedStoreError`, `RdfliveError` for a name in use or an unusable checkpoint, and `ResyncNeeded`
    for a checkpoint whose micro-batches the graph does not have, such as that of another graph.
    """
    if not df.isStreaming:
        raise ShapeError("the DataFrame does not stream: read it with spark.readStream")
    shape = shape_of(df, format)
    letters = _dead_letters(on_bad, dead_letters)
    place = MirrorCheckpoint(df.sparkSession, os.fspath(checkpoint))
    target, name = GraphTarget(graph), name or place.path
    key = target.identity, name
    with _starting:
        # inside `_starting`, since two calls at once could both find the name free
        running = _enter(key, graph)
        try:
            is_current = partial(_is_current, key, running)
            applier = BatchApplier(graph, target, shape, place, name, letters, is_current, on_batch)
            if applier.stored is None and place.has_commits():
                # the source may have no more rows, and then no micro-batch would report this
                raise without_cursor(name)
            writer = df.writeStream.foreachBatch(applier).option("checkpointLocation", place.path)
            query = (writer.trigger(**trigger) if trigger else writer).start()
        except BaseException:
            del _running[key]
            raise
        running.query = readable(query)
    return running.query


@dataclass(slots=True)
class BatchApplier:
    """The function that Spark calls with each micro-batch; it continues from the graph's stored cursor."""

    graph: Any
    target: GraphTarget
    shape: RowShape
    checkpoint: MirrorCheckpoint
    name: str
    letters: DeadLetters | None
    is_current: Callable[[], bool]
    """True unless another mirror may have replaced this one."""
    on_batch: Callable[[MirroredBatch], object] | None = None
    stored: Cursor | None = field(init=False)

    def __post_init__(self) -> None:
        kept = self.target.kept(self.name)
        self.stored = Cursor.from_text(kept[_CURSOR], self.name) if _CURSOR in kept else None
        self.shape.restore(
            {key.removeprefix(_OWN): text for key, text in kept.items() if key.startswith(_OWN)}
        )

    def __call__(self, batch: DataFrame, number: int) -> None:
        """Apply a micro-batch, unless it was applied before; raise the error that ends the query."""
        given = self.checkpoint.given(number)
        is_positioned = self.shape.is_positioned and stream_ends(given.end) is not None
        found = step(
            self.stored,
            given,
            self.name,
            is_positioned=is_positioned,
            is_numbered=self.shape.is_numbered,
            still_has=still_has,
        )
        if found is not None:
            self._apply(unapplied(batch, found, self.name), given, found)

    def _apply(self, batch: DataFrame, given: Given, found: BatchPlan) -> None:
        faults: list[tuple[FeedError, str]] = []

        def report(place: RecordPlace, fault: DecodingFault) -> None:
            error = FeedError(_place_name(place, given.batch), fault.line, fault.reason)
            if self.letters is None:
                raise error
            faults.append((error, fault.text))

        reading = self.shape.read(batch, report, repeats=found.cursor.repeats)
        if found.cursor.repeats and given.start is None and not reading.overlaps:
            raise resync(self.name, "the first record of the source does not follow the last applied one")
        if reading.late:
            log.warning(
                "micro-batch %d of the mirror %r: %d events are skipped, because later ones were applied "
                "before; the first: %s",
                given.batch, self.name, len(reading.late), _late_name(reading, given.batch),
            )  # fmt: skip
        for place, fault in reading.late.items() if self.letters is not None else ():
            report(place, fault)
        cursor = Cursor(
            given.query, given.batch, given.end, found.cursor.ahead, found.cursor.repeats and reading.repeats
        )
        # before the commit: a kill in between repeats them but loses none
        for error, text in faults:
            self._put_aside(error, text)
        with interrupt_later():
            keep = {_OWN + key: text for key, text in reading.kept.items()}
            refused = self._write(reading.changes, {**keep, _CURSOR: cursor.to_text()}, given.batch)
            # atomic with the write: the next micro-batch is compared with it
            self.stored = cursor
        if self.on_batch is not None:
            changes = len(reading.changes) - refused
            self.on_batch(MirroredBatch(given.batch, changes, len(faults) + refused))

    def _write(self, changes: Sequence[Change], keep: Mapping[str, str | None], batch: int) -> int:
        """Write one commit; return the number of changes that the store refused and were put aside."""
        # After a kill in between, the same micro-batch comes again, since its cursor was not committed.
        with rdflive.batch(self.graph):
            if not self.is_current():
                raise RdfliveError(
                    f"micro-batch {batch} of the mirror {self.name!r} is not applied: its query was stopped, "
                    "and another mirror has been started since"
                )
            try:
                self.target.write(changes, (), self.name, keep)
            except ValueError as cause:
                if self.letters is None:
                    raise RdfliveError(
                        f"micro-batch {batch} of the mirror {self.name!r}: the store refuses it: "
                        f"{_one_line(cause)}"
                    ) from cause
            else:
                return 0
            refused = self._write_each(changes, batch)
            self.target.write((), (), self.name, keep)
        return refused

    def _write_each(self, changes: Sequence[Change], batch: int) -> int:
        """Write all changes that the store accepts, by repeated halving, and put the rest aside."""
        try:
            self.target.write(changes, (), self.name, {})
        except ValueError as cause:
            if len(changes) > 1:
                half = len(changes) // 2
                return self._write_each(changes[:half], batch) + self._write_each(changes[half:], batch)
            ((sign, quad),) = changes
            error = FeedError(f"micro-batch {batch}", 1, f"the store refuses a quad: {_one_line(cause)}")
            self._put_aside(error, f"{'A' if sign > 0 else 'D'} {write_quad(quad)}")
            return 1
        return 0

    def _put_aside(self, error: FeedError, text: str) -> None:
        if self.letters is not None:
            self.letters(error, tuple(Line(line, n) for n, line in enumerate(text.splitlines(), start=1)))


def unapplied(batch: DataFrame, found: BatchPlan, name: str) -> DataFrame:
    """Return the rows that were not applied before; raise `ResyncNeeded` if others are missing."""
    place = stream_columns(batch) if found.applied else None
    if place is None:
        return batch
    if found.doubtful and "topic" in batch.columns:  # a file is read from its first byte
        first = batch.groupBy(place.stream.alias("stream")).agg(F.min(place.offset)).collect()
        begins: dict[str, int] = dict(map(tuple, first))
        for stream, end in found.doubtful.items():
            if begins.get(stream, end + 1) > end:
                raise resync(
                    name,
                    f"the graph has {stream!r} up to {end}, and the query may read it only from a later "
                    "offset (its startingOffsets, or records that expired)",
                )
    ends = F.create_map(*(F.lit(item) for pair in found.applied.items() for item in pair))
    # nothing was applied of any other stream
    return batch.where(place.offset >= F.coalesce(ends[place.stream], F.lit(0)))


def _dead_letters(on_bad: str, path: str | os.PathLike[str] | None) -> DeadLetters | None:
    if on_bad not in ("stop", "skip"):
        raise ValueError(f"on_bad must be 'stop' or 'skip', got {on_bad!r}")
    if (on_bad == "skip") is (path is None):
        raise ValueError("on_bad='skip' and dead_letters=PATH go together: no unit is discarded")
    return None if path is None else DeadLetters(path)


def _enter(key: _Key, graph: Any) -> _Running:
    """Register a mirror; raise `RdfliveError` if one of the same name is running."""
    for ended in [key for key, other in _running.items() if not _is_active(other.query)]:
        del _running[ended]
    if key in _running:
        raise RdfliveError(f"a mirror named {key[1]!r} is running on this store; pass another name=")
    with rdflive.batch(graph):  # the former mirror commits before this lock is taken, or not at all
        running = _running[key] = _Running()
    return running


def _is_current(key: _Key, running: _Running) -> bool:
    return _running.get(key) is running


def _is_active(query: StreamingQuery | None) -> bool:
    try:
        return query is not None and bool(query.isActive)
    except (Py4JError, OSError):  # its JVM has ended
        return False


def _place_name(place: RecordPlace, batch: int) -> str:
    return (
        f"{place.stream}, offset {place.offset}" if place.stream else f"micro-batch {batch}, row {place.seq}"
    )


def _late_name(reading: Reading, batch: int) -> str:
    place, fault = next(iter(reading.late.items()))
    return f"{_place_name(place, batch)}: {fault.reason}"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
