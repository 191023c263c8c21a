"""Events as they come: graphs, lists of triples, graphs of a dataset, runs of N-Quads."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, BinaryIO, Final, cast

from rdflib import Dataset, Graph, URIRef

from rdflive.errors import FeedError, RdfliveError
from rdflive.feeds import read_nquads
from rdflive.feeds.lines import STDIN, open_bytes, to_lines
from rdflive.time.matching.libraries import pyoxigraph

__all__ = ["Event", "EventError", "events_of", "read_event"]


class EventError(RdfliveError, ValueError):
    """An event cannot be matched: `number` says which, counted from 0."""

    def __init__(self, number: int, reason: str) -> None:
        super().__init__(f"event {number}: {reason}")
        self.number = number
        self.reason = reason

    def __reduce__(self) -> tuple[Any, ...]:
        return EventError, (self.number, self.reason)


@dataclass(slots=True)
class Event:
    """One event: its triples, the name of its graph, and its instant as the user gave it."""

    triples: Sequence[Any]
    name: Any = None
    at: Any = None
    as_rdflib: bool = False
    """True where solutions are shown in rdflib's terms, whatever the triples are in."""


def read_event(event: Any, number: int) -> Event:
    """Read an event: an iterable of triples or an rdflib graph, or such a one and its instant.

    Raises `EventError`.
    """
    if type(event) is Event:
        return event
    at = name = None
    if type(event) is tuple and len(event) == 2 and not _is_triple(event[1]):
        event, at = event
    if isinstance(event, Graph):
        if isinstance(event, Dataset):
            raise EventError(number, "a Dataset is many events; give it to rdflive.match as the events")
        name = event.identifier if type(event.identifier) is URIRef else None
    elif type(event) is list or type(event) is tuple:
        return Event(event, None, at)
    try:
        triples = list(event)
    except TypeError as error:
        accepted = "give an rdflib Graph, or an iterable of triples"
        raise EventError(number, f"{event!r} is no graph; {accepted}") from error
    return Event(triples, name, at)


def _is_triple(value: Any) -> bool:
    return isinstance(value, tuple) or hasattr(value, "predicate")


def events_of(given: Any) -> Iterator[Any]:
    """List events: those of an iterable, the named graphs of a Dataset, or the runs of a file of N-Quads.

    A file is a path (`.gz` too, `-` is standard input) or an open binary file. It is read as far as
    events are asked for. A run is what follows each other with the same graph name.
    """
    if isinstance(given, Dataset):
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
            f"{given!r} is no stream of events; give an iterable of graphs, a Dataset, or N-Quads"
        ) from error


def _file_events(path: str) -> Iterator[Event]:
    with open_bytes(path) as stream:
        yield from _stream_events(stream, "standard input" if path == STDIN else path)


def _stream_events(stream: BinaryIO, source: str) -> Iterator[Event]:
    read = _oxigraph_quads if find_spec("pyoxigraph") else _rdflib_quads
    number = 0
    triples: list[Any] = []
    name: Any = None
    with _numbered(lambda: number):
        for triple, graph in read(stream, source):
            if triples and graph != name:
                yield Event(triples, name, as_rdflib=True)
                number += 1
                triples = []
            name = graph
            triples.append(triple)
        if triples:
            yield Event(triples, name, as_rdflib=True)


@contextmanager
def _numbered(number: Callable[[], int]) -> Iterator[None]:
    """Say at which event a file is broken."""
    try:
        yield
    except FeedError as error:
        raise EventError(number(), str(error)) from error


def _rdflib_quads(stream: BinaryIO, source: str) -> Iterator[tuple[Any, Any]]:
    for quad in read_nquads(to_lines(stream, source), source):
        yield quad[:3], quad.graph


class _ByLine:
    """A binary file that gives one line at a time, so that an event of a pipe need not wait for a block."""

    def __init__(self, stream: BinaryIO) -> None:
        self._stream = stream
        self._rest = b""

    def read(self, size: int = -1) -> bytes:
        """Give what is left of the line, or the next one, as far as there is room."""
        line = self._rest or self._stream.readline()
        cut = size if size >= 0 else len(line)
        self._rest = line[cut:]
        return line[:cut]


_DEFAULT: Final = "DefaultGraph"


def _oxigraph_quads(stream: BinaryIO, source: str) -> Iterator[tuple[Any, Any]]:
    from pyoxigraph import RdfFormat, parse

    to_rdflib = cast(Callable[[Any], Any], pyoxigraph(parts=True).to_rdflib)
    native = name = None
    try:
        for quad in parse(cast(BinaryIO, _ByLine(stream)), RdfFormat.N_QUADS):
            graph = quad.graph_name
            if graph != native:
                native, name = graph, None if type(graph).__name__ == _DEFAULT else to_rdflib(graph)
            yield quad, name
    except SyntaxError as error:
        line = error.lineno or 0
        raise FeedError(source, line, str(error.msg)) from error
    except (OSError, EOFError) as error:
        raise FeedError(source, 0, f"cannot be read: {error}") from error
