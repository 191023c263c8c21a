"""Logs of SPARQL update requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from rdflib.term import BNode, Literal

from rdflive.errors import QuerySyntaxError
from rdflive.feeds.decoder import Decoded, Frame, StatelessDecoder
from rdflive.feeds.formats import FeedFormat
from rdflive.feeds.lines import Line
from rdflive.feeds.sparql_data import read_data
from rdflive.feeds.sparql_text import RequestScanner, normalize, write_string
from rdflive.feeds.terms import RowError
from rdflive.feeds.writing import UnwritableError, write_term
from rdflive.model import Batch, Quad
from rdflive.syntax.reader import read_update

__all__ = ["SPARQL_UPDATE", "SparqlUpdateDecoder", "encode_sparql_update"]


class SparqlUpdateDecoder(StatelessDecoder):
    """Decodes SPARQL update requests, each a unit with all its operations.

    An empty line ends a request, unless it is inside of braces or a string, behind a `;`, behind a prologue
    alone, or before an operation is complete. Each request stands alone, with its own prologue, beside the
    prefixes of the graph. Refused is what the log does not determine: LOAD, SERVICE, NOW, RAND, UUID.
    """

    def split(self, lines: Iterator[Line]) -> Iterator[Frame]:
        """Give requests, with the comments and empty lines inside of them, and the empty line behind.

        Where the feed ends instead, an empty line is put there, so that units written one below the other
        are a log again.
        """
        frame: list[Line] = []
        scanner, is_lost = RequestScanner(), False
        for line in lines:
            # a line that is no text may have closed a brace: behind it any empty line ends the request
            if frame and _is_empty(line) and (is_lost or scanner.may_end):
                yield (*frame, line)
                frame, scanner, is_lost = [], RequestScanner(), False
            elif scanner.take_line(line.text) or frame or line.fault:
                frame.append(line)
                is_lost = is_lost or bool(line.fault)
        if frame:
            yield (*frame, frame[-1]._replace(text="", fault=""))

    def decode(self, frame: Frame) -> Decoded:
        """Read a request; what is not data alone is for the store to evaluate."""
        changes = read_data(frame)
        if changes is not None:
            return Decoded(changes)
        first = frame[0].number
        try:
            text = normalize("\n".join(line.text for line in frame))
        except RowError as error:
            raise RowError(str(error), first + error.line - 1) from error
        _check_syntax(text, first)
        return Decoded((), (text.strip(),))


def encode_sparql_update(batch: Batch) -> str:
    r"""Write a batch as one request; `UnwritableError` for a blank node, which an update cannot name.

    >>> from rdflib import URIRef
    >>> from rdflive import Change
    >>> quad = Quad(URIRef("urn:s"), URIRef("urn:p"), URIRef("urn:o"), URIRef("urn:g"))
    >>> encode_sparql_update(Batch((Change(1, quad),)))
    'INSERT DATA {\nGRAPH <urn:g> {\n<urn:s> <urn:p> <urn:o> .\n}\n}\n\n'
    """
    # deletes are written before inserts, so of several changes of a quad only the last may be there
    last = {quad: sign for sign, quad in batch.changes}
    operations = (
        _write("DELETE", (quad for quad, sign in last.items() if sign < 0)),
        _write("INSERT", (quad for quad, sign in last.items() if sign > 0)),
    )
    text = " ;\n".join(filter(None, operations))
    return f"{text}\n\n" if text else ""


def _is_empty(line: Line) -> bool:
    return not line.fault and not line.text.strip(" \t")


def _check_syntax(text: str, line: int) -> None:
    try:
        read_update(text)
    except QuerySyntaxError as error:
        raise RowError(f"not a SPARQL update: {error}", line) from error


def _write(verb: str, quads: Iterable[Quad]) -> str:
    graphs: dict[Any, list[str]] = {}
    for quad in quads:
        terms = " ".join(_write_term(term) for term in quad[:3])
        graphs.setdefault(quad.graph, []).append(f"{terms} .\n")
    blocks = ("".join(rows) if graph is None else _write_graph(graph, rows) for graph, rows in graphs.items())
    return f"{verb} DATA {{\n{''.join(blocks)}}}" if graphs else ""


def _write_graph(graph: Any, rows: list[str]) -> str:
    return f"GRAPH {_write_term(graph)} {{\n{''.join(rows)}}}\n"


def _write_term(term: Any) -> str:
    if isinstance(term, BNode):
        raise UnwritableError(
            f"the blank node {term.n3()} cannot be written in a SPARQL update, which would delete nothing "
            "and insert another one; write RDF Patch, which keeps labels"
        )
    if not isinstance(term, Literal):
        return write_term(term)
    suffix = write_term(Literal("", term.language, term.datatype)).removeprefix('""')
    return write_string(str(term)) + suffix


SPARQL_UPDATE: Final = FeedFormat("sparql-update", (".ru", ".rul"), SparqlUpdateDecoder, encode_sparql_update)
"""SPARQL update requests, with empty lines between."""
