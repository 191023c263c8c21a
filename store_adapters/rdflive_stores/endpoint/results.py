"""Answers of an endpoint to quads: complete and well-formed, or a fault."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from rdflib.term import BNode, Literal, URIRef

from rdflive.feeds import meaningful, to_lines
from rdflive.feeds.terms import RowReader, UnwritableError, write_term
from rdflive.http import HttpFault, media_type
from rdflive.model import Quad, exact_literal
from rdflive_stores.endpoint.queries import COUNT_PREDICATE, COUNT_SUBJECT
from rdflive_stores.endpoint.requests import EndpointAnswer

__all__ = ["JSON_RESULTS", "N_TRIPLES", "ResultRows", "WrongFormat", "read_rows"]

N_TRIPLES: Final = "application/n-triples"
JSON_RESULTS: Final = "application/sparql-results+json"
_N_TRIPLES: Final = (N_TRIPLES, "text/plain")  # text/plain: its media type before 2014
_JSON: Final = (JSON_RESULTS, "application/json")
_OPEN_END: Final = re.compile(rb"_:[^\s<>\"]*\.\Z")
"""The end of an answer that may be cut: the dot may end the triple, or stand in a longer label (`_:b.1`)."""


class WrongFormat(HttpFault):
    """The answer is in another format than the one that was asked for."""


class ResultRows(NamedTuple):
    """The rows of one answer, and how many there are in all; None where the answer does not say."""

    quads: tuple[Quad, ...]
    keys: tuple[int, ...]
    """What tells the rows of an answer apart: two spellings of a number may be one quad here."""
    total: int | None


def read_rows(answer: EndpointAnswer, *, construct: bool) -> ResultRows:
    """Read the answer to a query of `Needed`; raises `HttpFault` for what is cut, torn or no RDF."""
    given = media_type(answer.headers)
    accepted = _N_TRIPLES if construct else _JSON
    if answer.status == 406 or given not in accepted:
        raise WrongFormat(f"the answer is {given}, not {accepted[0]}: is this the URL of a SPARQL endpoint?")
    try:
        rows = list(_read_triples(answer.body) if construct else _read_json(answer.body))
        counts = [_count(term) for _, term in rows if not isinstance(term, Quad)]
    # RecursionError is for JSON that is nested too deeply
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise HttpFault(f"the answer is malformed or cut: {type(error).__name__}: {error}") from error
    quads = [(key, quad) for key, quad in rows if isinstance(quad, Quad)]
    total = counts[0] if len(counts) == 1 else None
    return ResultRows(tuple(quad for _, quad in quads), tuple(key for key, _ in quads), total)


def _read_triples(body: bytes) -> Iterator[tuple[int, Quad | Any]]:
    """Give each triple, and the number of rows, with the hash of its spelling."""
    if _OPEN_END.search(body):
        raise ValueError("the last line has no end, and its blank node may go on")
    for line in meaningful(to_lines(io.BytesIO(body), "the answer")):
        if line.fault:
            raise ValueError(line.fault)
        quad = RowReader(line.text).quad()
        if quad.graph is not None:
            raise ValueError(f"line {line.number}: a triple has a graph")
        is_count = quad.subject == COUNT_SUBJECT and quad.predicate == COUNT_PREDICATE
        yield hash(line.text), quad.object if is_count else quad


def _read_json(body: bytes) -> Iterator[tuple[int, Quad | Any]]:
    """Read SPARQL 1.1 Query Results JSON, whose last brace shows that nothing is cut."""
    for row in json.loads(body)["results"]["bindings"]:
        key = hash(json.dumps(row, sort_keys=True))
        if "n" in row:
            yield key, _term(row["n"])
            continue
        graph = _term(row["g"]) if "g" in row else None
        quad = Quad(_term(row["s"]), _term(row["p"]), _term(row["o"]), graph)
        if isinstance(quad.subject, Literal) or not isinstance(quad.predicate, URIRef):
            raise ValueError(f"{quad!r} is no triple")
        if isinstance(quad.graph, Literal):
            raise ValueError(f"{quad.graph!r} is no graph")
        yield key, quad


def _term(given: dict[str, Any]) -> URIRef | BNode | Literal:
    kind, text = given["type"], given["value"]
    text.encode()  # a lone surrogate, which JSON can hold, is no text
    match kind:
        case "uri":
            term: URIRef | BNode | Literal = URIRef(text)
        case "bnode":
            term = BNode(text)
        case "literal" | "typed-literal":
            language, datatype = given.get("xml:lang"), given.get("datatype")
            term = exact_literal(text, language or None, None if language else datatype)
            if language:
                return term
        case _:
            raise ValueError(f"a term of type {kind!r} is none of RDF 1.1")
    try:
        write_term(term)
    except UnwritableError as error:
        # an odd label is only a name within the answer; an odd IRI would be misread
        if not isinstance(term, BNode):
            raise ValueError(str(error)) from error
    return term


def _count(term: Any) -> int:
    """Read the number of rows; ValueError for what is no number."""
    if not isinstance(term, Literal):
        raise ValueError(f"the number of rows is {term!r}")
    return int(str(term))
