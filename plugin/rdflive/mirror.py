"""A graph that follows a feed: every entry one commit, the feed's cursor in it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, BinaryIO, Final, Literal, TypeAlias

from rdflive import manager
from rdflive.errors import FeedError, RdfliveError, ResyncNeeded, UnsupportedStoreError
from rdflive.feeds import (
    NAMED_GRAPHS,
    STDIN,
    Entry,
    Feed,
    FeedFormat,
    Frame,
    Line,
    Snapshot,
    feed_format,
    feed_format_of,
    open_lines,
    read_nquads,
)
from rdflive.feeds.dead_letters import DeadLetters
from rdflive.feeds.files import FileFeed
from rdflive.interrupts import interrupt_later
from rdflive.model import Change, Quad
from rdflive.query.bgp import Variable
from rdflive.query.parse import parse_query
from rdflive.query.plan import make_plan
from rdflive.target import GraphTarget, to_quad

__all__ = ["Mirrored", "endpoint", "mirror"]

Source: TypeAlias = "str | os.PathLike[str] | BinaryIO | Feed"
SnapshotSource: TypeAlias = "str | os.PathLike[str] | Callable[[], Iterable[Quad]]"

_CURSOR: Final = "cursor"
_OWN: Final = "feed "
"""In front of the keys that a feed chose itself, so that none of them is `cursor`."""
_NQUADS: Final = re.compile(r"\.(nt|nq|ntriples|nquads)(\.gz)?$", re.IGNORECASE)
_PATIENCE: Final = 3
"""Snapshots without an entry in between, until a feed that asks for another is given up."""
_running: Final[set[tuple[int, str]]] = set()
"""The mirrors at work, by store and name."""


@dataclass(frozen=True, slots=True)
class Mirrored:
    """What a mirror has done when its feed ends."""

    entries: int = 0
    """Entries of the feed that were applied, each as one commit."""
    changes: int = 0
    """Changes in them, as the feed says them; what its SPARQL updates did is not counted."""
    skipped: int = 0
    """Bad records that went to the dead letters."""
    resyncs: int = 0
    """Snapshots that replaced what the graph held."""
    cursor: str | None = None
    """Where the feed goes on the next time; None where nothing was ever read."""


def mirror(
    graph: Any,
    source: Source,
    format: str | FeedFormat | None = None,  # noqa: A002 - rdflib's name
    cursor: str | None = None,
    *,
    name: str | None = None,
    snapshot: SnapshotSource | None = None,
    on_bad: Literal["stop", "skip"] = "stop",
    dead_letters: str | os.PathLike[str] | None = None,
    follow: float | None = None,
    on_entry: Callable[[Entry], object] | None = None,
    on_resync: Callable[[Snapshot], object] | None = None,
) -> Mirrored:
    """Apply a feed to a graph until the feed ends, each of its entries as one commit.

    `graph` is an `rdflib.Graph` (its own triples), a `Dataset`, or a `LiveStore`. `source` is the path of
    a feed (`.gz` too, `-` is standard input), an open binary file, or a `Feed` such as that of
    `rdflive.endpoint`; `format` names its format, or is one, where the file's ending does not say it.

    The feed's cursor is kept with the data, in the same atomic step, under `name`: by default the name
    of the feed; an open file and standard input have none. The next call goes on behind it. A `cursor`
    given here goes before the kept one, and "" is the beginning of the feed. Where there is no cursor
    yet, or the feed cannot go on from it, what the graph holds is replaced by the `snapshot` in one
    commit, and the feed is read from its beginning: the path of an N-Quads file, or a function that gives
    quads, the state in front of the feed.

    The first bad record raises `FeedError`; the entries in front of it stay applied. With
    `on_bad="skip"` the unit it is in (a transaction, a line) is appended to the file `dead_letters`.
    `follow` goes on at the end of a file, which is looked at for more every so many seconds; the call ends
    with an exception, such as that of Ctrl-C, which waits for the commit that is under way. `on_entry` is
    called after each commit, `on_resync` after one that replaced all. Also raises `ResyncNeeded`, and
    `UnsupportedStoreError`.

    >>> import io, rdflib
    >>> graph = rdflib.Graph()
    >>> mirror(graph, io.BytesIO(b"+ <urn:s> <urn:p> <urn:o> ."), "nquads").changes, len(graph)
    (1, 1)
    """
    letters = _dead_letters(on_bad, dead_letters, source)
    feed = _open(source, format, follow)
    if name is None and not (isinstance(feed, FileFeed) and feed.is_stream):
        name = feed.source
    return _Mirror(GraphTarget(graph), feed, name, snapshot, letters, on_entry, on_resync).run(cursor)


def endpoint(
    url: str,
    *,
    queries: Iterable[str] | None = None,
    initNs: Mapping[str, Any] | None = None,  # noqa: N803 - rdflib's name
    **options: Any,
) -> Feed:
    """Make a SPARQL endpoint a feed for `mirror`: it is polled, or the change log beside it followed.

    Only what matches the triple patterns of `queries` is fetched; without them, of the subscriptions that
    are open on the mirrored graph at each poll. `options` are those of the plugin that knows the URL; see
    docs/endpoints.md for the built-in ones. Nothing is asked of the endpoint yet.
    """
    if queries is not None:
        if isinstance(queries, str):
            raise TypeError("queries is a list of SPARQL texts, got one string")
        options["patterns"] = [pattern for query in queries for pattern in _patterns(query, initNs)]
    feed: Feed | None = manager.plugin_manager().hook.rdflive_endpoint(url=url, options=options)
    if feed is None:
        raise RdfliveError(
            f"no plugin makes a feed of {url!r}; expected the http(s) URL of a SPARQL endpoint"
        )
    return feed


def _patterns(query: str, prefixes: Mapping[str, Any] | None) -> Iterator[Quad]:
    """List the triple patterns of a query as a feed names them."""
    plan = make_plan(parse_query(query, init_ns=prefixes or {}, init_bindings=None))
    for basic in plan.basics:
        graph = NAMED_GRAPHS if isinstance(basic.graph, Variable) else basic.graph
        for segment in basic.segments:
            for pattern in segment.patterns:
                yield to_quad(pattern, graph)


@dataclass(slots=True)
class _Mirror:
    """One run of a mirror; without a name it keeps nothing."""

    target: GraphTarget
    feed: Feed
    name: str | None
    snapshot: SnapshotSource | None
    letters: DeadLetters | None
    on_entry: Callable[[Entry], object] | None
    on_resync: Callable[[Snapshot], object] | None
    done: Mirrored = Mirrored()
    refused: Frame = ()
    """What the store refused last: it may come again where a cursor cannot point behind it."""

    def run(self, cursor: str | None) -> Mirrored:
        """Follow the feed to its end, starting anew from a snapshot where it asks for one."""
        with self._alone():
            if cursor is None and self.name is not None:
                cursor = self.target.kept(self.name).get(_CURSOR)
            self.done = replace(self.done, cursor=cursor)
            if cursor is None and self.snapshot is not None:
                self._resync(_read_snapshot(self.snapshot))
            barren = 0
            while True:
                entries = self.done.entries
                need = self._follow()
                if need is None:
                    return self.done
                barren = 0 if self.done.entries > entries else barren + 1
                snapshot = self._snapshot()
                if snapshot is None or barren == _PATIENCE:
                    raise need
                self._resync(snapshot)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Refuse a second mirror of the name: each would move the other's cursor."""
        if self.name is None:
            yield
            return
        key = self.target.identity, self.name
        if key in _running:
            raise RdfliveError(
                f"a mirror named {self.name!r} is at work on this store; give this one another name"
            )
        _running.add(key)
        try:
            yield
        finally:
            _running.discard(key)

    def _follow(self) -> ResyncNeeded | None:
        """Apply what comes, to the end of the feed or to where it needs a resync."""
        entries = self.feed.entries(self.done.cursor, self._own(), self.target)
        try:
            while True:
                try:
                    entry = next(entries)
                except StopIteration:
                    return None
                except ResyncNeeded as need:
                    return need
                if self._apply(entry):
                    return self._follow()
        finally:
            close = getattr(entries, "close", None)  # a generator may hold a file or a connection
            if close is not None:
                close()

    def _apply(self, entry: Entry) -> bool:
        """Apply an entry or skip it; true where its feed must be taken up again from what is kept.

        So it is when the store refuses what the decoder has taken for done.
        """
        error, anew = entry.error, False
        if error is None:
            try:
                self._write(entry)
            except Exception as cause:
                if not _is_refusal(cause, entry):
                    raise
                error = self._refusal(entry, cause)
                anew = bool(entry.kept) and entry.frame != self.refused
                if anew and isinstance(self.feed, FileFeed) and self.feed.is_stream:
                    raise error from cause
                self.refused = entry.frame
        if error is not None:
            self._skip(entry, error)
        if self.on_entry is not None:
            self.on_entry(entry)
        return anew

    def _write(self, entry: Entry) -> None:
        keep = {_OWN + key: text for key, text in entry.kept.items()}
        with interrupt_later():
            self._keep(entry.batch.changes, entry.updates, {**keep, _CURSOR: entry.cursor})
        done = self.done
        changes = done.changes + len(entry.batch.changes)
        self.done = replace(done, entries=done.entries + 1, changes=changes, cursor=entry.cursor)

    def _skip(self, entry: Entry, error: FeedError) -> None:
        """Put a bad record aside and move the cursor over it; raise where that is not wanted."""
        if self.letters is None:
            raise error
        self.letters(error, entry.frame)
        self._keep((), (), {_CURSOR: entry.cursor})
        self.done = replace(self.done, skipped=self.done.skipped + 1, cursor=entry.cursor)

    def _keep(
        self, changes: Iterable[Change], updates: tuple[str, ...], keep: Mapping[str, str | None]
    ) -> None:
        self.target.write(changes, updates, self.name or "", keep if self.name is not None else {})

    def _refusal(self, entry: Entry, cause: Exception) -> FeedError:
        line = entry.frame[0] if entry.frame else Line("", 0)
        text = " ".join(str(cause).split())
        reason = f"the store refuses entry {entry.batch.sequence}: {text}"
        error = FeedError(self.feed.source, line.number, reason, offset=line.start)
        error.__cause__ = cause
        return error

    def _snapshot(self) -> Snapshot | None:
        if self.snapshot is not None:
            return _read_snapshot(self.snapshot)
        return self.feed.snapshot(self.target)

    def _resync(self, snapshot: Snapshot) -> None:
        """Replace what the graph holds in one commit."""
        old = {} if self.name is None else self.target.kept(self.name)
        new = {_OWN + key: text for key, text in snapshot.kept.items()}
        keep = {**dict.fromkeys(old), **new, _CURSOR: snapshot.cursor}
        with interrupt_later():
            self.target.replace(snapshot.quads, self.name or "", keep if self.name is not None else {})
        self.done = replace(self.done, resyncs=self.done.resyncs + 1, cursor=snapshot.cursor)
        if self.on_resync is not None:
            self.on_resync(snapshot)

    def _own(self) -> dict[str, str]:
        """Give what the feed itself has kept."""
        kept = {} if self.name is None else self.target.kept(self.name)
        return {key.removeprefix(_OWN): text for key, text in kept.items() if key.startswith(_OWN)}


def _is_refusal(cause: Exception, entry: Entry) -> bool:
    """Tell what a store says of an entry from what has happened to the store."""
    if isinstance(cause, OSError | UnsupportedStoreError):
        return False
    if isinstance(cause, ValueError | SyntaxError | RdfliveError | RecursionError):
        return True
    # rdflib's engine raises what it likes for an update
    return bool(entry.updates) and not isinstance(cause, RuntimeError | MemoryError)


def _open(source: Source, form: str | FeedFormat | None, follow: float | None) -> Feed:
    if isinstance(source, Feed):
        if form is not None or follow is not None:
            raise ValueError(f"format and follow are for files: the feed {source.source} knows by itself")
        return source
    if not isinstance(source, str | os.PathLike) and not hasattr(source, "read"):
        raise TypeError(f"a feed is a path, an open binary file or a Feed, got {source!r}")
    if form is None:
        path = os.fspath(source) if isinstance(source, str | os.PathLike) else None
        if path is None or path == STDIN:
            raise ValueError("a feed without a file name needs a format, such as format='rdf-patch'")
        form = feed_format_of(path)
    return FileFeed(source, feed_format(form) if isinstance(form, str) else form, follow=follow)


def _dead_letters(on_bad: str, path: str | os.PathLike[str] | None, source: Source) -> DeadLetters | None:
    if on_bad not in ("stop", "skip"):
        raise ValueError(f"on_bad must be 'stop' or 'skip', got {on_bad!r}")
    if (on_bad == "skip") is (path is None):
        raise ValueError("on_bad='skip' and dead_letters=PATH go together: nothing is thrown away")
    if path is None:
        return None
    if isinstance(source, str | os.PathLike) and os.path.realpath(source) == os.path.realpath(path):
        raise ValueError(f"dead_letters={os.fspath(path)!r} is the feed itself; give another file")
    return DeadLetters(path)


def _read_snapshot(source: SnapshotSource) -> Snapshot:
    """Read quads; the feed is read from its beginning behind them."""
    if callable(source):
        try:
            return Snapshot(tuple(Quad(*quad) for quad in source()), "")
        except TypeError as error:
            raise TypeError(f"the snapshot function must give quads: {error}") from error
    if not _NQUADS.search(os.fspath(source)):
        raise ValueError(
            f"{os.fspath(source)}: a snapshot is a file of N-Triples or N-Quads (.nt, .nq, also .gz), or a "
            "function that gives quads"
        )
    with open_lines(os.fspath(source)) as lines:
        return Snapshot(tuple(read_nquads(lines, os.fspath(source))), "")
