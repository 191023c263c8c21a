"""Loading of RDF files into a dataset, with a progress bar for long loads."""

from __future__ import annotations

import gzip
import io
import os
import sys
import threading
import time
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar, cast

import rdflib
from rdflib.plugins.stores.memory import Memory
from rdflib.util import SUFFIX_FORMAT_MAP, guess_format
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeElapsedColumn

from rdflive.errors import FeedError, MissingExtraError, RdfliveError
from rdflive.extras import install_command
from rdflive.feeds import Line, read_nquads, to_lines
from rdflive.feeds.lines import to_pieces
from rdflive.syntax.excerpt import parser_fault
from rdflive.values import normal

__all__ = [
    "STORES",
    "CountedFile",
    "advancing",
    "load",
    "open_dataset",
    "showing_progress",
    "syntax_of",
]

STORES: Final = ("memory", "oxigraph")
_RDF_TERMS: Final = (rdflib.URIRef, rdflib.BNode, rdflib.Literal)

_RESERVED: Final = rdflib.URIRef("urn:x-rdflive:kept")
"""The graph in which stores keep the positions of feeds; user data may not use it."""
_REFUSED: Final = f"the graph <{_RESERVED}> is reserved for rdflive; rename it in the file"
_NATIVE: Final = {"turtle": "TURTLE", "trig": "TRIG"}
"""Formats that pyoxigraph's parser loads, by rdflib's names; its errors in RDF/XML name no line."""
_LONG: Final = 1.0
"""Seconds until a load shows its progress."""
_BLOCK: Final = 10_000
"""Quads per call of the store."""

Advance: TypeAlias = Callable[[int], object]
AnyTerm = TypeVar("AnyTerm")


def open_dataset(store: str, *, union: bool) -> rdflib.Dataset:
    """Return an empty dataset; with `union` a query without GRAPH reads all graphs."""
    if store == "memory":
        return rdflib.Dataset(default_union=union)
    try:
        return rdflib.Dataset(store="Oxigraph", default_union=union)
    except (ImportError, rdflib.plugin.PluginException) as error:
        message = f"the store 'oxigraph' needs oxrdflib: {install_command('oxigraph')}"
        raise MissingExtraError(message, name="oxrdflib") from error


def load(dataset: rdflib.Dataset, paths: Sequence[str]) -> None:
    """Read RDF files into the dataset: triples into its default graph, quads into theirs.

    Blank nodes of N-Triples and N-Quads keep their labels, so that a change feed can name them. A label that
    an earlier file used is another node, and is replaced.
    """
    sizes = [os.path.getsize(path) for path in paths]  # a missing file raises before any load
    syntaxes = [syntax_of(path) for path in paths]
    start = time.perf_counter()
    owners: dict[rdflib.BNode, str] = {}
    with showing_progress() as progress:
        for path, size, syntax in zip(paths, sizes, syntaxes, strict=True):
            task = progress.add_task(f"loading {path}", total=size or 1)
            with _open(path, advancing(progress, task, size)) as stream:
                native = getattr(dataset.store, "_inner", None)  # of oxrdflib's stores
                if syntax in ("nt", "nquads"):
                    _load_lines(dataset, stream, path, owners)
                elif native is not None and syntax in _NATIVE:
                    _load_natively(native, dataset, stream, path, syntax)
                else:
                    _load_document(dataset, stream, path, syntax)
            progress.update(task, total=1, completed=1)
    seconds = time.perf_counter() - start
    if seconds > _LONG and not sys.stderr.isatty():
        print(f"loaded {_count(dataset):,} triples in {seconds:.1f} s", file=sys.stderr, flush=True)


def _count(dataset: rdflib.Dataset) -> int:
    return sum(len(graph) for graph in dataset.graphs())


def syntax_of(path: str) -> str:
    """Return the syntax of a file by its ending; raise `RdfliveError` for an unknown ending."""
    syntax = guess_format(path.removesuffix(".gz"))
    if syntax is None or syntax == "rdfa":  # rdflib knows the ending but has no parser for it
        known = " ".join(f".{ending}" for ending, name in SUFFIX_FORMAT_MAP.items() if name != "rdfa")
        raise RdfliveError(f"{path}: the ending names no RDF syntax; known, also with .gz: {known}")
    return syntax


def _load_lines(
    dataset: rdflib.Dataset, stream: io.BufferedReader, path: str, owners: dict[rdflib.BNode, str]
) -> None:
    renamed: dict[rdflib.BNode, rdflib.BNode] = {}

    def own(term: AnyTerm) -> AnyTerm | rdflib.BNode:
        # the first file that uses a label keeps it, so that a change feed can name its node
        if not isinstance(term, rdflib.BNode) or owners.setdefault(term, path) == path:
            return term
        return renamed.setdefault(term, rdflib.BNode())

    # the line of the current quad, for errors
    here = Line("", 0)

    def lines() -> Iterator[Line]:
        nonlocal here
        for line in to_lines(to_pieces(stream), path):
            here = line
            yield line

    def quads() -> Iterator[tuple[Any, Any, Any, rdflib.Graph]]:
        graphs = {None: dataset.default_graph}
        is_normal = isinstance(
            dataset.store, Memory
        )  # rdflib's parsers normalise the literals of other files
        for s, p, o, name in read_nquads(lines(), path):
            if name == _RESERVED:
                raise FeedError(path, here.number, _REFUSED, offset=here.start)
            if name not in graphs:
                graphs[name] = dataset.graph(own(name))
            yield own(s), p, own(normal(o) if is_normal else o), graphs[name]

    rest = quads()
    try:
        for block in iter(lambda: list(islice(rest, _BLOCK)), []):
            # on disk each call is a transaction
            dataset.store.addN(block)
    except FeedError:
        raise
    except ValueError as error:
        raise RdfliveError(f"{path}: the store refuses a term: {error}") from error


def _load_natively(
    native: Any, dataset: rdflib.Dataset, stream: io.BufferedReader, path: str, syntax: str
) -> None:
    """Load a document into a store of pyoxigraph by its own parser, in a tenth of the time of rdflib's."""
    from pyoxigraph import NamedNode, RdfFormat, parse

    form, reserved = getattr(RdfFormat, _NATIVE[syntax]), NamedNode(_RESERVED)
    try:
        if stream.peek(len(BOM_UTF8)).startswith(BOM_UTF8):
            stream.read(len(BOM_UTF8))
        quads = parse(stream, form, base_iri=_base(path), rename_blank_nodes=True)
        for block in iter(lambda: list(islice(quads, _BLOCK)), []):
            if any(quad.graph_name == reserved for quad in block):
                raise RdfliveError(f"{path}: {_REFUSED}")
            native.extend(block)
    except (SyntaxError, ValueError, OSError, EOFError, zlib.error) as error:
        raise RdfliveError(parser_fault(path, error)) from error
    for prefix, namespace in quads.prefixes.items():
        dataset.bind(prefix, namespace)


def _base(path: str) -> str:
    return Path(path).absolute().as_uri()


def _load_document(dataset: rdflib.Dataset, stream: io.BufferedReader, path: str, syntax: str) -> None:
    graph = dataset if syntax in ("trig", "trix", "json-ld") else dataset.default_graph
    try:
        with _guarded(dataset.store):
            graph.parse(file=stream, format=syntax, publicID=_base(path))
    except Exception as error:  # the parsers of rdflib raise many kinds of errors
        raise RdfliveError(parser_fault(path, error)) from error
    if syntax == "n3" and not all(isinstance(term, _RDF_TERMS) for triple in graph for term in triple):
        raise RdfliveError(f"{path}: formulas and variables of N3 are not RDF; take them out")


@contextmanager
def _guarded(store: Any) -> Iterator[None]:
    """Refuse the reserved graph, which an unwatched store would accept."""
    # `del` restores methods of the class; methods of the object must be put back
    own = {name: vars(store)[name] for name in ("add", "addN") if name in vars(store)}
    add, add_all = store.add, store.addN

    def guarded_add(triple: Any, context: Any, **options: Any) -> None:
        _check_graph(context)
        add(triple, context, **options)

    def guarded_add_all(quads: Any) -> None:
        add_all(_checked(quads))

    store.add, store.addN = guarded_add, guarded_add_all
    try:
        yield
    finally:
        del store.add, store.addN
        vars(store).update(own)


def _checked(quads: Iterable[Any]) -> Iterator[Any]:
    for quad in quads:
        _check_graph(quad[3])
        yield quad


def _check_graph(graph: Any) -> None:
    if graph.identifier == _RESERVED:
        raise RdfliveError(_REFUSED)


class CountedFile(io.FileIO):
    """A file that reports the number of bytes read."""

    def __init__(self, path: str, advance: Advance) -> None:
        super().__init__(path)
        self._advance = advance
        self.count = 0
        """Bytes that `readinto` has read."""

    def readinto(self, buffer: memoryview | bytearray) -> int | None:  # type: ignore[override] # any buffer
        """Read bytes into a buffer."""
        count = super().readinto(buffer)
        self._advance(count or 0)
        return count

    def readall(self) -> bytes:
        """Read the rest."""
        content = super().readall()
        self._advance(len(content))
        return content


@contextmanager
def _open(path: str, advance: Advance) -> Iterator[io.BufferedReader]:
    with io.BufferedReader(CountedFile(path, advance)) as stream:
        # a GzipFile reads and peeks like it
        yield cast(io.BufferedReader, gzip.GzipFile(fileobj=stream) if path.endswith(".gz") else stream)


def advancing(progress: Progress, task: TaskID, size: int) -> Advance:
    """Return a function that counts bytes; the bar pulses while the parser is busy after the last byte."""
    done = 0

    def advance(count: int) -> None:
        nonlocal done
        done += count
        progress.update(task, completed=done, total=size if done < size else None)

    return advance


@contextmanager
def showing_progress() -> Iterator[Progress]:
    """Show a progress bar on a terminal after a second, and remove it at the end."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    progress = Progress(*columns, console=Console(stderr=True), transient=True)
    timer = threading.Timer(_LONG, progress.start)
    timer.daemon = True
    if sys.stderr.isatty():
        timer.start()
    try:
        yield progress
    finally:
        timer.cancel()
        # the timer may be starting the bar right now
        if timer.is_alive():
            timer.join()
        if progress.live.is_started:  # `stop` without `start` prints an empty line
            progress.stop()
