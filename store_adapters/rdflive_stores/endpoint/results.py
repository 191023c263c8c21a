"""Parsing of an endpoint's answers to quads; incomplete or malformed answers raise a fault."""

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
_N_TRIPLES: Final = (N_TRIPLES, "text/plain")  # text/plain was its media type before 2014
_JSON: Final = (JSON_RESULTS, "application/json")
_OPEN_END: Final = re.compile(rb"_:[^\s<>\"]*\.\Z")
"""The end of a possibly truncated answer: the dot ends the triple, or is part of a label (`_:b.1`)."""


class WrongFormat(HttpFault):
    """The answer has another format than the requested one."""


class ResultRows(NamedTuple):
    """The rows of one answer, and the total number of rows; None if the answer lacks it."""

    quads: tuple[Quad, ...]
    keys: tuple[int, ...]
    """Keys that distinguish rows by spelling: two spellings of a number may be one quad."""
    total: int | None


def read_rows(answer: EndpointAnswer, *, construct: bool) -> ResultRows:
    """Parse the answer to a query of `Needed`; raises `HttpFault` if it is truncated or malformed."""
    given = media_type(answer.headers)
    accepted = _N_TRIPLES if construct else _JSON
    if answer.status == 406 or given not in accepted:
        raise WrongFormat(f"the answer is {given}, not {accepted[0]}: is this the URL of a SPARQL endpoint?")
    try:
        rows = list(_read_triples(answer.body) if construct else _read_json(answer.body))
        counts = [_count(term) for _, term in rows if not isinstance(term, Quad)]
    # RecursionError is for JSON that is nested too deeply
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise HttpFault(f"the answer is malformed or truncated: {type(error).__name__}: {error}") from error
    quads = [(key, quad) for key, quad in rows if isinstance(quad, Quad)]
    total = counts[0] if len(counts) == 1 else None
    return ResultRows(tuple(quad for _, quad in quads), tuple(key for key, _ in quads), total)


def _read_triples(body: bytes) -> Iterator[tuple[int, Quad | Any]]:
    """Yield each triple, and the number of rows, with the hash of its spelling."""
    if _OPEN_END.search(body):
        raise ValueError("the last line has no end, and its blank node label may be incomplete")
    for line in meaningful(to_lines(io.BytesIO(body), "the answer")):
        if line.fault:
            raise ValueError(line.fault)
        quad = RowReader(line.text).quad()
        if quad.graph is not None:
            raise ValueError(f"line {line.number}: a triple has a graph")
        is_count = quad.subject == COUNT_SUBJECT and quad.predicate == COUNT_PREDICATE
        yield hash(line.text), quad.object if is_count else quad


def _read_json(body: bytes) -> Iterator[tuple[int, Quad | Any]]:
    """Parse SPARQL 1.1 Query Results JSON, whose last brace shows that it is complete."""
    for row in json.loads(body)["results"]["bindings"]:
        key = hash(json.dumps(row, sort_keys=True))
        if "n" in row:
            yield key, _term(row["n"])
            continue
        graph = _term(row["g"]) if "g" in row else None
        quad = Quad(_term(row["s"]), _term(row["p"]), _term(row["o"]), graph)
        if isinstance(quad.subject, Literal) or not isinstance(quad.predicate, URIRef):
            raise ValueError(f"{quad!r} is not a triple")
        if isinstance(quad.graph, Literal):
            raise ValueError(f"{quad.graph!r} is not a graph name")
        yield key, quad


def _term(given: dict[str, Any]) -> URIRef | BNode | Literal:
    kind, text = given["type"], given["value"]
    text.encode()  # refuses lone surrogates, which JSON can hold
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
            raise ValueError(f"a term of type {kind!r} is not in RDF 1.1")
    try:
        write_term(term)
    except UnwritableError as error:
        # an odd label is only local to the answer; an odd IRI would be misread
        if not isinstance(term, BNode):
            raise ValueError(str(error)) from error
    return term


def _count(term: Any) -> int:
    """Return the number of rows; raises ValueError for any other term."""
    if not isinstance(term, Literal):
        raise ValueError(f"the number of rows is {term!r}")
    return int(str(term))
