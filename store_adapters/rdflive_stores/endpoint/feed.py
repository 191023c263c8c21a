"""A SPARQL endpoint as a feed: polled for the triples that are needed, or followed through its change log."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, Protocol

from rdflib.term import BNode

from rdflive.errors import ResyncNeeded
from rdflive.feeds import Entry, Snapshot, Target
from rdflive.feeds.event_stream import EVENT_STREAM
from rdflive.feeds.feed import is_number
from rdflive.http import HttpFault, RetryPace, media_type
from rdflive.model import Batch, Change, Quad
from rdflive_stores.endpoint.blank_nodes import TooSymmetric, relabel
from rdflive_stores.endpoint.events import EndpointEvents
from rdflive_stores.endpoint.pages import Pages
from rdflive_stores.endpoint.patches import PATCH_TYPES, PatchLog
from rdflive_stores.endpoint.queries import Needed, matches
from rdflive_stores.endpoint.requests import EndpointError, FeedClosed, Requests, check_url

__all__ = ["EndpointFeed"]

_POLLED: Final = "polled"
"""The cursor of a polled feed: it needs none, as it compares with the graph itself."""
_PATTERNS: Final = "patterns"


class _Log(Protocol):
    @property
    def seen_until(self) -> float | None: ...
    def position(self) -> str: ...
    def behind(self, cursor: str) -> Iterator[Entry]: ...
    def follow(self, cursor: str, every: float | None) -> Iterator[Entry | None]: ...


_KINDS: Final[dict[str, Callable[[Requests, str], _Log]]] = {"patch": PatchLog, "event": EndpointEvents}


class EndpointFeed:
    """Mirrors what a SPARQL endpoint holds, as far as it matches the patterns.

    `patterns` are what is fetched; without them it is what the subscriptions on the mirrored graph need,
    asked anew at each poll. What the graph holds beyond is removed: it is a mirror.

    `every` is the number of seconds between polls, None polls once. `page` is the number of rows in a
    request; larger states are read in several, and twice. `headers` and `auth` (user and password) go with
    each request to the endpoint and to its log. `timeout` is how long a server may be silent, `tries` how
    often a request is made until an error comes of it, `backoff` the first wait between them, all in
    seconds.

    Blank nodes have new labels in each answer, and are matched with those here by what surrounds them.
    `stable_labels` says that the endpoint gives a node the same label in every answer, and in its log.

    `log` is the URL of a change log, which is followed instead: RDF Patch in a document that grows, or
    server-sent events. Then blank nodes need stable labels, and only changes that match the patterns are
    taken; when subscriptions come to need more, a new snapshot is.
    """

    def __init__(
        self,
        url: str,
        *,
        patterns: Iterable[Quad] | None = None,
        every: float | None = 5.0,
        page: int = 10_000,
        log: str | None = None,
        headers: Mapping[str, str] | None = None,
        auth: tuple[str, str] | None = None,
        timeout: float = 30.0,
        tries: int = 6,
        backoff: float = 0.5,
        stable_labels: bool = False,
    ) -> None:
        longest, seconds = threading.TIMEOUT_MAX, "a number of seconds"
        for name, given, accepted, fits in (
            ("page", page, "a whole number from 1", isinstance(page, int) and page >= 1),
            ("tries", tries, "a whole number from 1", isinstance(tries, int) and tries >= 1),
            ("backoff", backoff, f"{seconds} from 0", is_number(backoff) and 0 <= backoff <= longest),
            ("timeout", timeout, f"{seconds} above 0", is_number(timeout) and 0 < timeout <= longest),
            (
                "every", every, f"{seconds} from 0, or None",
                every is None or (is_number(every) and 0 <= every <= longest),
            ),
        ):  # fmt: skip
            if not fits:
                kind = ValueError if isinstance(given, int | float) else TypeError
                raise kind(f"{name} must be {accepted}, got {given!r}")
        self.source = check_url(url, "endpoint")
        self._log_url = log if log is None else check_url(log, "log")
        self._patterns = None if patterns is None else Needed.of(patterns)
        self._every = every
        self._page = page
        self._stable_labels = stable_labels
        pace = RetryPace(silence=timeout, first=backoff, longest=60.0)
        self._requests = Requests(headers or {}, auth, pace, tries)
        self._log: _Log | None = None
        self._polled_at: float | None = None

    @property
    def seen_until(self) -> float | None:
        """See `rdflive.feeds.Feed`."""
        return self._polled_at if self._log is None else self._log.seen_until

    def close(self) -> None:
        """End `entries` at once, from any thread."""
        self._requests.close()

    def entries(self, cursor: str | None, kept: Mapping[str, str], target: Target) -> Iterator[Entry]:
        """Give what has changed, as often as it is looked for; raises `EndpointError` and `ResyncNeeded`."""
        source = self._polled(target) if self._log_url is None else self._followed(cursor, kept, target)
        try:
            for sequence, entry in enumerate(source, start=1):
                yield replace(entry, batch=Batch(entry.batch.changes, sequence))
        # `close` ends the feed, and is no error
        except FeedClosed:
            return

    def snapshot(self, target: Target) -> Snapshot | None:
        """Read the whole state, and of a log the place behind it.

        The log's position comes first, then the state, then what the log holds behind the position. The
        last change of a quad in there decides whether it is in the result, whether the state has seen
        that change or not; so the result is the state at the end of the log.
        """
        needed = self._needed(target)
        if self._log_url is None:
            return Snapshot(tuple(self._state(self._pages(), needed, target) or ()), _POLLED)
        return self._requests.attempt(self._log_url, lambda: self._behind_log(needed, target))

    def _behind_log(self, needed: Needed, target: Target) -> Snapshot:
        kind, log = self._open_log()
        cursor = log.position()
        quads = dict.fromkeys(self._state(self._pages(), needed, target) or ())
        try:
            entries = list(log.behind(cursor))
        except ResyncNeeded as renewed:
            # a Fault, so that the whole snapshot is tried again
            raise HttpFault(f"the log began anew while the state was read ({renewed})") from renewed
        for entry in entries:
            if entry.error is not None:
                raise entry.error
            for sign, quad in self._matching(entry, needed).batch.changes:
                quads[quad] = None
                if sign < 0:
                    del quads[quad]
            cursor = entry.cursor
        return Snapshot(tuple(quads), f"{kind} {cursor}", {_PATTERNS: str(needed)})

    def _polled(self, target: Target) -> Iterator[Entry]:
        # one for all polls: it knows what it read last, and asks whether that has changed
        pages = self._pages()
        needed = self._needed(target)
        while True:
            look = time.monotonic()
            state = self._state(pages, needed, target)
            changes = () if state is None else _difference(state, target)
            if changes:
                yield Entry(Batch(changes), _POLLED)
            self._polled_at = look
            if self._every is None:
                return
            self._requests.wait(self._every)
            if self._patterns is None:
                needed = Needed.of(target.patterns())

    def _followed(self, cursor: str | None, kept: Mapping[str, str], target: Target) -> Iterator[Entry]:
        kind, _, place = (cursor or "").partition(" ")
        if kind not in _KINDS or self._log_url is None:
            raise ResyncNeeded(self.source, "nothing of the log has been read yet")
        needed = self._needed(target)
        if kept.get(_PATTERNS) != str(needed):
            raise ResyncNeeded(self.source, "other patterns are needed than were mirrored")
        self._log = log = _KINDS[kind](self._requests, self._log_url)
        for entry in log.follow(place, self._every):
            # to need less than was mirrored does no harm; to need more takes a snapshot
            if self._patterns is None and not needed.covers(Needed.of(target.patterns())):
                raise ResyncNeeded(self.source, "more patterns are needed than were mirrored")
            if entry is not None:
                yield replace(self._matching(entry, needed), cursor=f"{kind} {entry.cursor}")

    def _needed(self, target: Target) -> Needed:
        needed = self._patterns or Needed.of(target.patterns())
        if not needed.patterns:
            raise EndpointError(
                f"{self.source}: nothing is needed from it; subscribe to the graph before you mirror, "
                "or give queries="
            )
        return needed

    def _pages(self) -> Pages:
        return Pages(self._requests, self.source, self._page, stable_labels=self._stable_labels)

    def _state(self, pages: Pages, needed: Needed, target: Target) -> list[Quad] | None:
        """Read what matches, in the spellings and labels of the target; None where nothing has changed."""
        # the subscriptions are closed by now, and what was mirrored for them goes
        if not needed.patterns:
            return []
        quads = pages.read(needed)
        if quads is None:
            return None
        if self._log_url is not None:
            self._refuse_blank_nodes(quads)
        spelled = target.spelled(quads)
        if self._stable_labels:
            return spelled
        try:
            return relabel(spelled, target.quads())
        except TooSymmetric as error:
            raise EndpointError(
                f"{self.source}: its blank nodes look too much alike to tell which is which; have it "
                "skolemise them, or say stable_labels=True if it gives a node the same label in every answer"
            ) from error

    def _matching(self, entry: Entry, needed: Needed) -> Entry:
        """Leave out quads that no pattern needs."""
        changes = tuple(
            change
            for change in entry.batch.changes
            if any(matches(pattern, change.quad) for pattern in needed.patterns)
        )
        # only where they are needed: other quads of the log may well have blank nodes
        self._refuse_blank_nodes(change.quad for change in changes)
        return replace(entry, batch=Batch(changes))

    def _refuse_blank_nodes(self, quads: Iterable[Quad]) -> None:
        if not self._stable_labels and any(isinstance(term, BNode) for quad in quads for term in quad):
            raise EndpointError(
                f"{self.source}: it has blank nodes, and nothing says that log and answers name them alike; "
                "say stable_labels=True if they do; else skolemise them, or poll without log="
            )

    def _open_log(self) -> tuple[str, _Log]:
        """Look what kind of log there is."""
        url = self._log_url or ""

        def once() -> str:
            accept = {"Accept": f"{EVENT_STREAM}, {PATCH_TYPES}"}
            with self._requests.stream(url, accept, (200,)) as response:
                return "event" if media_type(response.headers) == EVENT_STREAM else "patch"

        kind = self._requests.attempt(url, once)
        return kind, _KINDS[kind](self._requests, url)


def _difference(state: Iterable[Quad], target: Target) -> tuple[Change, ...]:
    """Give the changes that make the target the state, removals first."""
    wanted = dict.fromkeys(state)
    held = dict.fromkeys(target.quads())
    removed = (Change(-1, quad) for quad in held if quad not in wanted)
    return (*removed, *(Change(1, quad) for quad in wanted if quad not in held))
