"""The log of streams in the file of subscriptions that resume: enough to restore their windows."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final, TypeAlias

from rdflive.delivery.resume.journal import Journal, ResumeError
from rdflive.delivery.resume.record import row_mark, wrap
from rdflive.delivery.resume.row_texts import RowTermTexts, read_row, write_row
from rdflive.engine.dictionary import Dictionary
from rdflive.errors import ClosedError
from rdflive.model import Triple
from rdflive.time.course import Course, play_window, state_of, timelines_of
from rdflive.time.group import Element, WindowGroup
from rdflive.time.instants import Instant
from rdflive.time.pane import Pane
from rdflive.time.watermark import Act, Watermark
from rdflive.time.windows import Axis, Window

__all__ = ["BATCH", "StreamLog"]

BATCH: Final = 256
"""Number of acts that are written together, unless a delta needs them in the file earlier."""
_SEGMENT: Final = 1024
"""Number of acts that are removed from the file together, when no window needs them."""
_READER: Final = "reader "

Panes: TypeAlias = Sequence[tuple[int, Pane]]
"""Windows, each with the number of its stream."""


class StreamJournal(Journal):
    """The rows of streams in a file.

    They are stored as the answer of one more subscriber, so the same checksums cover them. A row that starts
    with a number holds acts. Each reader has one row with its name, whose weight is the number of the first
    row that it needs.
    """

    _what: ClassVar = "the elements of a stream with other options"

    def listed(self) -> tuple[list[tuple[int, str]], dict[str, int]]:
        """Return the rows of acts with their numbers, and the first number that each reader needs."""
        with self._reading():
            found = sorted(self._rows("answer"))
        acts = [(int(row[:16]), row[17:]) for row, _ in found if not row.startswith(_READER)]
        return acts, {row[len(_READER) :]: weight for row, weight in found if row.startswith(_READER)}

    def append(self, done: Iterable[str], readers: Mapping[str, int], below: int, *, durable: bool) -> int:
        """Write acts, advance readers, and remove the rows below a number; return the last row's number."""
        with self._transaction(durable=durable) as (connection, record):
            last, rows = record.written, {f"{_READER}{name}": more for name, more in readers.items()}
            for text in done:
                last += 1
                rows[f"{last:016d} {text}"] = 1
            total = record.answer + self._insert(connection, "answer", rows)
            if below:
                old = self._id, f"{below:016d}"
                found = connection.execute("SELECT row FROM answer WHERE subscriber = ? AND row < ?", old)
                total -= sum(row_mark(row) for (row,) in found)
                connection.execute("DELETE FROM answer WHERE subscriber = ? AND row < ?", old)
            record = replace(record, begun=1, written=last, acknowledged=last, answer=wrap(total))
            record.store(connection)
        self._file.stamp(record)
        return last


@dataclass(eq=False)
class _Segment:
    """Rows that are removed together; the first holds the state of the streams before them."""

    row: int
    highest: dict[int, int] = field(default_factory=dict)
    """By stream, the highest instant of an element in these rows."""
    counted: list[dict[str, int]] | None = None
    """By stream, the numbers of elements and triples that windows had taken when they had taken all of these;
    None before that.
    """


class StreamLog:
    """Logs the acts of the streams of a watermark, for the subscriptions of one file that read them.

    An act is logged before it happens, and written at the latest before a delta that follows from it. Nothing
    else waits for the disk. So the log in the file is never behind the delivered deltas. Rows that no window
    of any reader needs are removed; a reader that is not open keeps its last needs.
    """

    def __init__(
        self, path: str | os.PathLike[str], name: str, watermark: Watermark, texts: RowTermTexts
    ) -> None:
        self._watermark = watermark
        self._texts = texts
        options = (f"delay={t.delay} lateness={t.lateness}" for t in timelines_of(watermark))
        self._journal = StreamJournal(path, f"(stream) {name}".rstrip(), f"streams with {', '.join(options)}")
        self.path = self._journal.path
        self.course: Course | None = None
        """The course read from the file, while the windows that start from it are opened."""
        self.durable: list[tuple[int, Instant | None]] = []
        """By stream, the number of the last element in the file, and the last instant."""
        self.settle()
        self._lock = threading.RLock()
        self._readers: dict[str, tuple[Panes, Callable[[ResumeError], object]]] = {}
        self._needed: dict[str, int] = {}
        """The first row that each reader needs, according to the file."""
        self._segments: list[_Segment] = []
        self._state: list[Any] | None = None
        """The state of the streams before the unwritten acts, if these start a segment."""
        self._acts: list[Act] = []
        self._length = 0
        """Number of acts in the last segment."""
        self._last = 0
        """The number of the last row."""

    @property
    def is_full(self) -> bool:
        """True if enough acts wait to be written."""
        return len(self._acts) >= BATCH

    def note(self, act: Act) -> None:
        """Log an act that is about to happen."""
        with self._lock:
            if not self._acts and (not self._segments or self._length >= _SEGMENT):
                self._state = state_of(self._watermark)
            self._acts.append(act)

    def group(self, stream: int, window: Window, dictionary: Dictionary) -> WindowGroup | None:
        """Return the group of a window restored from the log; None if there is nothing to restore."""
        if self.course is None:
            return None
        return play_window(self._watermark, self.course, stream, window, dictionary)

    def read(self) -> Course | None:
        """Write the waiting acts, and read the course from the file; None if it is empty."""
        self.flush()
        with self._lock:
            rows, self._needed = self._journal.listed()
            course: Course | None = None
            self._segments, self._length = [], 0
            self._last = rows[-1][0] if rows else 0
            for number, text in rows:
                state, acts, current = self._read(text)
                if state is not None:
                    self._begin(number)
                course = course._replace(current=current) if course else Course(state or [], [], current)
                course.acts.extend(acts)
                self._enter(acts)
            return course

    def settle(self) -> None:
        """Set `durable` to the present state of the streams."""
        self.durable = [(timeline.given, timeline.known) for timeline in timelines_of(self._watermark)]

    def join(self, name: str, panes: Collection[Pane], fail: Callable[[ResumeError], object]) -> None:
        """Keep the rows that the windows of a subscriber need; `fail` ends the subscriber."""
        own = [
            (number, pane)
            for number, timeline in enumerate(self._watermark.timelines)
            for group in timeline.groups.values()
            for pane in group.panes
            if pane in panes
        ]
        with self._lock:
            self._readers[name] = own, fail
            if name not in self._needed:
                first = self._segments[0].row if self._segments else 1
                self._journal.append((), {name: first}, 0, durable=False)
                self._needed[name] = first

    def leave(self, name: str) -> None:
        """Write the waiting acts and remove a reader; without readers, logging ends."""
        with self._lock:
            self.course = None
            if self._readers.pop(name, None) is None and self._readers:
                return
            with suppress(ResumeError, ClosedError):  # the source sends unwritten elements again
                self.flush(durable=True)
            if not self._readers:
                self._journal.close()
                if self._watermark.log is self:
                    self._watermark.log = None

    def flush(self, *, durable: bool = False) -> None:
        """Write the waiting acts, and remove rows that windows no longer need.

        Unless `durable` is true, a durable commit of the file must follow.
        """
        with self._lock:
            if self._acts:
                self._flush(durable=durable)

    def _flush(self, *, durable: bool) -> None:
        # the acts that moved the windows are in the file, or are written now
        moved, below = self._dropped()
        last = self._journal.append([self._written()], moved, below, durable=durable)
        for name, more in moved.items():
            self._needed[name] += more
        self._last = last
        self._segments = [segment for segment in self._segments if segment.row >= below]
        if self._state is not None:
            self._begin(last)
        self._enter(self._acts)
        self._state, self._acts = None, []

    def flush_or_end(self) -> None:
        """Write the waiting acts; an error ends all readers."""
        try:
            self.flush(durable=True)
        except ResumeError as error:
            for _, fail in list(self._readers.values()):
                fail(error)

    def _dropped(self) -> tuple[dict[str, int], int]:
        """Return the advance of each reader if a segment starts, and the first row that any reader needs."""
        if self._state is None or not self._segments:
            return {}, 0
        timelines, done = timelines_of(self._watermark), self._watermark.done
        axes: tuple[Axis, ...] = "elements", "triples"
        for segment in self._segments:
            is_taken = done is not None and all(at <= done for at in segment.highest.values())
            if segment.counted is None and is_taken:
                segment.counted = [{axis: timeline.counted(axis) for axis in axes} for timeline in timelines]
        moved = {}
        for name, (panes, _) in self._readers.items():
            needed = (segment.row for segment in self._segments if _is_needed(segment, panes))
            first = next(needed, self._last + 1)
            if first > self._needed[name]:
                moved[name] = first - self._needed[name]
        return moved, min(first + moved.get(name, 0) for name, first in self._needed.items())

    def _begin(self, row: int) -> None:
        """Start a segment at a row."""
        self._segments.append(_Segment(row))
        self._length = 0

    def _enter(self, acts: Sequence[Act]) -> None:
        """Record written acts."""
        self._length += len(acts)
        for act in acts:
            number, instant = self.durable[act.stream]
            if act.kind != "rest":
                instant = act.instant if instant is None else max(act.instant, instant)
            if act.kind in ("add", "remove"):
                number, highest = act.number, self._segments[-1].highest
                highest[act.stream] = max(act.instant, highest.get(act.stream, act.instant))
            self.durable[act.stream] = number, instant

    def _written(self) -> str:
        state = self._state
        if state is not None:
            waiting = [[(*each[:3], self._texts_of(each[3])) for each in t[-1]] for t in state[-1]]
            timelines = [(*t[:-1], each) for t, each in zip(state[-1], waiting, strict=True)]
            state = [*state[:-1], timelines]
        acts = [(*act[:4], self._texts_of(act.triples)) for act in self._acts]
        return json.dumps([state, acts, self._watermark.current], separators=(",", ":"))

    def _read(self, text: str) -> tuple[list[Any] | None, list[Act], Instant | None]:
        state, acts, current = json.loads(text)
        for timeline in state[-1] if state else ():
            timeline[-1] = [
                Element(at, number, sign, self._triples(texts)) for at, number, sign, texts in timeline[-1]
            ]
        read = [
            Act(stream, kind, at, number, self._triples(texts)) for stream, kind, at, number, texts in acts
        ]
        return state, read, current

    def _texts_of(self, triples: Iterable[Triple]) -> list[str]:
        try:
            return [write_row(self._texts, triple) for triple in triples]
        except ValueError as error:
            raise ResumeError(f"a file cannot hold an element of a stream: {error}") from error

    def _triples(self, texts: Iterable[str]) -> tuple[Any, ...]:
        return tuple(read_row(self._texts, text, 3) for text in texts)


def _is_needed(segment: _Segment, panes: Panes) -> bool:
    """True if a window holds, or may come to hold, elements of a segment."""
    for stream, pane in panes:
        axis = pane.cadence.axis
        if axis == "time":
            last = segment.highest.get(stream)
        else:
            last = pane.begin if segment.counted is None else segment.counted[stream][axis]
        if last is not None and (last >= pane.begin or not pane.has_begun):
            return True
    return False
