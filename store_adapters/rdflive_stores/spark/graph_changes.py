"""A live graph's own changes as a stream: recorded in a log, which the log source reads."""

from __future__ import annotations

import atexit
import mmap
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from io import FileIO
from itertools import chain, count
from types import TracebackType
from typing import Any, Final
from weakref import WeakKeyDictionary

from pyspark.sql import DataFrame, SparkSession
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, ConjunctiveGraph, Dataset, Graph
from rdflib.store import Store

import rdflive
from rdflive import Batch, Quad, RdfliveError, UnsupportedStoreError, hookimpl
from rdflive.api.target import GraphTarget
from rdflive.feeds.terms import write_quad
from rdflive.sinks.sink import to_rdflib
from rdflive.store import GraphLike
from rdflive_stores.spark.logs.files import STOPPED, LogFiles
from rdflive_stores.spark.logs.reading import LogReader, LogSettings
from rdflive_stores.spark.session import register, session

try:
    import fcntl
except ImportError:  # on Windows
    fcntl = None  # type: ignore[assignment]  # mypy knows the system that it runs on

__all__ = ["ChangeLog", "changes"]

_WATCHED: Final = "ASK { <urn:x-rdflive:log> <urn:x-rdflive:log> <urn:x-rdflive:log> }"
"""A query without cost: a store reports its batches while it has a subscription."""
_BEGIN: Final = b"TX .\n"
_END: Final = b"\nTC .\n"
_BLOCK: Final = 1 << 20
_numbers: Final = count(1)
"""Makes the names of recordings differ, because a deleted log's path may be recorded again."""


def changes(
    graph: GraphLike,
    spark: SparkSession | None = None,
    *,
    log: str | os.PathLike[str] | None = None,
    initial: bool = True,
) -> DataFrame:
    """Return the changes of a graph from now on, after its present content, as a streaming DataFrame.

    It has the columns of the format `rdf_patch`. The graph is recorded until the program ends, in the file
    `log` or in a temporary one. `ChangeLog` does the same until it is closed, and describes the recording.
    """
    path = os.fspath(log) if log is not None else _temporary()
    recording = ChangeLog(graph, path, initial=initial)
    atexit.register(recording.close)
    return recording.changes(spark)


def _temporary() -> str:
    folder = tempfile.mkdtemp(prefix="rdflive-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return os.path.join(folder, "changes.rdfp")


class ChangeLog:
    """Appends every commit of a graph or dataset to a log of RDF Patch, as one transaction each.

    A write to the graph returns after its transaction is in the file. A new log starts with the graph's
    content, unless `initial` is false. An existing log is continued: the recording cuts off a transaction
    that a killed run left unfinished, and then appends the difference between log and graph, for which it
    holds both in memory. Language tags are written in lower case, because case does not distinguish them.

    A commit that cannot be written (a term that no line can hold, a full disk) stops the recording. `error`
    holds the reason, rdflive logs it, and the log gets a line at which every stream that reads it fails, so
    that no change is left out.

    Close it, or use it as a context manager. Raises `UnsupportedStoreError` for a graph that no adapter can
    watch. Raises `RdfliveError` inside a batch of the graph, and for a file that is not such a log, that
    another `ChangeLog` writes, or that cannot be written.
    """

    def __init__(self, graph: GraphLike, path: str | os.PathLike[str], *, initial: bool = True) -> None:
        self.path = os.path.abspath(os.fspath(path))
        self.error: BaseException | None = None
        """The error that stopped the recording."""
        self._lock = threading.Lock()
        self._graph = _Recorded(graph)
        _refuse_batch(graph, self.path)
        self._plugin = _Plugin(self._record)
        self._file = _open(self.path)
        try:
            self._begin(graph, initial=initial)
        except BaseException:
            self._file.close()
            raise

    def changes(self, spark: SparkSession | None = None) -> DataFrame:
        """Return the log as a streaming DataFrame; without a session, in one of this machine."""
        spark = spark or session()
        register(spark)
        return spark.readStream.format("rdf_patch").option("feed", "rdf-patch").load(self.path)

    def close(self) -> None:
        """Stop recording and close the file; idempotent."""
        with self._lock:
            if self._file.closed:
                return
            rdflive.unregister_plugin(self._plugin)
            self._file.close()
        # Outside the lock: in `_record`, a writer holds the store's lock when it requests this one.
        self._subscription.close()

    def __enter__(self) -> ChangeLog:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _begin(self, graph: Any, *, initial: bool) -> None:
        """Write the changes since the log's end, and record from there; the batch keeps writers out."""
        size = _cut_tail(self._file, self.path)
        if size and not initial:
            raise RdfliveError(
                f"{self.path}: holds changes already, and initial=False would leave a gap after them; name "
                "another log"
            )
        with rdflive.batch(graph), ExitStack() as undo:
            rdflive.register_plugin(self._plugin, f"ChangeLog {next(_numbers)} ({self.path})")
            undo.callback(rdflive.unregister_plugin, self._plugin)
            self._subscription = undo.enter_context(rdflive.subscribe(graph, _WATCHED, initial=False))
            if initial:
                before = _state(self.path) if size else {}
                now = dict.fromkeys(self._graph.lines())
                gone = (f"D {line}\n" for line in before if line not in now)
                self._append(chain(gone, (f"A {line}\n" for line in now if line not in before)))
            undo.pop_all()

    def _record(self, store: Any, batch: Batch) -> None:
        with self._lock:
            if self._file.closed or self.error is not None:
                return
            try:
                if self._graph.is_on(store):
                    self._append(self._graph.changed(store, batch))
            except BaseException as error:
                self.error = error
                with suppress(OSError):  # on a full disk, the unfinished transaction shows it
                    self._file.write(STOPPED)
                if not isinstance(error, Exception):
                    raise
                raise RdfliveError(
                    f"{self.path}: {error}; the recording has stopped: a new ChangeLog of the graph continues"
                ) from error

    def _append(self, rows: Iterable[str]) -> None:
        """Write a complete transaction or none; write nothing without rows."""
        rows = iter(rows)
        first = next(rows, None)
        if first is None:
            return
        status = os.fstat(self._file.fileno())
        if not status.st_nlink:
            raise RdfliveError("the log was deleted")
        # a transaction that cannot be written completely is cut off here
        place = status.st_size
        try:
            for block in _blocks(chain(("TX .\n", first), rows, ("TC .\n",))):
                self._write(block)
        except BaseException:
            self._file.truncate(place)
            raise

    def _write(self, block: bytes) -> None:
        while block:
            # a file without a buffer may take only a part
            block = block[self._file.write(block) :]


class _Plugin:
    """Receives the batches of every store."""

    def __init__(self, record: Callable[[Any, Batch], None]) -> None:
        self._record = record

    @hookimpl
    def rdflive_batch(self, store: Any, batch: Batch) -> None:
        """Record a batch."""
        self._record(store, batch)


class _Recorded:
    """The recorded graph or dataset, in lines of N-Quads."""

    def __init__(self, graph: Any) -> None:
        self._target = GraphTarget(graph)
        self._single = isinstance(graph, Graph) and not isinstance(graph, ConjunctiveGraph)
        self._name = _default_name(graph)
        self._known: WeakKeyDictionary[Any, bool] = WeakKeyDictionary()

    def lines(self) -> Iterator[str]:
        """Return the lines of the present quads."""
        return map(_line, self._target.quads())

    def changed(self, store: Any, batch: Batch) -> Iterator[str]:
        """Yield the rows of a captured batch, without those of other graphs."""
        for sign, quad in rdflive.to_feed(store, batch).changes:
            if quad.graph == self._name:
                quad = quad._replace(graph=None)
            elif self._single:
                continue
            yield f"{'A' if sign > 0 else 'D'} {_line(quad)}\n"

    def is_on(self, store: Any) -> bool:
        """True for the graph's store, and for one that wraps it or is wrapped by it."""
        known = self._known.get(store)
        if known is None:
            try:
                target = GraphTarget(Graph(store) if isinstance(store, Store) else store)
                known = target.identity == self._target.identity
            except UnsupportedStoreError:  # the graph's own store is supported
                known = False
            self._known[store] = known
        return known


def _default_name(graph: Any) -> Any:
    """Return the name in captured batches of the graph, or of the dataset's default graph."""
    if not isinstance(graph, Graph) or not graph.store.context_aware:
        return None
    if isinstance(graph, ConjunctiveGraph):
        graph = graph.default_graph if isinstance(graph, Dataset) else graph.default_context
    return None if graph.identifier == DATASET_DEFAULT_GRAPH_ID else graph.identifier


def _line(quad: Quad) -> str:
    return write_quad(Quad(*(None if term is None else to_rdflib(term) for term in quad)))


def _blocks(texts: Iterable[str]) -> Iterator[bytes]:
    """Join texts into blocks of about a megabyte."""
    block, size = [], 0
    for text in texts:
        block.append(text)
        size += len(text)
        if size >= _BLOCK:
            yield "".join(block).encode()
            block, size = [], 0
    yield "".join(block).encode()


def _refuse_batch(graph: Any, path: str) -> None:
    """Raise `RdfliveError` if this thread has a batch of the graph open."""
    if GraphTarget(graph).is_in_batch:
        raise RdfliveError(
            f"{path}: a ChangeLog cannot start inside a batch, of which it would have only a part; start it "
            "before or after `with rdflive.batch(graph)`"
        )


def _open(path: str) -> FileIO:
    """Open a log to append to, exclusively for this process and object."""
    if fcntl is None:
        raise RdfliveError("a ChangeLog locks its file by fcntl: record on Linux, macOS or WSL")
    try:
        file = open(path, "a+b", buffering=0)  # noqa: SIM115 - closed with the ChangeLog
    except OSError as error:
        raise RdfliveError(
            f"{path}: cannot be written: {error.strerror}; a ChangeLog needs a file in an existing folder"
        ) from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise RdfliveError(f"{path}: another ChangeLog writes it; close that, or name another log") from error
    return file


def _cut_tail(file: FileIO, path: str) -> int:
    """Cut off the text after the last complete transaction, and return its end."""
    size = os.fstat(file.fileno()).st_size
    if not size:
        return 0
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        end = content.rfind(_END)
        end = end + len(_END) if end >= 0 else 0
        # a killed writer leaves any prefix of a transaction, or of the line `STOPPED`
        starts = content[: len(_BEGIN)], content[end : end + len(_BEGIN)]
        stopped = STOPPED.startswith(content[end : end + len(STOPPED)])
    begun = _BEGIN.startswith(starts[0]) or (stopped and not end)
    if not begun or not (stopped or _BEGIN.startswith(starts[1])):
        raise RdfliveError(f"{path}: was not written by a ChangeLog; name another log")
    file.truncate(end)
    return end


def _state(path: str) -> dict[str, None]:
    """Return the quads that result from a log."""
    reader = LogReader(LogSettings(LogFiles.at(path, "rdf-patch"), _BLOCK, None))
    state: dict[str, None] = {}
    for partition in reader.partitions():
        for rows in reader.read(partition):
            for op, *terms in zip(
                *(rows[name].to_pylist() for name in ("op", "s", "p", "o", "g")), strict=True
            ):
                line = " ".join([*(term for term in terms if term is not None), "."])
                if op == "A":
                    state[line] = None
                else:
                    state.pop(line, None)
    return state
