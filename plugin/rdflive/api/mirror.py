"""`rdflive.mirror`: a graph that follows a feed, with one commit per entry."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any, BinaryIO, Final, Literal, TypeAlias, Unpack, overload

from rdflive.api.background import BackgroundMirror
from rdflive.api.guard import guard as open_guard
from rdflive.api.mirror_run import Mirrored, MirrorRun
from rdflive.api.target import GraphTarget, to_quad
from rdflive.api.validation import Shapes
from rdflive.delivery.calling import is_async
from rdflive.errors import RdfliveError
from rdflive.feeds import (
    NAMED_GRAPHS,
    STDIN,
    EndpointOptions,
    Entry,
    Feed,
    FeedFormat,
    Snapshot,
    feed_format,
    feed_format_of,
    open_lines,
    read_nquads,
)
from rdflive.feeds.entries import DeadLetters
from rdflive.feeds.feed import is_number
from rdflive.feeds.files import FileFeed
from rdflive.feeds.lines import unreadable
from rdflive.model import Quad
from rdflive.plugins import manager
from rdflive.query.bgp import Variable
from rdflive.query.given import namespaces
from rdflive.query.parse import parse_query
from rdflive.query.plan import make_plan
from rdflive.signatures import misfit
from rdflive.store import GraphLike

__all__ = ["Mirrored", "SnapshotSource", "Source", "endpoint", "mirror", "opened"]

Source: TypeAlias = "str | os.PathLike[str] | BinaryIO | Feed"
SnapshotSource: TypeAlias = "str | os.PathLike[str] | Callable[[], Iterable[Quad]]"

_NQUADS: Final = re.compile(r"\.(nt|nq|ntriples|nquads)(\.gz)?$", re.IGNORECASE)


@overload
def mirror(
    graph: GraphLike,
    source: Source,
    format: str | FeedFormat | None = ...,
    cursor: str | None = ...,
    *,
    name: str | None = ...,
    snapshot: SnapshotSource | None = ...,
    on_bad: Literal["stop", "skip"] = ...,
    dead_letters: str | os.PathLike[str] | None = ...,
    guard: Shapes = ...,
    follow: float | None = ...,
    on_entry: Callable[[Entry], object] | None = ...,
    on_resync: Callable[[Snapshot], object] | None = ...,
    background: Literal[False] = ...,
) -> Mirrored: ...


@overload
def mirror(
    graph: GraphLike,
    source: Source,
    format: str | FeedFormat | None = ...,
    cursor: str | None = ...,
    *,
    name: str | None = ...,
    snapshot: SnapshotSource | None = ...,
    on_bad: Literal["stop", "skip"] = ...,
    dead_letters: str | os.PathLike[str] | None = ...,
    guard: Shapes = ...,
    follow: float | None = ...,
    on_entry: Callable[[Entry], object] | None = ...,
    on_resync: Callable[[Snapshot], object] | None = ...,
    background: Literal[True],
) -> BackgroundMirror: ...


def mirror(
    graph: GraphLike,
    source: Source,
    format: str | FeedFormat | None = None,  # noqa: A002 - rdflib's name
    cursor: str | None = None,
    *,
    name: str | None = None,
    snapshot: SnapshotSource | None = None,
    on_bad: Literal["stop", "skip"] = "stop",
    dead_letters: str | os.PathLike[str] | None = None,
    guard: Shapes = None,
    follow: float | None = None,
    on_entry: Callable[[Entry], object] | None = None,
    on_resync: Callable[[Snapshot], object] | None = None,
    background: bool = False,
) -> Mirrored | BackgroundMirror:
    """Apply a feed to a graph until the feed ends, each of its entries as one commit.

    `graph` is an `rdflib.Graph` (its own triples), a `Dataset`, or a `LiveStore`. `source` is the path of a
    feed (also `.gz`; `-` is standard input), an open binary file, or a `Feed` such as that of
    `rdflive.endpoint`. `format` is a format or its name, needed if the file's ending does not determine it.

    The feed's cursor is kept with the data, in the same atomic step, under `name`. The default is the name of
    the feed; an open file and standard input have none. The next call continues after the cursor. The
    argument `cursor` takes precedence over the kept one; "" is the start of the feed. If there is no cursor
    yet, or the feed cannot continue from it, the `snapshot` replaces the graph's content in one commit, and
    the feed is read from its start. `snapshot` is the state before the feed: the path of an N-Quads file, or
    a function that returns quads.

    The first bad record raises `FeedError`; the entries before it stay applied. With `on_bad="skip"` its unit
    (a transaction, a line) is appended to the file `dead_letters`. `guard` takes the shapes or the query of
    `rdflive.guard`: an entry that would add a result is a bad record then, and its results go to the dead
    letters too. An open guard on the graph has the same effect. A snapshot that would add a result raises
    `ValidationError`.

    With `follow`, a number of seconds, the mirror checks the end of the file for new entries at this
    interval, and continues in the next file when the log is rotated by renaming. The call then ends only with
    an exception, such as that of Ctrl-C, which waits for the current commit. `on_entry` is called after each
    commit, `on_resync` after a snapshot. Also raises `ResyncNeeded` and `UnsupportedStoreError`.

    With `background=True` the mirror runs in a thread, also its callbacks. The call checks the arguments and
    returns a `BackgroundMirror`. `amirror` is the form for `await`.

    >>> import io, rdflib
    >>> graph = rdflib.Graph()
    >>> mirror(graph, io.BytesIO(b"+ <urn:s> <urn:p> <urn:o> ."), "nquads").changes, len(graph)
    (1, 1)
    """
    if not isinstance(background, bool):
        raise TypeError(f"background must be True or False, got {background!r}")
    opening = opened(
        graph, source, format, cursor,
        name=name, snapshot=snapshot, on_bad=on_bad, dead_letters=dead_letters, guard=guard, follow=follow,
        on_entry=on_entry, on_resync=on_resync,
    )  # fmt: skip
    # no ExitStack: after an error its frame is in a reference cycle, which keeps the store hooked
    if not background:
        with opening as run:
            return run.run(cursor)
    run = opening.__enter__()
    try:
        return BackgroundMirror(_handed_on(run, opening), cursor)
    except BaseException:  # no thread could be started, or Ctrl-C came after its start
        with run.step:
            opening.__exit__(None, None, None)
        raise


@contextmanager
def opened(
    graph: GraphLike,
    source: Source,
    format: str | FeedFormat | None,  # noqa: A002 - rdflib's name
    cursor: str | None,
    *,
    name: str | None,
    snapshot: SnapshotSource | None,
    on_bad: str,
    dead_letters: str | os.PathLike[str] | None,
    guard: Shapes,
    follow: float | None,
    on_entry: Callable[[Entry], object] | None,
    on_resync: Callable[[Snapshot], object] | None,
) -> Iterator[MirrorRun]:
    """Check the arguments of `mirror`. Inside the block the store stays hooked and the name reserved."""
    paths = (str, os.PathLike)
    for argument, given, fits, accepted in (
        ("format", format, isinstance(format, str | FeedFormat), "the name of a format, a FeedFormat"),
        ("cursor", cursor, isinstance(cursor, str), "a cursor that mirror returned, which is text,"),
        ("name", name, isinstance(name, str), "a text"),
        (
            "snapshot", snapshot, isinstance(snapshot, paths) or _takes(snapshot),
            "the path of an N-Quads file, a function that returns quads",
        ),
        ("dead_letters", dead_letters, isinstance(dead_letters, paths), "the path of a file"),
        ("follow", follow, is_number(follow), "a number of seconds above 0"),
        ("on_entry", on_entry, _takes(on_entry, None), "a function of an Entry"),
        ("on_resync", on_resync, _takes(on_resync, None), "a function of a Snapshot"),
    ):  # fmt: skip
        if given is not None and not fits:
            raise TypeError(f"{argument} must be {accepted} or None, got {given!r}")
    for callback in (on_entry, on_resync):
        if is_async(callback):
            raise TypeError(
                f"the callback {callback!r} is a coroutine function, which mirror cannot await: give it to "
                "rdflive.amirror, or give a plain function"
            )
    feed = _open(source, format, follow)
    letters = _dead_letters(on_bad, dead_letters, source)
    # another open file or standard input may be another feed
    if name is None and not (isinstance(feed, FileFeed) and feed.is_stream):
        name = feed.source
    read = None if snapshot is None else partial(_read_snapshot, snapshot)
    # hooked for the whole run, which saves the plugins' look-up of the adapter at each entry
    with manager.hooked(manager.store_of(graph)) as adapter:
        run = MirrorRun(GraphTarget(graph, adapter), feed, name, read, letters, on_entry, on_resync)
        with run.alone(), nullcontext() if guard is None else open_guard(graph, guard):
            yield run


@contextmanager
def _handed_on(run: MirrorRun, opened: AbstractContextManager[MirrorRun]) -> Iterator[MirrorRun]:
    """Exit in this thread a context that was entered in another."""
    try:
        yield run
    finally:
        opened.__exit__(None, None, None)


def endpoint(
    url: str,
    *,
    queries: Iterable[str] | None = None,
    initNs: Mapping[str, Any] | None = None,  # noqa: N803 - rdflib's name
    **options: Unpack[EndpointOptions],
) -> Feed:
    """Return a feed for `mirror` that polls a SPARQL endpoint, or follows the change log beside it.

    It fetches only triples that match the patterns of `queries`; without `queries`, those of the open
    subscriptions on the mirrored graph at each poll. `options` are those of the plugin that handles the URL;
    the built-in ones are `rdflive.feeds.EndpointOptions`. This call sends no request. `feed.close()` ends its
    mirror at once, from any thread.
    """
    if not isinstance(url, str):
        raise TypeError(f"url must be the http or https URL of a SPARQL endpoint, got {url!r}")
    given: dict[str, Any] = {**options}
    if queries is not None:
        if isinstance(queries, str):
            raise TypeError("queries is a list of SPARQL texts, got one string")
        if not isinstance(queries, Iterable):
            raise TypeError(f"queries must be a list of SPARQL texts or None, got {queries!r}")
        prefixes = namespaces(None, initNs)
        given["patterns"] = [pattern for query in queries for pattern in _patterns(query, prefixes)]
    feed: Feed | None = manager.plugin_manager().hook.rdflive_endpoint(url=url, options=given)
    if feed is None:
        raise RdfliveError(
            f"no plugin makes a feed of {url!r}; expected the http(s) URL of a SPARQL endpoint"
        )
    return feed


def _patterns(query: str, prefixes: Mapping[str, Any]) -> Iterator[Quad]:
    """List the triple patterns of a query in the form of feeds."""
    plan = make_plan(parse_query(query, init_ns=prefixes, clock=True))
    for basic in plan.basics:
        graph = NAMED_GRAPHS if isinstance(basic.graph, Variable) else basic.graph
        for segment in basic.segments:
            for pattern in segment.patterns:
                yield to_quad(pattern, graph)


def _takes(function: Any, *arguments: object) -> bool:
    return callable(function) and not misfit(function, *arguments)


def _open(source: Source, form: str | FeedFormat | None, follow: float | None) -> Feed:
    if isinstance(source, Feed):
        if form is not None or follow is not None:
            raise ValueError(f"format and follow are for files, and {source.source} is a feed already")
        return source
    if not isinstance(source, str | os.PathLike) and not hasattr(source, "read"):
        raise TypeError(
            "a feed is a path, an open binary file or a Feed (source, entries, snapshot, close), got "
            f"{source!r}"
        )
    if isinstance(source, str) and source.lower().startswith(("http://", "https://")):
        raise ValueError(f"a source cannot be a URL: give rdflive.endpoint(url) instead, got {source!r}")
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
    # each bad record would be appended to the feed
    if isinstance(source, str | os.PathLike) and os.path.realpath(source) == os.path.realpath(path):
        raise ValueError(f"dead_letters={os.fspath(path)!r} is the feed itself; give another file")
    return DeadLetters(path)


def _read_snapshot(source: SnapshotSource) -> Snapshot:
    """Read a snapshot, after which the feed is read from its start."""
    if callable(source):
        try:
            return Snapshot(tuple(Quad(*quad) for quad in source()), "")
        except TypeError as error:
            raise TypeError(f"the snapshot function must return quads: {error}") from error
    if not _NQUADS.search(os.fspath(source)):
        raise ValueError(
            f"{os.fspath(source)}: a snapshot is a file of N-Triples or N-Quads (.nt, .nq, also .gz), or a "
            "function that returns quads"
        )
    try:
        with open_lines(os.fspath(source)) as lines:
            return Snapshot(tuple(read_nquads(lines, os.fspath(source))), "")
    except OSError as error:
        raise unreadable(os.fspath(source), error) from error
