"""Change records of Amazon Neptune Streams, as GetSPARQLStreamRecords returns them.

Source: https://docs.aws.amazon.com/neptune/latest/userguide/streams-change-formats.html .
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, Literal, NamedTuple

from rdflib.term import URIRef

from rdflive.feeds.formats import Decoded, FeedFormat, Frame, meaningful
from rdflive.feeds.json_lines import UnitPlace, group, member, optional, read_object
from rdflive.feeds.lines import Line
from rdflive.feeds.terms import RowError, RowReader
from rdflive.model import Change

__all__ = ["NEPTUNE", "EventId", "NeptuneDecoder", "read_line", "records_of"]

_DEFAULT_GRAPH: Final = URIRef("http://aws.amazon.com/neptune/vocab/v01/DefaultNamedGraph")
_SIGNS: Final[dict[str, Literal[1, -1]]] = {"ADD": 1, "REMOVE": -1}
_DIGITS: Final = re.compile(r"[0-9]{1,18}")
_NONE: Final = -1
"""The commit number before the first commit."""


class EventId(NamedTuple):
    """The position of a record: its commit, its operation number from 1, and whether it is the last."""

    commit: int
    operation: int
    is_last: bool


class NeptuneDecoder:
    """Decodes JSON Lines of stream records, or of full responses with `records`; a commit is a unit.

    A commit ends with the record that has `isLastOp`. It may span several lines, and a response may hold
    several commits. A commit whose records are not numbered 1, 2, 3, …, or that has no last record, is an
    error. The decoder skips commits up to the last one applied, so logs may overlap. Blank nodes keep the
    labels of the database.
    """

    def __init__(self) -> None:
        self._commit = _NONE

    def restore(self, kept: Mapping[str, str]) -> None:
        """Restore the number of the last commit."""
        self._commit = int(kept.get("commit", _NONE))

    def split(self, lines: Iterator[Line]) -> Iterator[Frame]:
        """Yield commits; each record of a response becomes a line of its own.

        A cursor cannot point into a line. If a commit ends within a response, its cursor points to the start
        of that line; when the line is read again, applied records are skipped by their numbers.
        """
        for frame in group(chain.from_iterable(map(records_of, meaningful(lines))), _place):
            # within a response, all lines but the last span no bytes: see `records_of`
            last = frame[-1]
            if last.end > last.start:
                yield frame
            else:
                yield (*frame, last._replace(text="", number=last.number - 1))

    def decode(self, frame: Frame) -> Decoded | None:
        """Decode the records of a commit; return None for a commit that was applied before."""
        # without the line that `split` appended for its position
        lines = [line for line in frame if line.text]
        if _commit_of(lines[0]) <= self._commit:
            return None
        events, changes = zip(*map(read_line, lines), strict=True)
        _check_whole(events, frame)
        # set last: a refused commit must leave the decoder unchanged
        self._commit = events[0].commit
        return Decoded(changes, kept={"commit": str(self._commit)})


def records_of(line: Line) -> list[Line]:
    """Return each record of a response as a line; only the last line spans the response's bytes."""
    try:
        response = read_object(line)
        if "records" not in response:
            return [line]
        # numbers with a fraction are Decimal, which `json` cannot serialize
        texts = [json.dumps(record, default=str) for record in _records(response)]
    except RowError:
        return [line]  # for `decode` to refuse
    inner = line._replace(end=line.start, check=line.before)
    ends = [inner] * (len(texts) - 1) + [line]
    return [end._replace(text=text) for end, text in zip(ends, texts, strict=False)]


def _records(response: Mapping[str, Any]) -> list[Any]:
    form = response.get("format", "NQUADS")
    if form != "NQUADS":
        raise RowError(f"the format of the response must be 'NQUADS', not {form!r}: request SPARQL records")
    return member(response, "records", list, "the response")


def _place(line: Line) -> UnitPlace:
    event = _read_event(_read_record(line))
    return UnitPlace(event.commit, event.operation == 1, event.is_last)


def _commit_of(line: Line) -> int:
    try:
        return _read_event(_read_record(line)).commit
    except RowError as error:
        raise RowError(str(error), line.number) from error


def read_line(line: Line) -> tuple[EventId, Change]:
    """Return the position of a record in its commit, and its change."""
    try:
        record = _read_record(line)
        return _read_event(record), _read_change(record)
    except RowError as error:
        raise RowError(str(error), line.number) from error


def _read_record(line: Line) -> dict[str, Any]:
    record = read_object(line)
    if "records" in record:
        _records(record)
    return record


def _read_event(record: Mapping[str, Any]) -> EventId:
    event = member(record, "eventId", dict)
    is_last = optional(record, "isLastOp", bool)
    return EventId(_number(event, "commitNum"), _number(event, "opNum"), bool(is_last))


def _number(event: Mapping[str, Any], name: str) -> int:
    """Return a number given as an integer or, as the SDKs return it, as a string of digits."""
    value = event.get(name)
    if isinstance(value, str) and _DIGITS.fullmatch(value):
        return int(value)
    number = member(event, name, int, "'eventId'")
    if number < 0:
        raise RowError(f"{name!r} of 'eventId' must not be negative, got {number}")
    return number


def _read_change(record: Mapping[str, Any]) -> Change:
    operation = member(record, "op", str)
    if operation not in _SIGNS:
        raise RowError(f"'op' of the record must be 'ADD' or 'REMOVE', not {operation!r}")
    change = member(record, "data", dict)
    # the form of property graph records
    if "stmt" not in change and "type" in change:
        raise RowError(
            "the record is of Gremlin or openCypher; read an RDF feed from the SPARQL stream endpoint"
        )
    quad = RowReader(member(change, "stmt", str, "'data'")).quad()
    return Change(_SIGNS[operation], quad._replace(graph=None) if quad.graph == _DEFAULT_GRAPH else quad)


def _check_whole(events: Sequence[EventId], frame: Frame) -> None:
    commit = events[0].commit
    for expected, (event, line) in enumerate(zip(events, frame, strict=False), start=1):
        if event.operation != expected:
            raise RowError(
                f"commit {commit} has opNum {event.operation} where {expected} is expected; "
                "its records must be numbered from 1, in order",
                line.number,
            )
    if not events[-1].is_last:
        raise RowError(f"no record with isLastOp ends commit {commit}, so it is not applied", frame[0].number)


NEPTUNE: Final = FeedFormat("neptune", (), NeptuneDecoder, replayable=True)
"""Neptune Streams records; read-only."""
