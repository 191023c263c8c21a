"""The events that clients follow: the current answer, recent changes, and the places of readers."""

from __future__ import annotations

import json
import re
import secrets
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Protocol

from rdflive.errors import RdfliveError
from rdflive.model import Delta
from rdflive.sinks.events.backlog import Backlog, Weights
from rdflive.sinks.events.event import ServedEvent
from rdflive.sinks.ndjson import TRIPLE, pair_text, solution_text

__all__ = ["EventLog", "EventLogReader", "Numbers", "weights_of"]

_ID: Final = re.compile(r"([0-9]{1,18})-([0-9a-f]{8})")
_RESYNC: Final = ServedEvent("resync", about='"reason": "the changes after the last event id are gone"')


class Numbers(Protocol):
    """The ids of a history, which other logs share."""

    number: int
    """The number of the last commit."""
    epoch: str
    """The name of its history."""

    def number_of(self, sequence: int, /) -> int:
        """Return the number of the last commit up to a sequence."""
        ...

    def epoch_of(self, sequence: int, /) -> str:
        """Return the name of the history of that commit."""
        ...


class EventLog:
    """Turns deltas into events that any number of readers take, each at its own pace.

    The log never waits for a reader. A reader is a place in the log; when it takes an event, all changes
    since its place are merged into one. A reader may return to any of the last `history` places; older
    changes are merged unless a reader is between them. The changes together hold at most `rows` solutions,
    or as many as the answer if it is larger; readers behind them receive the current answer.

    The id of an event is `sequence-epoch`. The epoch is a random token for the initial delta that the
    event builds on, so that ids of earlier runs are never valid. With `numbers` the ids are those of a
    history, until a second initial delta: then the answer may have changed by more than its commits.
    """

    def __init__(
        self,
        *,
        history: int = 1000,
        rows: int = 100_000,
        about: Mapping[str, Any] | None = None,
        numbers: Numbers | None = None,
    ) -> None:
        self._backlog = Backlog(history=history, rows=rows)
        self._about = dict(about or {})
        self._lock = threading.Lock()
        self._answer: Counter[str] = Counter()
        self._rows = 0
        self._header = ""
        self._key: tuple[str, ...] = ()
        self.form = ""
        """The form of the query; empty before the initial delta."""
        self.names: tuple[str, ...] = ()
        """The variables of its solutions; the parts of a triple for CONSTRUCT."""
        self._epoch = ""
        self._numbers = numbers
        self._readers: set[EventLogReader] = set()
        self._merged: dict[int, ServedEvent | None] = {}
        self._full: ServedEvent | None = None
        self._end: ServedEvent | None = None
        self._listeners: list[Callable[[], object]] = []

    @property
    def id(self) -> str:
        """The id of the last event; empty before the initial one."""
        return f"{self.sequence}-{self._epoch}" if self._epoch else ""

    @property
    def epoch(self) -> str:
        """The token in the ids of events; empty before the initial delta."""
        return self._epoch

    @property
    def sequence(self) -> int:
        """The number of the last commit in the log."""
        return self._backlog.last

    @property
    def has_ended(self) -> bool:
        """True after `end`."""
        return self._end is not None

    def __len__(self) -> int:
        """Return the number of solutions of the current answer, with duplicates."""
        return self._rows

    def listen(self, listener: Callable[[], object]) -> None:
        """Call a function in the writing thread after each change."""
        self._listeners.append(listener)

    def publish(self, delta: Delta) -> None:
        """Add a delta; raise `RdfliveError` for a delta before the initial one."""
        if not delta.initial and not self._epoch:
            raise RdfliveError(
                "late clients receive the current answer, so the sink needs the initial delta: "
                "subscribe without initial=False and without resume"
            )
        net = weights_of(delta)
        # the JSON is built outside the lock, which readers take in the event loop
        with self._lock:
            if delta.initial:
                self._begin(delta)
            self._take(net)
            if self._numbers is not None and self._numbers.epoch_of(delta.sequence) != self._epoch:
                self._epoch = self._numbers.epoch_of(delta.sequence)
                self._backlog.begin(self._place(delta.sequence))
            elif not delta.initial:
                self._backlog.append(self._place(delta.first_sequence), self._place(delta.sequence), net)
                self._trim()
            # the cached events lead to the place before
            self._merged.clear()
            self._full = None
        self._notify()

    def renumber(self) -> None:
        """Give the present answer an id of another history, after all its deltas; readers get `resync`."""
        with self._lock:
            if self._numbers is None or not self._epoch or self._epoch == self._numbers.epoch:
                return
            self._epoch = self._numbers.epoch
            self._backlog.begin(self._numbers.number)
            self._merged.clear()
            self._full = None
        self._notify()

    def _trim(self) -> None:
        if self._backlog.exceeds(len(self._answer)):
            places = {reader.place for reader in self._readers if self._can_go_on(reader)}
            self._backlog.trim(places, len(self._answer))

    def _place(self, sequence: int) -> int:
        return sequence if self._numbers is None else self._numbers.number_of(sequence)

    @property
    def shares_ids(self) -> bool:
        """True if the ids of the events are those of a history."""
        return self._numbers is not None and bool(self._epoch)

    @property
    def oldest(self) -> int:
        """The oldest place from which a reader can go on."""
        return self._backlog.oldest

    def prepend(self, place: int, until: int, epoch: str, changes: Iterable[tuple[int, Weights]]) -> None:
        """Put the commits after a place in front, up to `until`, so that readers can come back to them.

        They are ignored if `until` is no longer the oldest place, or `epoch` no longer the log's.
        """
        with self._lock:
            if self.shares_ids and (until, epoch) == (self._backlog.oldest, self._epoch):
                self._backlog.prepend(place, changes)
                self._merged.clear()

    def join(self, last: str | None = None, *, reached: int = 0) -> EventLogReader:
        """Add a reader that has seen the event `last`; `reached` is the last commit that may have an id.

        It starts with the changes that it missed; without `last` with the current answer; and with `resync`
        and the current answer if the changes after `last` are gone.
        """
        reader = EventLogReader(self)
        with self._lock:
            match = _ID.fullmatch(last or "")
            place = -1 if match is None or match[2] != self._epoch else int(match[1])
            if place in self._backlog and place <= max(self.sequence, reached):
                reader.place, reader.epoch = place, self._epoch
            elif last:
                # it has an answer that cannot be continued: `resync` comes first
                reader.place = -1
            self._readers.add(reader)
        return reader

    def leave(self, reader: EventLogReader) -> None:
        """Remove a reader, and end it."""
        with self._lock:
            self._readers.discard(reader)
            reader.is_over = True

    def end(self, members: Mapping[str, Any] | None = None) -> None:
        """End every reader after its pending event; `members` give the reason in an `end` event."""
        with self._lock:
            if self._end is None:
                self._end = ServedEvent("end", about=json.dumps(dict(members))[1:-1] if members else "")
        self._notify()

    def next_for(self, reader: EventLogReader) -> ServedEvent | None:
        """Return the event that a reader has not seen, and move the reader; None without one."""
        with self._lock:
            return self._next(reader)

    def _next(self, reader: EventLogReader) -> ServedEvent | None:
        if reader.is_over:
            return None
        event: ServedEvent | None = None
        if self._epoch:
            if self._can_go_on(reader):
                event = self._merge(reader.place)
            elif reader.epoch or reader.place < 0:  # it has an answer, to be replaced
                reader.epoch, reader.place = "", 0
                return _RESYNC
            else:
                event = self._initial()
            # a reader may be at a later commit, which did not change the answer
            seen = reader.place if reader.epoch == self._epoch else 0
            reader.place, reader.epoch = max(seen, self.sequence), self._epoch
        if event is None and self._end is not None:
            reader.is_over = True
            # without a reason the stream ends without an event, so that the client connects again
            return self._end if self._end.about else None
        return event

    def _can_go_on(self, reader: EventLogReader) -> bool:
        """Return True if the log keeps the changes after a reader's place."""
        return reader.epoch == self._epoch and reader.place in self._backlog

    def _merge(self, place: int) -> ServedEvent | None:
        """Merge the changes after a place into one event; None if they cancel out."""
        if place not in self._merged:
            found = self._backlog.behind(place)
            event = self._event("update", found[1].items(), found[0]) if found and found[1] else None
            self._merged[place] = event
        return self._merged[place]

    def _initial(self) -> ServedEvent:
        if self._full is None:
            self._full = self._event("initial", self._answer.items(), self.sequence)
        return self._full

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
        if self._epoch:
            self._numbers = None
        numbers = self._numbers
        self._epoch = secrets.token_hex(4) if numbers is None else numbers.epoch_of(delta.sequence)
        self._backlog.begin(self._place(delta.sequence))
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
                # two terms may have one text, as "a" and "a"^^xsd:string: exchanging them is no change
                del net[text]
                continue
            self._rows += weight
            answer[text] += weight
            if not answer[text]:
                del answer[text]

    def _notify(self) -> None:
        for listener in self._listeners:
            listener()


def weights_of(delta: Delta) -> Weights:
    """Return the net weights of a delta's solutions as JSON."""
    net: Weights = {}
    native = delta.native.unpaired
    for sign, solutions in ((1, native.added), (-1, native.removed)):
        for text in map(solution_text, solutions):
            net[text] = net.get(text, 0) + sign
    return net


class EventLogReader:
    """One reader of a log."""

    __slots__ = ("_log", "epoch", "is_over", "place")

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self.place = 0
        """The sequence of the last event that it took; -1 if that event is not in the log."""
        self.epoch = ""
        """The epoch of the same event; empty for a reader without an answer."""
        self.is_over = False
        """True after the last event."""

    @property
    def id(self) -> str:
        """The id of the last event that it took, to resume there."""
        return f"{self.place}-{self.epoch}" if self.epoch else ""

    @property
    def is_behind(self) -> bool:
        """True after a later commit, even if its changes cancelled out."""
        log = self._log
        return self.epoch != log.epoch or (bool(self.epoch) and self.place < log.sequence)

    def take_now(self) -> ServedEvent | None:
        """Take the pending event; None without one."""
        return self._log.next_for(self)


def _paired(key: tuple[str, ...], added: list[str], removed: list[str]) -> tuple[str, ...]:
    """Move removed and added solutions that are alone with their key out of the lists; return the pairs."""
    if not added or not removed:  # as in a full answer, which may be long
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
