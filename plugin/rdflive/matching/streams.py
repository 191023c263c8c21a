"""Streams of events: iterables of graphs, the graphs of a dataset, runs of N-Quads."""

from __future__ import annotations

import os
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any, BinaryIO, Final, cast

from rdflib import Dataset, Graph

from rdflive.errors import FeedError
from rdflive.feeds.formats import meaningful
from rdflive.feeds.lines import STDIN, open_bytes, to_lines, to_pieces
from rdflive.feeds.terms import RowError, RowReader
from rdflive.matching.events import Event, EventError
from rdflive.matching.libraries import plain, pyoxigraph

__all__ = ["events_of"]


def events_of(given: Any) -> Iterator[Any]:
    """List events: those of an iterable, the named graphs of a Dataset, or the runs of a file of N-Quads.

    A file is a path (`.gz` too; `-` is standard input) or an open binary file. It is read as far as the
    caller iterates. A run is consecutive quads with the same graph name.
    """
    if isinstance(given, Dataset):
        # only named graphs are events, but `graphs()` lists the default graph too
        return (graph for graph in given.graphs() if graph.identifier != given.default_graph.identifier)
    if isinstance(given, str | os.PathLike):
        return _file_events(os.fspath(given))
    if hasattr(given, "read"):
        return _stream_events(given, str(getattr(given, "name", "<stream>")))
    if isinstance(given, Graph):
        raise TypeError(f"{given!r} is one event; give a list of graphs, or use Matcher.match")
    try:
        return iter(given)
    except TypeError as error:
        raise TypeError(
            f"{given!r} is not a stream of events; give an iterable of graphs, a Dataset, or N-Quads"
        ) from error


def _file_events(path: str) -> Iterator[Event]:
    with open_bytes(path) as stream:
        yield from _stream_events(stream, "standard input" if path == STDIN else path)


def _stream_events(stream: BinaryIO, source: str) -> Iterator[Event]:
    read = _oxigraph_quads if find_spec("pyoxigraph") else _rdflib_quads
    number = 0
    triples: list[Any] = []
    name: Any = None
    with _numbered(lambda: number):  # a function, because the number grows
        for triple, graph in read(stream, source):
            # Only a new graph name ends an event, so an event is delivered one line late.
            if triples and graph != name:
                yield Event(triples, name, of_file=True)
                number += 1
                triples = []
            name = graph
            triples.append(triple)
        if triples:
            yield Event(triples, name, of_file=True)


@contextmanager
def _numbered(number: Callable[[], int]) -> Iterator[None]:
    """Add the number of the event to errors of a file."""
    try:
        yield
    except FeedError as error:
        raise EventError(number(), str(error)) from error


def _rdflib_quads(stream: BinaryIO, source: str) -> Iterator[tuple[Any, Any]]:
    for line in meaningful(to_lines(to_pieces(stream), source)):
        try:
            if line.fault:
                raise RowError(line.fault)
            yield from _row_quad(RowReader(line.text))
        except RowError as error:
            raise FeedError(source, line.number, str(error), offset=line.start) from error


def _row_quad(row: RowReader) -> Iterator[tuple[Any, Any]]:
    """Read one quad, with terms as pyoxigraph writes them.

    As with pyoxigraph, the name of a graph ends the event before, even if the dot after it is missing.
    """
    triple = (row.node("subject"), row.node("predicate", blank=False), plain(row.term("object")))
    graph = row.node("graph") if row.has_term else None
    # before `row.end()`, which raises if the dot is missing
    if graph is not None:
        yield triple, graph
    row.end()
    if graph is None:
        yield triple, graph


class _ByLine:
    """A binary file that returns one line at a time, so that an event from a pipe need not wait for a full
    block.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._rest = b""
        self.number = 0
        """The number of the line returned last, counted from 1."""

    def read(self, size: int = -1) -> bytes:
        """Return the rest of the line, or the next one, up to `size` bytes."""
        line = self._rest or self._next()
        cut = size if size >= 0 else len(line)
        self._rest = line[cut:]
        return line[:cut]

    def _next(self) -> bytes:
        self.number += 1
        line = self._stream.readline()
        if self.number > 1 or not line.startswith(BOM_UTF8):
            return line
        return line.removeprefix(BOM_UTF8) or self._next()


_DEFAULT: Final = "DefaultGraph"


def _oxigraph_quads(stream: BinaryIO, source: str) -> Iterator[tuple[Any, Any]]:
    from pyoxigraph import Literal, RdfFormat, Triple, parse

    to_rdflib = cast(Callable[[Any], Any], pyoxigraph(parts=True).to_rdflib)
    native = name = None
    lines = _ByLine(stream)
    try:
        for quad in parse(cast(BinaryIO, lines), RdfFormat.N_QUADS):
            graph, kind = quad.graph_name, type(quad.object)
            if kind is Triple or (kind is Literal and quad.object.direction is not None):
                reason = f"the object is a term of RDF 1.2, which is not supported: {quad.object}"
                raise FeedError(source, lines.number, reason)
            if graph != native:  # a name is converted once per run of quads
                native, name = graph, None if type(graph).__name__ == _DEFAULT else to_rdflib(graph)
            yield quad, name
    except SyntaxError as error:
        line = error.lineno or 0
        raise FeedError(source, line, str(error.msg)) from error
    except (OSError, EOFError) as error:
        raise FeedError(source, 0, f"cannot be read: {error}") from error
