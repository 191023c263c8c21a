"""The asynchronous forms of `mirror` and `endpoint`, which run in threads."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import CancelledError, Future, wait
from typing import Any, Final, Literal, TypeVar, Unpack

from rdflive.api.background import BackgroundMirror
from rdflive.api.mirror import SnapshotSource, Source, endpoint, opened
from rdflive.api.mirror_run import Mirrored
from rdflive.api.validation import Shapes
from rdflive.delivery.calling import is_async
from rdflive.feeds import EndpointOptions, Entry, Feed, FeedFormat, Snapshot
from rdflive.signatures import misfit
from rdflive.store import GraphLike

__all__ = ["aendpoint", "amirror"]

log = logging.getLogger("rdflive")

T = TypeVar("T")

_LOOK: Final = 0.05
"""Seconds between two attempts to cancel callbacks: another callback may have started."""
_LOOK_AT_LOOP: Final = 0.5
"""Seconds between two checks that the event loop of a callback is open."""


async def amirror(
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
) -> Mirrored:
    """Apply a feed to a graph like `mirror`, in a thread that the caller awaits.

    The event loop is never blocked. `on_entry` and `on_resync` may be coroutine functions: they run in the
    loop, and the mirror continues after their end. Plain functions are called in the thread.

    Cancellation closes the feed, cancels a running callback, and waits for the entry that is being applied.
    So the graph is at a commit that includes its cursor, and the next call continues there. A feed that
    cannot be closed, such as standard input, is abandoned after a second.

    >>> import asyncio, io, rdflib
    >>> graph = rdflib.Graph()
    >>> asyncio.run(amirror(graph, io.BytesIO(b"+ <urn:s> <urn:p> <urn:o> ."), "nquads")).changes, len(graph)
    (1, 1)
    """
    callbacks = _Callbacks(asyncio.get_running_loop())
    run = opened(
        graph, source, format, cursor,
        name=name, snapshot=snapshot, on_bad=on_bad, dead_letters=dead_letters, guard=guard, follow=follow,
        on_entry=callbacks.plain(on_entry), on_resync=callbacks.plain(on_resync),
    )  # fmt: skip
    running = BackgroundMirror(run, cursor, logs=False)
    ended = asyncio.wrap_future(running._outcome)
    try:
        return await asyncio.shield(ended)
    except asyncio.CancelledError:
        running.stop()
        while not running._outcome.done():
            callbacks.cancel()
            await asyncio.wait([ended], timeout=_LOOK)
        error = running.error
        if error is not None and not isinstance(error, CancelledError):
            log.error("a mirror that was cancelled has failed: %s", error, exc_info=error)
        raise


async def aendpoint(
    url: str,
    *,
    queries: Iterable[str] | None = None,
    initNs: Mapping[str, Any] | None = None,  # noqa: N803 - rdflib's name
    **options: Unpack[EndpointOptions],
) -> Feed:
    """Return a feed like `endpoint`, but load plugins and parse queries in a thread.

    >>> import asyncio
    >>> asyncio.run(aendpoint("http://127.0.0.1:3030/trains/sparql", every=1.0)).source
    'http://127.0.0.1:3030/trains/sparql'
    """
    return await asyncio.to_thread(endpoint, url, queries=queries, initNs=initNs, **options)


class _Callbacks:
    """Runs coroutine functions in an event loop, while the thread that calls them waits."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._under_way: set[Future[object]] = set()

    def plain(self, callback: Callable[[T], Any] | None) -> Callable[[T], object] | None:
        """Return a plain function that runs a callback."""
        if callback is None or not is_async(callback) or misfit(callback, None):
            return callback  # a coroutine function of other arguments is refused as a plain one is

        def call(given: T) -> None:
            future: Future[object] = asyncio.run_coroutine_threadsafe(callback(given), self._loop)
            self._under_way.add(future)
            try:
                self._wait(future, callback)
            finally:
                self._under_way.discard(future)

        return call

    def _wait(self, future: Future[object], callback: object) -> None:
        # a closed loop never completes the future
        while not wait([future], _LOOK_AT_LOOP).done:
            if self._loop.is_closed():
                raise RuntimeError(f"the event loop was closed before {callback!r} returned")
        future.result()

    def cancel(self) -> None:
        for future in tuple(self._under_way):
            future.cancel()
