"""The process that parses a document: it reads standard input, and writes N-Quads to standard output.

Parsers fail in many ways on documents that are made to break them: they expand entities without end, nest
until the stack overflows, or compute for hours. Here they end only this process. Neither parser reads another
document, such as a JSON-LD context or an entity of XML.

The file is run as a script, and imports no module of the server, which would take a second for each document.
"""

from __future__ import annotations

import gzip
import io
import json
import resource
import signal
import sys
import zlib
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from itertools import islice
from typing import Any, Final, NoReturn

__all__ = ["LONGEST", "ParsingOrder", "by_oxigraph", "by_rdflib", "main"]

LONGEST: Final = 16_000_000
"""Bytes of the longest literal or IRI."""
_BLOCK: Final = 1_000
"""Quads that are written together."""
_DEEPEST: Final = 100
"""Triple terms in each other."""
_READ: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class ParsingOrder:
    """What to parse, and within which limits."""

    kind: str
    """The media type of the document."""
    base: str
    """The base of relative IRIs."""
    is_gzip: bool
    is_dataset: bool
    """True if the document may have named graphs."""
    size: int
    """Bytes that the document may have, without compression, and as N-Quads."""
    memory: int
    """Bytes of memory."""
    seconds: float
    """Processor time between two blocks."""

    def text(self) -> str:
        """Return the order as an argument of a command."""
        return json.dumps(asdict(self))


class _DocumentError(Exception):
    """An error of the document, with the status of the response."""

    def __init__(self, status: int, detail: str, line: int = 0, column: int = 0) -> None:
        super().__init__(detail)
        self.members = {"status": status, "detail": detail, "line": line, "column": column}


def main() -> NoReturn:
    """Execute the order in the argument; write an error of the document as JSON to standard error."""
    order = ParsingOrder(**json.loads(sys.argv[1]))
    parse = by_rdflib if find_spec("pyoxigraph") is None else by_oxigraph
    try:
        source = io.BufferedReader(_Bounded(_opened(order), order.size), _READ)
        quads = parse(source, order)
        _confine(order)
        _write_all(quads, order)
    except Exception as error:  # noqa: BLE001 - the parsers raise many kinds of errors
        sys.stderr.write(json.dumps(_refusal(error).members))
        sys.exit(1)
    sys.exit(0)


def _opened(order: ParsingOrder) -> Any:
    return gzip.GzipFile(fileobj=sys.stdin.buffer) if order.is_gzip else sys.stdin.buffer


class _Bounded(io.RawIOBase):
    """A stream that ends with an error after some bytes, which is a bomb if it was compressed."""

    def __init__(self, stream: Any, most: int) -> None:
        self._stream = stream
        self._most = self._left = most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._stream.read1(min(len(buffer), _READ))
        self._left -= len(piece)
        if self._left < 0:
            raise _DocumentError(413, f"the document is larger than {self._most:,} bytes")
        buffer[: len(piece)] = piece
        return len(piece)


def _confine(order: ParsingOrder) -> None:
    """Limit memory, and write no core dump, which would contain the document."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (order.memory, order.memory))


def _write_all(quads: Iterator[Any], order: ParsingOrder) -> None:
    """Write quads in blocks, each within the processor time."""
    output, left = sys.stdout.buffer, order.size
    while True:
        # processor time: the reader may take long for what it reads
        signal.setitimer(signal.ITIMER_PROF, order.seconds)
        block = b"".join(islice(quads, _BLOCK))
        if not block:
            break
        left -= len(block)
        if left < 0:
            raise _DocumentError(413, f"the document has more than {order.size:,} bytes as N-Quads")
        output.write(block)
    output.flush()


def by_oxigraph(source: Any, order: ParsingOrder) -> Iterator[bytes]:
    """Return a document as lines of N-Quads, with new blank nodes."""
    from pyoxigraph import DefaultGraph, RdfFormat, Triple, parse

    form, default = RdfFormat.from_media_type(order.kind), DefaultGraph()
    quads = parse(source, form, base_iri=order.base or None, rename_blank_nodes=True)
    for quad in quads:
        value = quad.object
        if quad.graph_name != default and not order.is_dataset:
            raise _has_graphs(quad.graph_name)
        if isinstance(value, Triple):
            _check_depth(value, Triple)
        line = f"{quad} .\n".encode()
        if len(line) > LONGEST:
            raise _DocumentError(413, f"a term is longer than {LONGEST:,} bytes")
        yield line


def _check_depth(term: Any, triple: type[Any]) -> None:
    depth = 0
    while isinstance(term, triple):
        depth, term = depth + 1, term.object
        if depth > _DEEPEST:
            raise _DocumentError(400, f"more than {_DEEPEST} triple terms are nested in each other")


def by_rdflib(source: Any, order: ParsingOrder) -> Iterator[bytes]:
    """Return a document as lines of N-Quads, with new blank nodes; rdflib reads it as a whole first."""
    from rdflib import Dataset

    from rdflive.feeds.terms import write_quad
    from rdflive.model import Quad

    content = source.read()
    if order.kind == "application/ld+json":
        _check_contexts(json.loads(content))
    dataset = Dataset()
    target = dataset if order.is_dataset or order.kind == "application/ld+json" else dataset.default_graph
    target.parse(data=content, format=order.kind, publicID=order.base or None)
    default = dataset.default_graph.identifier
    for s, p, o, name in dataset.quads():
        if name not in (None, default) and not order.is_dataset:
            raise _has_graphs(name)
        yield (write_quad(Quad(s, p, o, None if name == default else name)) + "\n").encode()


def _check_contexts(node: Any) -> None:
    """Refuse contexts that rdflib would fetch."""
    waiting = [node]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            context = node.get("@context")
            given = context if isinstance(context, list) else [context]
            if "@import" in node or any(isinstance(each, str) for each in given):
                raise _DocumentError(
                    400, "the document names a remote context: put the context into the document"
                )
            waiting.extend(node.values())
        elif isinstance(node, list):
            waiting.extend(node)


def _has_graphs(name: Any) -> _DocumentError:
    return _DocumentError(
        400, f"the document has the named graph {name}: send datasets to /store, without graph= and default"
    )


def _refusal(error: Exception) -> _DocumentError:
    if isinstance(error, _DocumentError):
        return error
    if isinstance(error, SyntaxError):
        said = (error.msg or "").partition(": ")
        reason = said[2] if said[0].startswith("Parser error") else error.msg
        line, column = error.lineno or 0, error.offset or 0
        place = f" (line {line}, column {column})" if line else ""
        return _DocumentError(400, f"the document cannot be parsed{place}: {reason}", line, column)
    if isinstance(error, MemoryError):
        return _DocumentError(413, f"the document needs too much memory: {error}")
    if isinstance(error, gzip.BadGzipFile | EOFError | zlib.error):
        return _DocumentError(400, f"the document is not gzip as declared: {error}")
    return _DocumentError(400, f"the document cannot be parsed: {error}")


if __name__ == "__main__":
    main()
