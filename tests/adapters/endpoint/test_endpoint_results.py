"""Answers are read whole and strictly, or not at all."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import BNode, Literal, URIRef

from rdflive.http import HttpFault
from rdflive.model import Quad
from rdflive_stores.endpoint.requests import EndpointAnswer
from rdflive_stores.endpoint.results import JSON_RESULTS, N_TRIPLES, ResultRows, read_rows
from support.effort import examples
from support.feeds import IRIS, LITERALS, NODES
from support.feeds import write_term as write

COUNT = "<urn:x-rdflive:endpoint> <urn:x-rdflive:rows>"
ROW: dict[str, Any] = {name: {"type": "uri", "value": f"urn:{name}"} for name in "spo"}


def read(body: bytes, kind: str = N_TRIPLES) -> ResultRows:
    headers = {"Content-Type": f"{kind}; charset=utf-8"}
    return read_rows(EndpointAnswer(200, headers, body), construct=kind == N_TRIPLES)


def in_json(*rows: dict[str, Any]) -> bytes:
    return json.dumps({"head": {"vars": ["s", "p", "o", "n"]}, "results": {"bindings": rows}}).encode()


@settings(max_examples=examples(100))
@given(st.lists(st.tuples(NODES, IRIS, st.one_of(NODES, LITERALS)), max_size=5))
def test_triples_come_as_they_were_written(triples: list[tuple[Any, Any, Any]]) -> None:
    """N-Triples in any spelling of characters give the terms, and the number of rows apart from them."""
    lines = [" ".join(map(write, triple)) for triple in triples]
    body = "".join(f"{text} .\n" for text in [*lines, f'{COUNT} "{len(lines)}"']).encode()
    assert read(body)[0] == tuple(Quad(*triple) for triple in triples)
    assert read(body).total == len(lines)


@settings(max_examples=examples(100))
@given(st.lists(st.tuples(NODES, IRIS, st.one_of(NODES, LITERALS)), min_size=1, max_size=3), st.data())
def test_no_part_of_an_answer_is_taken_for_all_of_it(
    triples: list[tuple[Any, Any, Any]], data: st.DataObject
) -> None:
    """Wherever an answer is cut, it is malformed, or lacks the number of rows or rows themselves."""
    lines = [f'{COUNT} "{len(triples)}"', *(" ".join(map(write, triple)) for triple in triples)]
    body = "".join(f"{text} .\n" for text in lines).encode()
    cut = body[: data.draw(st.integers(0, len(body) - 2))]
    try:
        rows = read(cut)
    except HttpFault:
        return
    assert rows.total is None or len(rows.quads) < rows.total


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_an_answer_may_be_cut_at_a_dot_of_a_blank_node(end: str) -> None:
    """`_:b.1 .` that is cut behind the first dot reads like a triple of another node."""
    triple = "<urn:s> <urn:p> _:b."
    with pytest.raises(HttpFault, match="may be incomplete"):
        read(f'{COUNT} "1" .\n{triple}'.encode())
    assert read(f'{COUNT} "1" .\n{triple}{end}'.encode()).quads == read(f"{triple}{end}".encode()).quads
    for last in ("_:b .", "<urn:_:b>.", '"1"^^<urn:_:b>.', '"_:b".'):
        assert len(read(f'{COUNT} "1" .\n<urn:s> <urn:p> {last}'.encode()).quads) == 1


@given(st.binary(max_size=60))
@pytest.mark.parametrize("kind", [N_TRIPLES, JSON_RESULTS])
def test_any_bytes_give_rows_or_a_fault(kind: str, body: bytes) -> None:
    """No answer makes the reader fail in another way."""
    with suppress(HttpFault):
        assert isinstance(read(body, kind), ResultRows)


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["uri", "literal", "bnode"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["results", "bindings", "s", "p", "o", "g", "n", "type", "value", "datatype", "xml:lang"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(_JSON, st.sampled_from(["whole", "rows", "terms"]))
def test_any_json_gives_rows_or_a_fault(given_json: Any, depth: str) -> None:
    """Whatever is in place of the results, of a row or of a term, it is rows or a fault."""
    if depth == "rows":
        given_json = {"results": {"bindings": [given_json]}}
    elif depth == "terms":
        given_json = {"results": {"bindings": [{**ROW, "o": given_json}]}}
    with suppress(HttpFault):
        assert isinstance(read(json.dumps(given_json).encode(), JSON_RESULTS), ResultRows)


def test_json_terms_are_those_of_the_results_format() -> None:
    """IRIs, labels, plain, typed and tagged literals, with or without a graph."""
    objects = [
        ({"type": "bnode", "value": "b1"}, BNode("b1")),
        ({"type": "literal", "value": "x"}, Literal("x")),
        ({"type": "literal", "value": "x", "xml:lang": "en"}, Literal("x", lang="en")),
        (
            {"type": "typed-literal", "value": "x", "datatype": "urn:t"},
            Literal("x", datatype=URIRef("urn:t")),
        ),
    ]
    body = in_json(
        *({**ROW, "o": term, "g": ROW["s"]} for term, _ in objects), {"n": {"type": "literal", "value": "4"}}
    )
    rows = read(body, JSON_RESULTS)
    assert [quad.object for quad in rows.quads] == [term for _, term in objects]
    assert {quad.graph for quad in rows.quads} == {URIRef("urn:s")}
    assert rows.total == 4


@pytest.mark.parametrize(
    ("name", "term"),
    [
        ("o", {"type": "triple", "value": {}}),
        ("o", {"type": "uri", "value": "relative"}),
        ("o", {"type": "uri", "value": "urn:a b"}),
        ("o", {"type": "literal", "value": "x", "datatype": "not an iri"}),
        ("o", {"type": "literal", "value": "x", "xml:lang": "not a tag!"}),
        ("o", {"type": "literal", "value": "\ud800"}),
        ("s", {"type": "literal", "value": "x"}),
        ("p", {"type": "bnode", "value": "x"}),
        ("g", {"type": "literal", "value": "x"}),
        ("n", {"type": "uri", "value": "urn:n"}),
    ],
)
def test_json_that_is_no_triple_is_a_fault(name: str, term: dict[str, Any]) -> None:
    """What cannot stand there in RDF 1.1 is not taken in."""
    with pytest.raises(HttpFault):
        read(in_json({**ROW, name: term}), JSON_RESULTS)


def test_deep_json_is_a_fault() -> None:
    """A nest of brackets does not exhaust the stack."""
    with pytest.raises(HttpFault):
        read(b"[" * 100_000, JSON_RESULTS)


def test_rows_are_counted_and_spelled_as_they_came() -> None:
    """An answer that counts twice says nothing, and two spellings of a number are two rows."""
    assert read(f'{COUNT} "1" .\n{COUNT} "2" .\n'.encode()).total is None
    number = '"{}"^^<http://www.w3.org/2001/XMLSchema#integer>'
    body = "".join(f"<urn:s> <urn:p> {number.format(text)} .\n" for text in ("1", "01"))
    rows = read(f'{body}{COUNT} "2" .\n'.encode())
    assert len(rows.keys) == len(set(rows.keys)) == len(set(rows.quads)) == 2
