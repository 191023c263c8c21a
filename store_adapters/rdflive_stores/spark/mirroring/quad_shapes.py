"""Rows that add and remove quads: change rows, text of a feed, records of Neptune."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from functools import partial
from typing import Final, Literal

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rdflive.feeds import FeedFormat, RowError
from rdflive.model import Change, Quad
from rdflive_stores.spark.change_rows import is_one_stream, is_sharded, stream_columns
from rdflive_stores.spark.mirroring.decoding import (
    DECODED,
    POSITION,
    DecodingFault,
    RecordPlace,
    decode_neptune,
    decode_texts,
)
from rdflive_stores.spark.mirroring.shapes import Reading, Report, placed, require_columns
from rdflive_stores.spark.mirroring.term_texts import TermTexts

__all__ = ["ChangeRows", "NeptuneRecords", "Texts", "net"]

_SIGNS: Final[dict[str | None, Literal[1, -1]]] = {"A": 1, "D": -1}
_QUAD: Final = ("s", "p", "o", "g")
_BAD_ROW: Final = "row"
"""The note for a malformed change row."""
_COMMIT: Final = "commit"


class _Order(Enum):
    """The scope in which changes have an order, as the column that netting uses besides the quad."""

    ALL = ()
    STREAM = ("stream",)
    ROW = ("op",)
    """One row; so a row that inserts a quad is kept beside one that deletes it."""


class ChangeRows:
    """Rows with the columns `op`, `s`, `p`, `o` and optionally `g`."""

    is_numbered = False

    def __init__(self, frame: DataFrame) -> None:
        self._has_graph = "g" in frame.columns
        require_columns(frame, "a row of changes", "op", "s", "p", "o", *(["g"] if self._has_graph else []))
        self.is_positioned = stream_columns(frame) is not None
        self._order = _order(frame)
        self._quads = _Quads(self._order)

    def restore(self, kept: Mapping[str, str]) -> None:
        """Do nothing: this shape keeps no state."""

    def read(self, batch: DataFrame, report: Report, *, repeats: bool) -> Reading:  # noqa: ARG002 - no numbers
        """Net the rows."""
        rows = placed(batch, "op", "s", "p", "o", *(["g"] if self._has_graph else []))
        op = F.when(F.col("op").isin("A", "+"), "A").when(F.col("op").isin("D", "-"), "D")
        is_bad = op.isNull() | F.col("s").isNull() | F.col("p").isNull() | F.col("o").isNull()
        rows = rows.select(
            # an invalid operation stays as it is, for the message
            F.coalesce(op, "op").alias("op"),
            "s", "p", "o",
            (F.col("g") if self._has_graph else F.lit(None).cast("string")).alias("g"),
            *POSITION[:-1],
            F.lit(0).cast("long").alias("step"),
            F.when(is_bad, _BAD_ROW).alias("note"),
        )  # fmt: skip
        return Reading(self._quads.read(net(rows, self._order).toArrow(), report))


class Texts:
    """Rows whose column `value` holds complete units of a format, such as lines or transactions."""

    is_numbered = False

    def __init__(self, frame: DataFrame, form: FeedFormat) -> None:
        require_columns(frame, f"the format {form.name!r}", "value", types=("string", "binary"))
        self.is_positioned = stream_columns(frame) is not None
        self._decode = partial(decode_texts, form=form)
        self._order = _order(frame)
        self._quads = _Quads(self._order)

    def restore(self, kept: Mapping[str, str]) -> None:
        """Do nothing: this shape keeps no state."""

    def read(self, batch: DataFrame, report: Report, *, repeats: bool) -> Reading:  # noqa: ARG002 - no numbers
        """Decode and net the rows."""
        rows = placed(batch, "value").mapInArrow(self._decode, DECODED)
        return Reading(self._quads.read(net(rows, self._order).toArrow(), report))


class NeptuneRecords:
    """Rows whose column `value` holds stream records of Neptune, in the order of their numbers.

    A micro-batch may end inside a commit, which the next one continues. Operations up to the last applied one
    are skipped. A commit that lacks an operation is refused; if bad records are skipped, it is only reported,
    because each record counts on its own.
    """

    is_numbered = True

    def __init__(self, frame: DataFrame) -> None:
        require_columns(frame, "the format 'neptune'", "value", types=("string", "binary"))
        self.is_positioned = stream_columns(frame) is not None
        self._quads = _Quads(_Order.ALL)
        self._commit, self._operation, self._is_whole = -1, 0, True

    def restore(self, kept: Mapping[str, str]) -> None:
        """Restore the position of the last applied operation."""
        if _COMMIT in kept:
            commit, _, operation = kept[_COMMIT].partition(" ")
            self._commit, self._operation, self._is_whole = int(commit), int(operation or 0), not operation

    def read(self, batch: DataFrame, report: Report, *, repeats: bool) -> Reading:  # noqa: ARG002 - uses numbers
        """Decode and net the records."""
        rows = net(placed(batch, "value").mapInArrow(decode_neptune, DECODED), _Order.ALL).toArrow()
        commits = _commits(rows)
        changes = self._quads.read(rows, report, self._is_new)
        overlaps = self._commit < 0 or min(commits, default=0) <= self._commit + 1
        # the last commit counts as new until its last operation has come
        new = sorted(commit for commit in commits if commit > self._commit - (not self._is_whole))
        for commit in new:
            self._take(commit, commits[commit], report)
        place = f"{self._commit}" if self._is_whole else f"{self._commit} {self._operation}"
        return Reading(changes, {_COMMIT: place} if new else {}, overlaps)

    def _is_new(self, place: RecordPlace) -> bool:
        if place.offset == self._commit:
            return not self._is_whole and place.part > self._operation
        return place.offset > self._commit

    def _take(self, commit: int, operations: Mapping[int, bool], report: Report) -> None:
        """Advance to the last operation of a commit; report missing ones before it."""
        goes_on = commit == self._commit
        begin = self._operation + 1 if goes_on else 1
        new = sorted(operation for operation in operations if operation >= begin)
        if not goes_on and not self._is_whole:
            _report_commit(report, self._commit, f"no record with isLastOp ends commit {self._commit}")
        missing = next((due for due, found in enumerate(new, start=begin) if due != found), None)
        if missing is not None:
            _report_commit(
                report,
                commit,
                f"operation {missing} of commit {commit} is missing: its records must be complete from 1 on",
            )
        if new:
            self._commit, self._operation, self._is_whole = commit, new[-1], operations[new[-1]]


def _order(frame: DataFrame) -> _Order:
    """Return the scope in which rows of a DataFrame have an order."""
    if is_one_stream(frame):
        return _Order.ALL
    return _Order.STREAM if is_sharded(frame) or stream_columns(frame) is not None else _Order.ROW


def net(rows: DataFrame, order: _Order) -> DataFrame:
    """Keep the last change of each quad within its scope of order, and all notes; the result has no order.

    `first` is the first row with such a change.
    """
    # a group of its own for each note, so that none replaces another
    single = F.when(F.col("note").isNotNull(), F.concat_ws(" ", "seq", "step", "note")).alias("single")
    last = F.max(F.struct(*POSITION, "op", "note")).alias("last")
    apart = [F.col(name).alias(f"apart_{name}") for name in order.value]
    found = rows.groupBy(*_QUAD, single, *apart).agg(last, F.min("seq").alias("first"))
    return found.select("last.op", *_QUAD, *(f"last.{name}" for name in (*POSITION, "note")), "first")


class _Quads:
    """Turns decoded rows into changes, and reports bad ones."""

    def __init__(self, order: _Order) -> None:
        self._terms = TermTexts()
        self._order = order

    def read(
        self, table: pa.Table, report: Report, is_new: Callable[[RecordPlace], bool] | None = None
    ) -> list[Change]:
        """Return the changes of rows by position; `is_new` selects the rows that count."""
        table = table.sort_by([(name, "ascending") for name in POSITION])
        changes: list[Change] = []
        to_quad = self._terms.quad
        notes = None if table["note"].null_count == len(table) else table["note"].to_pylist()
        units = self._units(table)
        last: dict[Quad, tuple[Change, object]] = {}
        unordered: set[Quad] = set()
        columns = [table[name].to_pylist() for name in ("op", *_QUAD)]
        for number, (op, s, p, o, g) in enumerate(zip(*columns, strict=True)):
            note = None if notes is None else notes[number]
            if note is None and (is_new is None or is_new(_place(table, number))):
                try:
                    change = Change(_SIGNS[op], to_quad(s, p, o, g))
                except RowError as error:
                    report(_place(table, number), DecodingFault(1, str(error), _row(op, s, p, o, g)))
                    continue
                if units is None:
                    changes.append(change)
                    continue
                before, unit = last.pop(change.quad, (change, units[number]))
                is_ordered = unit == units[number]
                last[change.quad] = change, unit if is_ordered else object()
                if not (is_ordered or before == change or change.quad in unordered):
                    unordered.add(change.quad)
                    report(_place(table, number), _unordered((op, s, p, o, g)))
            elif note is not None:
                fault = _fault(note, (op, s, p, o, g))
                if fault is not None:
                    report(_place(table, number), fault)
        return changes or [change for quad, (change, _) in last.items() if quad not in unordered]

    def _units(self, table: pa.Table) -> list[object] | None:
        """Return per change a value that is equal for changes in one order; None if all are in one."""
        match self._order:
            case _Order.ALL:
                return None
            case _Order.STREAM:
                streams = table["stream"].to_pylist()
                return streams if len(set(streams)) > 1 else None
        pairs = zip(table["first"].to_pylist(), table["seq"].to_pylist(), strict=True)
        # a change in several rows has no order with another
        return [last if first == last else object() for first, last in pairs]


def _fault(note: str, row: Sequence[str | None]) -> DecodingFault | None:
    """Return the fault of a note; None if it is another kind of note."""
    if note != _BAD_ROW:
        found = json.loads(note).get("fault")
        return None if found is None else DecodingFault(*found)
    op, s, p, o, _ = row
    missing = next(
        (role for role, text in zip(("s", "p", "o"), (s, p, o), strict=True) if text is None), None
    )
    if op not in _SIGNS:
        return DecodingFault(1, f"the column 'op' must hold A or D, or + or -, not {op!r:.20}", _row(*row))
    return DecodingFault(1, f"the column {missing!r} is NULL", _row(*row))


def _unordered(row: Sequence[str | None]) -> DecodingFault:
    """Return the fault for a quad with two changes in unknown order."""
    quad = _row(*row[1:])
    return DecodingFault(
        1,
        f"{quad} is inserted and deleted in one micro-batch, in unknown order: give the rows their "
        'positions: read files by the source "rdf_patch", Kafka with topic, partition and offset, or '
        "Kinesis with shard and sequence, and write changes of one quad to one partition or shard",
        f"D {quad}\nA {quad}",
    )


def _row(*columns: str | None) -> str:
    """Return a change row in RDF Patch."""
    return " ".join([*(text for text in columns if text is not None), "."])


def _place(table: pa.Table, number: int) -> RecordPlace:
    return RecordPlace(*(table[name][number].as_py() for name in RecordPlace._fields))


def _commits(table: pa.Table) -> dict[int, dict[int, bool]]:
    """Return the received operations of each commit, with True for the last one of the commit."""
    commits: dict[int, dict[int, bool]] = {}
    for note in table["note"].drop_null().to_pylist():
        for commit, operations, ends in json.loads(note).get("commits", ()):
            found = commits.setdefault(commit, {})
            found.update((operation, operation in ends) for operation in operations)
    return commits


def _report_commit(report: Report, commit: int, reason: str) -> None:
    report(RecordPlace("", commit), DecodingFault(1, reason, ""))
