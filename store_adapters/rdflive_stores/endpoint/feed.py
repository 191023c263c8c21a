"""A SPARQL endpoint as a feed: it is polled for the needed triples, or followed through its change log."""

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
from rdflive.http import HttpFault, RetryPace, media_type, without_query
from rdflive.model import Batch, Change, Quad
from rdflive_stores.endpoint.blank_nodes import TooSymmetric, relabel
from rdflive_stores.endpoint.events import EndpointEvents
from rdflive_stores.endpoint.pages import Pages
from rdflive_stores.endpoint.patches import PATCH_TYPES, PatchLog
from rdflive_stores.endpoint.queries import Needed, matches
from rdflive_stores.endpoint.requests import EndpointError, FeedClosed, Requests, check_url

__all__ = ["EndpointFeed"]

_POLLED: Final = "polled"
"""The constant cursor of a polled feed, which compares with the graph itself."""
_PATTERNS: Final = "patterns"


class _Log(Protocol):
    @property
    def seen_until(self) -> float | None: ...
    def position(self) -> str: ...
    def behind(self, cursor: str) -> Iterator[Entry]: ...
    def follow(self, cursor: str, every: float | None) -> Iterator[Entry | None]: ...


_KINDS: Final[dict[str, Callable[[Requests, str], _Log]]] = {"patch": PatchLog, "event": EndpointEvents}


class EndpointFeed:
    """Mirrors the triples of a SPARQL endpoint that match the patterns; removes others from the graph.

    `patterns` selects the triples; by default, the feed takes the patterns of the subscriptions on the
    mirrored graph, again at each poll.

    `every` is the number of seconds between polls; None polls once. `page` is the number of rows per request;
    a larger state is read in several requests, and twice. `headers` and `auth` (user and password) are sent
    with each request to the endpoint and to its log. `timeout` is the maximum silence of a server, `tries`
    the number of attempts at a request, and `backoff` the first wait between attempts; times are in seconds.

    Blank nodes have new labels in each answer, and are matched with those of the graph by their surroundings.
    With `stable_labels`, the endpoint gives a node the same label in every answer, and in its log.

    `log` is the URL of a change log to follow instead of polling: a growing RDF Patch document, or
    server-sent events. It requires stable labels for blank nodes. Only changes that match the patterns are
    applied. When subscriptions need further patterns, the feed requests a new snapshot.
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
        self._name = without_query(url)
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
        """Yield the changes of each poll or of the log; raises `EndpointError` and `ResyncNeeded`."""
        source = self._polled(target) if self._log_url is None else self._followed(cursor, kept, target)
        try:
            for sequence, entry in enumerate(source, start=1):
                yield replace(entry, batch=Batch(entry.batch.changes, sequence))
        # `close` ends the feed without an error
        except FeedClosed:
            return

    def snapshot(self, target: Target) -> Snapshot | None:
        """Return the full state and, with a log, the cursor after it.

        The log's position is read first, then the state, then the log after that position. The last logged
        change of a quad decides whether the quad is in the result, even if the state already includes the
        change. So the result is the state at the end of the log.
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
            # an HttpFault, so that the whole snapshot is repeated
            raise HttpFault(f"the log started again while the state was read ({renewed})") from renewed
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
        # one for all polls: it keeps the last state for conditional requests
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
            raise ResyncNeeded(self._name, "the log has not been read yet")
        needed = self._needed(target)
        if kept.get(_PATTERNS) != str(needed):
            raise ResyncNeeded(self._name, "the needed patterns differ from the mirrored ones")
        self._log = log = _KINDS[kind](self._requests, self._log_url)
        for entry in log.follow(place, self._every):
            # fewer patterns are harmless; more patterns need a snapshot
            if self._patterns is None and not needed.covers(Needed.of(target.patterns())):
                raise ResyncNeeded(self._name, "more patterns are needed than those mirrored")
            if entry is not None:
                yield replace(self._matching(entry, needed), cursor=f"{kind} {entry.cursor}")

    def _needed(self, target: Target) -> Needed:
        needed = self._patterns or Needed.of(target.patterns())
        if not needed.patterns:
            raise EndpointError(
                f"{self._name}: no triples are needed from it; subscribe to the graph before mirroring, "
                "or give queries="
            )
        return needed

    def _pages(self) -> Pages:
        return Pages(self._requests, self.source, self._page, stable_labels=self._stable_labels)

    def _state(self, pages: Pages, needed: Needed, target: Target) -> list[Quad] | None:
        """Return the matching quads in the target's spelling and labels; None if unchanged."""
        # the subscriptions are closed now, so their mirrored quads are removed
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
                f"{self._name}: its blank nodes are too similar to match; configure it to skolemise them, "
                "or set stable_labels=True if it gives a node the same label in every answer"
            ) from error

    def _matching(self, entry: Entry, needed: Needed) -> Entry:
        """Remove the quads that no pattern matches."""
        changes = tuple(
            change
            for change in entry.batch.changes
            if any(matches(pattern, change.quad) for pattern in needed.patterns)
        )
        # only the needed quads: others in the log may have blank nodes
        self._refuse_blank_nodes(change.quad for change in changes)
        return replace(entry, batch=Batch(changes))

    def _refuse_blank_nodes(self, quads: Iterable[Quad]) -> None:
        if not self._stable_labels and any(isinstance(term, BNode) for quad in quads for term in quad):
            raise EndpointError(
                f"{self._name}: it has blank nodes, whose labels in log and answers may differ; set "
                "stable_labels=True if they are the same; otherwise skolemise them, or poll without log="
            )

    def _open_log(self) -> tuple[str, _Log]:
        """Detect the kind of the log and open it."""
        url = self._log_url or ""

        def once() -> str:
            accept = {"Accept": f"{EVENT_STREAM}, {PATCH_TYPES}"}
            with self._requests.stream(url, accept, (200,)) as response:
                return "event" if media_type(response.headers) == EVENT_STREAM else "patch"

        kind = self._requests.attempt(url, once)
        return kind, _KINDS[kind](self._requests, url)


def _difference(state: Iterable[Quad], target: Target) -> tuple[Change, ...]:
    """Return the changes from the target to the state, removals first."""
    wanted = dict.fromkeys(state)
    held = dict.fromkeys(target.quads())
    removed = (Change(-1, quad) for quad in held if quad not in wanted)
    return (*removed, *(Change(1, quad) for quad in wanted if quad not in held))
