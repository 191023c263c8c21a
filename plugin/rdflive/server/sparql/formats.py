"""The media types of results, and rdflib's results written in them.

Oxigraph writes its own results, except CSV. rdflib's serializers are used only if they keep every term: its
Turtle and JSON-LD change the lexical forms of numbers, its XML results omit zero and false, and it has no
TSV.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Final, Protocol, TypeAlias
from xml.sax.saxutils import escape, quoteattr

from rdflib import XSD
from rdflib.graph import Graph
from rdflib.plugins.serializers.rdfxml import XMLSerializer
from rdflib.plugins.serializers.turtle import TurtleSerializer
from rdflib.term import BNode, Literal, Node

from rdflive.feeds.terms import UnwritableError, write_term
from rdflive.model import DirectionalString, TripleTerm
from rdflive.server.failures import Problem

__all__ = [
    "ALIASES",
    "CSV",
    "DATASETS",
    "GRAPHS",
    "JSON_LD",
    "N_QUADS",
    "N_TRIPLES",
    "RDF_XML",
    "REPORTS",
    "TABLES",
    "TRIG",
    "TURTLE",
    "Output",
    "choose",
    "content_type",
    "write_csv",
    "write_graph",
    "write_table",
    "write_truth",
    "written",
]

_QUALITY: Final = re.compile(r"0(?:\.\d{0,3})?|1(?:\.0{0,3})?")


def choose(accept: str, offered: Sequence[str], aliases: Mapping[str, str]) -> str:
    """Return the best of the `offered` media types for the header Accept; the first one if all are equal.

    `aliases` are other names that clients use for them. Raises `Problem` 406.

    >>> choose("text/csv;q=0.5, text/*;q=0.1", ["application/json", "text/turtle", "text/csv"], {})
    'text/csv'
    """
    ranges = list(_ranges(accept))
    if not ranges:
        return offered[0]
    wanted = dict(ranges)
    quality = {
        kind: max(
            # aliases match literally: `text/*` does not mean N-Triples by its old name text/plain
            [_quality(kind, ranges), *(wanted.get(name, 0.0) for name in aliases if aliases[name] == kind)]
        )
        for kind in offered
    }
    best = max(offered, key=quality.__getitem__)
    if not quality[best]:
        raise Problem(406, f"none of {accept!r} is available here; available: {', '.join(offered)}")
    return best


def _ranges(accept: str) -> Iterator[tuple[str, float]]:
    """Yield media ranges with their quality; other parameters than q are ignored."""
    for part in accept.split(","):
        kind, *parameters = (piece.strip().lower() for piece in part.split(";"))
        if not kind:
            continue
        quality = next(
            (value for name, _, value in (p.partition("=") for p in parameters) if name == "q"), "1"
        )
        yield kind, float(quality) if _QUALITY.fullmatch(quality) else 1.0


def _quality(kind: str, ranges: list[tuple[str, float]]) -> float:
    """Return the quality of a media type, by the most specific range that includes it."""
    for wanted in (kind, kind.partition("/")[0] + "/*", "*/*"):
        found = [quality for name, quality in ranges if name == wanted]
        if found:
            return max(found)
    return 0.0


class Output(Protocol):
    """The output for a result."""

    def write(self, piece: bytes, /) -> int:
        """Write a piece of the result."""


JSON: Final = "application/sparql-results+json"
XML: Final = "application/sparql-results+xml"
CSV: Final = "text/csv"
TSV: Final = "text/tab-separated-values"
TURTLE: Final = "text/turtle"
N_TRIPLES: Final = "application/n-triples"
RDF_XML: Final = "application/rdf+xml"
JSON_LD: Final = "application/ld+json"
N_QUADS: Final = "application/n-quads"
TRIG: Final = "application/trig"

TABLES: Final = (JSON, XML, CSV, TSV)
"""The formats of SELECT and ASK, the preferred one first."""
GRAPHS: Final = (TURTLE, N_TRIPLES, RDF_XML, JSON_LD, N_QUADS, TRIG)
"""The formats of CONSTRUCT and DESCRIBE, the preferred one first."""
DATASETS: Final = (N_QUADS, TRIG)
"""The formats of a whole dataset, the preferred one first."""
REPORTS: Final = (TURTLE, N_TRIPLES, RDF_XML, JSON_LD)
"""The formats of a sh:ValidationReport, the preferred one first."""
ALIASES: Final = {
    "application/json": JSON,
    "application/xml": XML,
    "text/xml": XML,
    "application/x-turtle": TURTLE,
    "text/n3": TURTLE,
    # the media type of N-Triples before it had its own
    "text/plain": N_TRIPLES,
}
"""Other names that clients use for formats."""

Rows: TypeAlias = Iterator[dict[str, Node]]

_XML_HEAD: Final = (
    '<?xml version="1.0" encoding="utf-8"?>\n<sparql xmlns="http://www.w3.org/2005/sparql-results#">'
)
_BARE: Final = {
    str(XSD.boolean): re.compile("true|false"),
    str(XSD.integer): re.compile("[+-]?[0-9]+"),
}
"""The lexical forms, by datatype, that Turtle writes without quotes."""
_PARTS: Final = ("subject", "predicate", "object")
"""The names of the parts of a triple term in results."""
_NOT_XML: Final = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def content_type(kind: str) -> str:
    """Return the header Content-Type of a media type."""
    return f"{kind}; charset=utf-8" if kind.startswith("text/") else kind


def write_table(names: list[str], rows: Iterable[Mapping[Any, Node]], kind: str, output: Output) -> None:
    """Write the answer of SELECT row by row."""
    # rdflib binds the SAMPLE of nothing to None
    bound = ({str(name): row[name] for name in row if row[name] is not None} for row in rows)
    for line in _LINES[kind](names, bound):
        output.write(line.encode("utf-8"))


def write_csv(names: list[str], rows: Iterable[Iterable[str]], output: Output) -> None:
    """Write fields row by row as CSV."""
    for line in _csv_lines(names, rows):
        output.write(line.encode("utf-8"))


def write_truth(truth: bool, kind: str, output: Output) -> None:
    """Write the answer of ASK; the specification does not define it for CSV and TSV."""
    word = str(truth).lower()
    xml = f"{_XML_HEAD}<head/><boolean>{word}</boolean></sparql>"
    output.write({JSON: f'{{"head": {{}}, "boolean": {word}}}', XML: xml}.get(kind, word).encode())


def write_graph(graph: Graph, kind: str, output: Output) -> None:
    """Write the answer of CONSTRUCT or DESCRIBE."""
    kinds = (TripleTerm, DirectionalString)
    newer = next((term for term in graph.objects() if isinstance(term, kinds)), None)
    if newer is not None and kind == RDF_XML:
        raise UnwritableError(f"{newer.n3()} is a term of RDF 1.2: request Turtle")
    # N-Triples is valid Turtle and TriG; rdflib's serializer supports neither kind of term
    if kind in (N_TRIPLES, N_QUADS) or (newer is not None and kind != JSON_LD):
        for triple in graph:
            output.write((" ".join(map(written, triple)) + " .\n").encode())
    elif kind == JSON_LD:
        output.write(json.dumps(list(_nodes(graph)), ensure_ascii=False).encode())
    else:
        # serializers write a few characters at a time
        with io.BufferedWriter(_Stream(output)) as stream:
            (XMLSerializer if kind == RDF_XML else _Turtle)(graph).serialize(stream)


def _json(names: list[str], rows: Rows) -> Iterator[str]:
    yield f'{{"head": {{"vars": {json.dumps(names)}}}, "results": {{"bindings": ['
    before = ""
    for row in rows:
        yield before + json.dumps({name: _json_term(term) for name, term in row.items()})
        before = ",\n"
    yield "]}}"


def _xml(names: list[str], rows: Rows) -> Iterator[str]:
    yield f"{_XML_HEAD}<head>"
    yield from (f"<variable name={quoteattr(name)}/>" for name in names)
    yield "</head><results>\n"
    for row in rows:
        terms = (f"<binding name={quoteattr(name)}>{_xml_term(term)}</binding>" for name, term in row.items())
        yield f"<result>{''.join(terms)}</result>\n"
    yield "</results></sparql>"


def _xml_term(term: Node) -> str:
    if isinstance(term, TripleTerm):
        named = zip(_PARTS, map(_xml_term, term.parts), strict=True)
        return f"<triple>{''.join(f'<{name}>{part}</{name}>' for name, part in named)}</triple>"
    if _NOT_XML.search(str(term)):
        raise UnwritableError(f"{term!r} has a character that XML cannot contain: request JSON")
    # XML parsers read a bare carriage return as a line feed
    text = escape(str(term), {"\r": "&#13;"})
    if not isinstance(term, Literal):
        return f"<bnode>{text}</bnode>" if isinstance(term, BNode) else f"<uri>{text}</uri>"
    kind = f" datatype={quoteattr(term.datatype)}" if term.datatype else ""
    if term.language:
        kind = f" xml:lang={quoteattr(term.language)}"
    if isinstance(term, DirectionalString):
        kind += f' xmlns:its="http://www.w3.org/2005/11/its" its:version="2.0" its:dir="{term.direction}"'
    return f"<literal{kind}>{text}</literal>"


def _tsv(names: list[str], rows: Rows) -> Iterator[str]:
    yield "\t".join(f"?{name}" for name in names) + "\n"
    for row in rows:
        yield "\t".join(_field(row.get(name)) for name in names) + "\n"


def _csv(names: list[str], rows: Rows) -> Iterator[str]:
    return _csv_lines(names, ([_plain(row.get(name)) for name in names] for row in rows))


def _csv_lines(names: list[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    line = io.StringIO()
    writer = csv.writer(line, lineterminator="\r\n")
    for fields in chain([names], rows):
        writer.writerow(fields)
        yield line.getvalue()
        line.seek(0)
        line.truncate()


def _plain(term: Node | None) -> str:
    return "" if term is None else f"_:{term}" if isinstance(term, BNode) else str(term)


_LINES: Final[dict[str, Callable[[list[str], Rows], Iterator[str]]]] = {
    JSON: _json,
    XML: _xml,
    CSV: _csv,
    TSV: _tsv,
}


def _json_term(term: Node) -> dict[str, Any]:
    if isinstance(term, TripleTerm):
        value = dict(zip(_PARTS, map(_json_term, term.parts), strict=True))
        return {"type": "triple", "value": value}
    if not isinstance(term, Literal):
        return {"type": "bnode" if isinstance(term, BNode) else "uri", "value": str(term)}
    written = {"type": "literal", "value": str(term)}
    if isinstance(term, DirectionalString):
        written["its:dir"] = term.direction
    if term.language:
        return written | {"xml:lang": term.language}
    return written | ({"datatype": str(term.datatype)} if term.datatype else {})


def _field(term: Node | None) -> str:
    return "" if term is None else written(term).replace("\t", "\\t")


def written(term: Node) -> str:
    """Return a term in N-Triples 1.2."""
    if isinstance(term, TripleTerm):
        return f"<<( {' '.join(map(written, term.parts))} )>>"
    return write_term(term) + (f"--{term.direction}" if isinstance(term, DirectionalString) else "")


def _nodes(graph: Graph) -> Iterator[dict[str, Any]]:
    """Yield a graph's nodes in expanded JSON-LD, with the lexical forms of all literals."""
    for subject in graph.subjects(unique=True):
        node: dict[str, Any] = {"@id": _name(subject)}
        for predicate, value in graph.predicate_objects(subject):
            node.setdefault(str(predicate), []).append(_value(value))
        yield node


def _value(term: Node) -> dict[str, str]:
    if isinstance(term, TripleTerm):
        raise UnwritableError(f"JSON-LD has no triple terms such as {term.n3()}: request Turtle")
    if not isinstance(term, Literal):
        return {"@id": _name(term)}
    if term.language:
        direction = {"@direction": term.direction} if isinstance(term, DirectionalString) else {}
        return {"@value": str(term), "@language": term.language, **direction}
    return {"@value": str(term)} | ({"@type": str(term.datatype)} if term.datatype else {})


def _name(term: Node) -> str:
    return f"_:{term}" if isinstance(term, BNode) else str(term)


class _Turtle(TurtleSerializer):
    """Writes every literal with its lexical form."""

    def label(self, node: Node, position: int) -> str:
        if not isinstance(node, Literal):
            return super().label(node, position)
        bare = _BARE.get(str(node.datatype))
        # as write_term, but without quotes if that means the same literal
        return str(node) if bare is not None and bare.fullmatch(node) else write_term(node)


class _Stream(io.RawIOBase):
    """An output as a stream for rdflib's serializers."""

    def __init__(self, output: Output) -> None:
        self._output = output

    def writable(self) -> bool:
        return True

    def write(self, piece: Any) -> int:
        return self._output.write(bytes(piece))
