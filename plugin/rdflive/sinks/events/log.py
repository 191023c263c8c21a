"""The events that clients of a server follow: the current answer, what changed lately, and who is where."""

from __future__ import annotations

import json
import re
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from rdflive.errors import RdfliveError
from rdflive.model import Delta
from rdflive.sinks.events.backlog import Backlog, Weights
from rdflive.sinks.events.event import ServedEvent
from rdflive.sinks.ndjson import TRIPLE, pair_text, solution_text

__all__ = ["EventLog", "EventLogReader"]

_ID: Final = re.compile(r"([0-9]{1,18})-([0-9a-f]{8})")
_RESYNC: Final = ServedEvent("resync", about='"reason": "what followed the last event id is no longer kept"')


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
        self._backlog = Backlog(history=history, rows=rows)
        self._about = dict(about or {})
        self._lock = threading.Lock()
        self._answer: Counter[str] = Counter()
        self._rows = 0
        self._header = ""
        self._key: tuple[str, ...] = ()
        self.form = ""
        """The form of the query, once the initial delta has come."""
        self.names: tuple[str, ...] = ()
        """What its solutions bind; those of CONSTRUCT are triples."""
        self._epoch = ""
        self._readers: set[EventLogReader] = set()
        self._merged: dict[int, ServedEvent | None] = {}
        self._whole: ServedEvent | None = None
        self._end: ServedEvent | None = None
        self._listeners: list[Callable[[], object]] = []

    @property
    def id(self) -> str:
        """The id of the last event; empty before the initial one."""
        return f"{self.sequence}-{self._epoch}" if self._epoch else ""

    @property
    def sequence(self) -> int:
        """The number of the commit that the last event led to."""
        return self._backlog.last

    @property
    def has_ended(self) -> bool:
        """True after `end`."""
        return self._end is not None

    def __len__(self) -> int:
        """Count the solutions of the current answer, each as often as it occurs."""
        return self._rows

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
        net: Weights = {}
        native = delta.native.unpaired
        for sign, solutions in ((1, native.added), (-1, native.removed)):
            for text in map(solution_text, solutions):
                net[text] = net.get(text, 0) + sign
        # the JSON is written outside of the lock, which readers take in the event loop
        with self._lock:
            if delta.initial:
                self._begin(delta)
            self._take(net)
            if not delta.initial:
                self._backlog.append(delta.first_sequence, delta.sequence, net)
                self._trim()
            # what was put together led to the place before
            self._merged.clear()
            self._whole = None
        self._tell()

    def _trim(self) -> None:
        if self._backlog.exceeds(len(self._answer)):
            places = {reader.place for reader in self._readers if self._can_go_on(reader)}
            self._backlog.trim(places, len(self._answer))

    def join(self, last: str | None = None) -> EventLogReader:
        """Add a reader that has seen the event `last`.

        It begins with what it missed; with the current answer where it has seen none, with `resync` in
        front where what followed `last` is no longer kept.
        """
        reader = EventLogReader(self)
        with self._lock:
            match = _ID.fullmatch(last or "")
            if match is not None and match[2] == self._epoch and int(match[1]) in self._backlog:
                reader.place, reader.epoch = int(match[1]), self._epoch
            elif last:
                # it has an answer, though not one that can be gone on from: it is told `resync` first
                reader.place = -1
            self._readers.add(reader)
        return reader

    def leave(self, reader: EventLogReader) -> None:
        """Forget a reader, which is over then."""
        with self._lock:
            self._readers.discard(reader)
            reader.is_over = True

    def end(self, members: Mapping[str, Any] | None = None) -> None:
        """Let every reader end behind what it has still to take, and tell it why if `members` do."""
        with self._lock:
            if self._end is None:
                self._end = ServedEvent("end", about=json.dumps(dict(members))[1:-1] if members else "")
        self._tell()

    def next_for(self, reader: EventLogReader) -> ServedEvent | None:
        """Give what a reader has not seen, and move it there; None where that is nothing."""
        with self._lock:
            return self._next(reader)

    def _next(self, reader: EventLogReader) -> ServedEvent | None:
        if reader.is_over:
            return None
        event: ServedEvent | None = None
        if self._epoch:
            if self._can_go_on(reader):
                event = self._merge(reader.place)
            elif reader.epoch or reader.place < 0:  # it has an answer that is to be replaced
                reader.epoch, reader.place = "", 0
                return _RESYNC
            else:
                event = self._initial()
            reader.place, reader.epoch = self.sequence, self._epoch
        if event is None and self._end is not None:
            reader.is_over = True
            # without a reason the stream just ends, so that its client comes back
            return self._end if self._end.about else None
        return event

    def _can_go_on(self, reader: EventLogReader) -> bool:
        """Tell whether what followed a reader's place is kept."""
        return reader.epoch == self._epoch and reader.place >= self._backlog.oldest

    def _merge(self, place: int) -> ServedEvent | None:
        """Merge what followed a place into one event; None where it changed nothing."""
        if place not in self._merged:
            found = self._backlog.behind(place)
            event = self._event("update", found[1].items(), found[0]) if found and found[1] else None
            self._merged[place] = event
        return self._merged[place]

    def _initial(self) -> ServedEvent:
        if self._whole is None:
            self._whole = self._event("initial", self._answer.items(), self.sequence)
        return self._whole

    def _event(self, kind: Any, weights: Iterable[tuple[str, int]], first: int) -> ServedEvent:
        added: list[str] = []
        removed: list[str] = []
        for text, weight in weights:
            if weight > 0:
                added += [text] * weight
            else:
                removed += [text] * -weight
        about = self._header if kind == "initial" else ""
        if self.form == "ASK":
            boolean = bool(self._answer)
            return ServedEvent(kind, self.id, self.sequence, first, boolean=boolean, about=about)
        changed = _paired(self._key, added, removed) if self._key else None
        lists = tuple(added), tuple(removed), changed
        return ServedEvent(kind, self.id, self.sequence, first, *lists, about=about)

    def _begin(self, delta: Delta) -> None:
        self._epoch = secrets.token_hex(4)
        self._backlog.begin(delta.sequence)
        self._answer.clear()
        self._rows = 0
        self.form = delta.form
        self._key = delta.key
        self.names = TRIPLE if delta.form == "CONSTRUCT" else delta.names
        members = {**self._about, "form": self.form, "head": {"vars": self.names}}
        self._header = json.dumps(members)[1:-1] + ", "

    def _take(self, net: Weights) -> None:
        answer = self._answer
        for text, weight in list(net.items()):
            if not weight:
                # two terms may have one text, as "a" and "a"^^xsd:string: one for the other is no change
                del net[text]
                continue
            self._rows += weight
            answer[text] += weight
            if not answer[text]:
                del answer[text]

    def _tell(self) -> None:
        for listener in self._listeners:
            listener()


class EventLogReader:
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

    @property
    def is_behind(self) -> bool:
        """True when something has come since, be it that all of it was undone."""
        return self.id != self._log.id

    def take_now(self) -> ServedEvent | None:
        """Take what there is; None for nothing."""
        return self._log.next_for(self)


def _paired(key: tuple[str, ...], added: list[str], removed: list[str]) -> tuple[str, ...]:
    """Take the solutions that went and came alone of their key out of the lists; give the pairs."""
    if not added or not removed:  # as in a whole answer, which may be long
        return ()
    came, went = _by_key(key, added), _by_key(key, removed)
    paired = [values for values, rows in went.items() if len(rows) == len(came.get(values, ())) == 1]
    texts = tuple(pair_text(went.pop(values)[0], came.pop(values)[0]) for values in paired)
    added[:] = [text for rows in came.values() for text in rows]
    removed[:] = [text for rows in went.values() for text in rows]
    return texts


def _by_key(key: tuple[str, ...], texts: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text in texts:
        solution = json.loads(text)
        found.setdefault(json.dumps([solution.get(name) for name in key]), []).append(text)
    return found
