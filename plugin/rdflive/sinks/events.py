"""The events that clients of a server follow: the current answer, what changed lately, and who is where."""

from __future__ import annotations

import json
import re
import secrets
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rdflive.errors import RdfliveError
from rdflive.model import Delta
from rdflive.sinks.event import Event
from rdflive.sinks.ndjson import TRIPLE, solution_text

__all__ = ["EventLog", "Reader"]

_ID: Final = re.compile(r"([0-9]{1,18})-([0-9a-f]{8})")
_RESYNC: Final = Event("resync", about='"reason": "what followed the last event id is no longer kept"')
_SLACK: Final = 8
"""The log is cut when it is longer than it may be by one part in so many."""


@dataclass(slots=True)
class _Entry:
    """What changed between two events: the net weights of solutions as JSON."""

    start: int
    """The sequence of the event before."""
    first: int
    """The sequence of the first commit that is in it."""
    end: int
    net: dict[str, int]


class EventLog:
    """Turns deltas into events that any number of readers take, each at its own pace.

    Nobody is waited for. A reader is a place in the log, and what it has not taken yet is merged into one
    event when it does. Of the last `history` events each is a place that a reader may come back to; older
    ones are merged as far as no reader is between them. The events together hold no more than `rows`
    solutions, or as many as the answer if those are more: a reader behind that is sent the current answer.

    The id of an event is `sequence-epoch`. The epoch is a random word for the initial delta that the
    event builds on, so that an id of an earlier run is never taken for one of this.
    """

    def __init__(
        self, *, history: int = 1000, rows: int = 100_000, about: Mapping[str, Any] | None = None
    ) -> None:
        self._history = history
        self._rows = rows
        self._about = dict(about or {})
        self._changed = threading.Condition()
        self._entries: list[_Entry] = []
        self._kept_rows = 0
        self._answer: Counter[str] = Counter()
        self._header = ""
        self.form = ""
        """The form of the query, once the initial delta has come."""
        self.names: tuple[str, ...] = ()
        """What its solutions bind; those of CONSTRUCT are triples."""
        self._epoch = ""
        self._sequence = self._oldest = 0
        self._readers: set[Reader] = set()
        self._merged: dict[int, Event | None] = {}
        self._whole: Event | None = None
        self._end: Event | None = None
        self._listeners: list[Callable[[], object]] = []

    @property
    def id(self) -> str:
        """The id of the last event; empty before the initial one."""
        return f"{self._sequence}-{self._epoch}" if self._epoch else ""

    @property
    def sequence(self) -> int:
        """The number of the commit that the last event led to."""
        return self._sequence

    @property
    def readers(self) -> int:
        """How many readers there are."""
        return len(self._readers)

    @property
    def has_ended(self) -> bool:
        """True after `end`."""
        return self._end is not None

    def __len__(self) -> int:
        """Count the solutions of the current answer, each as often as it occurs."""
        return self._answer.total()

    def listen(self, listener: Callable[[], object]) -> None:
        """Have a function called, in the writing thread, whenever there is something new to take."""
        self._listeners.append(listener)

    def publish(self, delta: Delta) -> None:
        """Add a delta. Raises `RdfliveError` for one that builds on an answer that was never given."""
        if not delta.initial and not self._epoch:
            raise RdfliveError(
                "late clients are sent the current answer, so the sink must be given the initial delta: "
                "subscribe without initial=False and without resume"
            )
        net = Counter(map(solution_text, delta.added))
        net.subtract(map(solution_text, delta.removed))
        with self._changed:
            if delta.initial:
                self._begin(delta)
            self._take(net)
            if not delta.initial:
                entry = _Entry(self._sequence, delta.first_sequence, delta.sequence, net)
                self._entries.append(entry)
                self._kept_rows += len(net)
            self._sequence = delta.sequence
            if delta.initial:
                self._oldest = delta.sequence
            self._merged.clear()
            self._whole = None
            self._trim()
            self._changed.notify_all()
        self._tell()

    def join(self, last: str | None = None) -> Reader:
        """Add a reader that has seen the event `last`.

        It begins with what it missed; with the current answer where it has seen none, with `resync` in
        front where what followed `last` is no longer kept.
        """
        reader = Reader(self)
        with self._changed:
            match = _ID.fullmatch(last or "")
            if match is not None and match[2] == self._epoch and self._is_place(int(match[1])):
                reader.place, reader.epoch = int(match[1]), self._epoch
            elif last:
                reader.place = -1
            self._readers.add(reader)
        return reader

    def leave(self, reader: Reader) -> None:
        """Forget a reader; one that waits is given None."""
        with self._changed:
            self._readers.discard(reader)
            reader.is_over = True
            self._changed.notify_all()

    def end(self, members: Mapping[str, Any] | None = None) -> None:
        """Let every reader end behind what it has still to take, and tell it why if `members` do."""
        with self._changed:
            if self._end is None:
                self._end = Event("end", about=json.dumps(dict(members))[1:-1] if members else "")
            self._changed.notify_all()
        self._tell()

    def next_for(self, reader: Reader) -> Event | None:
        """Give what a reader has not seen, and move it there; None where that is nothing."""
        with self._changed:
            return self._next(reader)

    def wait_for(self, reader: Reader, timeout: float | None) -> Event | None:
        """Wait until there is something for a reader and give that; None at its end or after `timeout` s."""
        event: Event | None = None

        def found() -> bool:
            nonlocal event
            event = self._next(reader)
            return event is not None or reader.is_over

        with self._changed:
            self._changed.wait_for(found, timeout)
        return event

    def _next(self, reader: Reader) -> Event | None:
        if reader.is_over:
            return None
        event: Event | None = None
        if self._epoch:
            if reader.epoch == self._epoch and reader.place >= self._oldest:
                event = self._merge(reader.place)
            elif reader.epoch or reader.place < 0:  # it has an answer that is to be replaced
                reader.epoch, reader.place = "", 0
                return _RESYNC
            else:
                event = self._initial()
            reader.place, reader.epoch = self._sequence, self._epoch
        if event is None and self._end is not None:
            reader.is_over = True
            return self._end if self._end.about else None
        return event

    def _merge(self, place: int) -> Event | None:
        """Merge what followed a place into one event; None where it changed nothing."""
        if place == self._sequence:
            return None
        if place in self._merged:
            return self._merged[place]
        entries = self._entries[self._index(place) :]
        net = _net(entry.net for entry in entries) if len(entries) > 1 else entries[0].net
        event = None
        if net:
            event = self._event("update", net.items(), entries[0].first)
        self._merged[place] = event
        return event

    def _initial(self) -> Event:
        if self._whole is None:
            self._whole = self._event("initial", self._answer.items(), self._sequence)
        return self._whole

    def _event(self, kind: Any, weights: Iterable[tuple[str, int]], first: int) -> Event:
        added: list[str] = []
        removed: list[str] = []
        for text, weight in weights:
            if weight > 0:
                added += [text] * weight
            else:
                removed += [text] * -weight
        about = self._header if kind == "initial" else ""
        boolean = bool(self._answer) if self.form == "ASK" else None
        lists = ((), ()) if self.form == "ASK" else (tuple(added), tuple(removed))
        return Event(kind, self.id, self._sequence, first, *lists, boolean, about)

    def _begin(self, delta: Delta) -> None:
        self._epoch = secrets.token_hex(4)
        self._entries.clear()
        self._kept_rows = 0
        self._answer.clear()
        self.form = delta.form
        self.names = TRIPLE if delta.form == "CONSTRUCT" else delta.names
        members = {**self._about, "form": self.form, "head": {"vars": self.names}}
        self._header = json.dumps(members)[1:-1] + ", "

    def _take(self, net: Counter[str]) -> None:
        answer = self._answer
        for text, weight in list(net.items()):
            if not weight:
                del net[text]
                continue
            answer[text] += weight
            if not answer[text]:
                del answer[text]

    def _index(self, place: int) -> int:
        """Give the number of entries in front of a place."""
        return bisect_left(self._entries, place, key=_start)

    def _is_place(self, sequence: int) -> bool:
        if sequence == self._sequence:
            return True
        index = self._index(sequence)
        return index < len(self._entries) and self._entries[index].start == sequence

    def _trim(self) -> None:
        """Keep the log within its bounds, and every reader's place in it as far as these allow.

        The newest entry stays, however large: it is never larger than the answers before and behind it.
        """
        if len(self._entries) > self._history + max(_SLACK, self._history // _SLACK):
            self._compact(self._history)
        most = max(self._rows, len(self._answer))
        if self._kept_rows > most:
            self._compact(0)
            while len(self._entries) > 1 and self._kept_rows > most - most // _SLACK:
                self._kept_rows -= len(self._entries.pop(0).net)
        self._oldest = self._entries[0].start if self._entries else self._sequence

    def _compact(self, recent: int) -> None:
        """Merge all but the most recent entries between readers' places; nobody needs those in front."""
        cut = len(self._entries) - recent
        places = {r.place for r in self._readers if r.epoch == self._epoch and r.place >= self._oldest}
        first = min(places, default=self._sequence)
        merged: list[list[_Entry]] = []
        for entry in self._entries[:cut]:
            if entry.start < first:
                continue
            if entry.start in places:
                merged.append([])
            merged[-1].append(entry)
        self._entries[:cut] = [_sum(group) for group in merged]
        self._kept_rows = sum(len(entry.net) for entry in self._entries)

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()


class Reader:
    """One reader of a log: its place there."""

    __slots__ = ("_log", "epoch", "is_over", "place")

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self.place = 0
        """The sequence of the last event that it took; -1 for one that is not in the log."""
        self.epoch = ""
        """That of the same event; empty for a reader that has none."""
        self.is_over = False
        """True when nothing comes any more."""

    @property
    def id(self) -> str:
        """What the reader would send as the id of the last event to go on from where it is."""
        return f"{self.place}-{self.epoch}" if self.epoch else ""

    def take_now(self) -> Event | None:
        """Take what there is; None for nothing."""
        return self._log.next_for(self)

    def take(self, timeout: float | None = None) -> Event | None:
        """Wait for an event and take it; None at the end and after `timeout` seconds (see `is_over`)."""
        return self._log.wait_for(self, timeout)


def _start(entry: _Entry) -> int:
    return entry.start


def _sum(entries: list[_Entry]) -> _Entry:
    if len(entries) == 1:
        return entries[0]
    net = _net(entry.net for entry in entries)
    return _Entry(entries[0].start, entries[0].first, entries[-1].end, net)


def _net(weights: Iterable[Mapping[str, int]]) -> dict[str, int]:
    total: dict[str, int] = {}
    for part in weights:
        for text, weight in part.items():
            total[text] = total.get(text, 0) + weight
    return {text: weight for text, weight in total.items() if weight}
