"""The documents that are being written, in threads of their own."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final, Protocol, TypeVar

import rdflib

from rdflive.server.failures import Problem, server_ends
from rdflive.server.graph_store.documents import Document, Row
from rdflive.server.graph_store.writing import GraphWriter, Written
from rdflive.server.settings import Limits
from rdflive.server.sparql.answering import native_of
from rdflive.server.threads import Threads

__all__ = ["Load", "Loads"]

Result = TypeVar("Result")

_AT_ONCE: Final = 4
"""Documents that are parsed at once; more wait."""
_PIECE: Final = 10_000
"""Quads between two looks at whether the server ends."""


class _Writing(Protocol):
    """Runs a function in the writing thread."""

    def __call__(self, function: Callable[[], Result], /) -> Result: ...


@dataclass(frozen=True, slots=True)
class Load:
    """A document to write into a graph, or with None into the dataset."""

    document: Document
    base: str
    graph: str | None
    replaces: bool
    together: int | None
    """Triples of one commit; None writes the document as one commit."""


class Loads:
    """Writes documents. Made and closed outside the event loop, and used in it."""

    def __init__(self, dataset: rdflib.Dataset, limits: Limits, threads: Threads) -> None:
        self._dataset = dataset
        self._limits = limits
        self._threads = threads
        self._pool = ThreadPoolExecutor(_AT_ONCE, "rdflive-loads")
        self._running: Counter[str] = Counter()

    @contextmanager
    def admitted(self, client: str) -> Iterator[None]:
        """Count a document of a client inside the block; raise `Problem` 429 beyond the limit of queries."""
        most = self._limits.queries
        if self._running[client] >= most:
            raise Problem(429, f"more than {most} documents at once", headers={"Retry-After": "5"})
        self._running[client] += 1
        try:
            yield
        finally:
            self._running[client] -= 1
            if not self._running[client]:
                del self._running[client]

    async def run(self, load: Load) -> Written:
        """Write a document; raise `Problem` and `WriteRefusedError`."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, self._write, load, loop)

    def close(self) -> None:
        """Wait for the end of all loads; after `Threads.stop_writing` they end soon."""
        self._pool.shutdown()

    def _write(self, load: Load, loop: asyncio.AbstractEventLoop) -> Written:
        """Write a document in a thread of the pool, whose commits the writing thread makes."""

        def write(function: Callable[[], Result]) -> Result:
            return asyncio.run_coroutine_threadsafe(self._threads.write(function), loop).result()

        most = self._limits.store_triples
        writer = GraphWriter(self._dataset, load.graph, most)
        with load.document.rows(
            self._limits, native_of(self._dataset), load.base, is_dataset=load.graph is None
        ) as rows:
            if load.together is not None:
                return self._write_in_parts(writer, rows, load, load.together, write)
            whole = self._rows(rows, most + 1)
            if len(whole) > most:
                raise writer.too_many()
            return write(partial(writer.write, whole, replaces=load.replaces))

    def _write_in_parts(
        self, writer: GraphWriter, rows: Iterator[Row], load: Load, together: int, write: _Writing
    ) -> Written:
        """Write a document as several commits; earlier commits stay when a later one fails."""
        part = self._rows(rows, together)
        gone = 0
        while load.replaces and (count := write(partial(writer.remove_some, together))):
            gone += count
        made: list[int] = []
        first = write(partial(writer.write, part, replaces=False))
        made.append(len(part))
        try:
            last = self._write_rest(writer, rows, together, made, write)
        except Problem as problem:
            problem.detail += f"; its first {sum(made):,} triples are written"
            problem.detail += f", and {gone:,} earlier ones removed" if gone else ""
            raise
        return Written(first.sequence if last is None else last.sequence, first.is_new)

    def _write_rest(
        self, writer: GraphWriter, rows: Iterator[Row], together: int, made: list[int], write: _Writing
    ) -> Written | None:
        """Write the quads that are left, and note the number of each commit in `made`."""
        last = None
        while part := self._rows(rows, together):
            last = write(partial(writer.write, part, replaces=False))
            made.append(len(part))
        return last

    def _rows(self, rows: Iterator[Row], most: int) -> list[Row]:
        """Return the next quads; raise `Problem` 503 when the server ends."""
        found: list[Row] = []
        while len(found) < most:
            piece = list(islice(rows, min(_PIECE, most - len(found))))
            if self._threads.is_ending:
                raise server_ends()
            if not piece:
                break
            found += piece
        return found
