"""Deltas as lines of JSON."""

from __future__ import annotations

import io
import json

import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from rdflib import BNode, Literal, URIRef

import rdflive
from rdflive.model import Delta, Header
from rdflive.sinks import NdjsonSink, to_ndjson

TERMS = [
    (URIRef("http://e/é"), {"type": "uri", "value": "http://e/é"}),
    (BNode("b1"), {"type": "bnode", "value": "b1"}),
    (Literal("a\n\u2028😀"), {"type": "literal", "value": "a\n\u2028😀"}),
    (Literal("x", lang="en"), {"type": "literal", "value": "x", "xml:lang": "en"}),
    (
        Literal("01", datatype=rdflib.XSD.integer, normalize=False),
        {"type": "literal", "value": "01", "datatype": str(rdflib.XSD.integer)},
    ),
    (Literal("x", datatype=rdflib.XSD.string), {"type": "literal", "value": "x"}),
    (Literal("\ud800"), {"type": "literal", "value": "\ud800"}),
]


def delta_of(*rows: tuple[object, ...], names: tuple[str, ...] = ("x",)) -> Delta:
    return Delta(Header("SELECT", names), dict.fromkeys(rows, 1), sequence=7)


@pytest.mark.parametrize(("term", "written"), TERMS)
def test_ndjson_terms_are_those_of_sparql_results(term: object, written: dict[str, str]) -> None:
    """Each kind of term is written as SPARQL 1.1 Query Results JSON does, in UTF-8 and one line."""
    line = to_ndjson(delta_of((term,)))
    assert len(line.encode().splitlines()) == 1
    assert json.loads(line) == {"sequence": 7, "initial": False, "added": [{"x": written}], "removed": []}


def test_ndjson_repeats_solutions_and_leaves_unbound_variables_out() -> None:
    """A solution is listed as often as it came or went, with what it binds."""
    delta = Delta(
        Header("SELECT", ("x", "y")), {(Literal("a"), None): 2, (None, None): -1}, sequence=1, initial=True
    )
    line = json.loads(to_ndjson(delta))
    a = {"x": {"type": "literal", "value": "a"}}
    assert line == {"sequence": 1, "initial": True, "added": [a, a], "removed": [{}]}


def test_ndjson_of_ask_has_a_boolean() -> None:
    """In place of solutions an ASK query has the answer from now on; triples bind their three parts."""
    for answer in (True, False):
        delta = Delta(Header("ASK", ()), {(): 1 if answer else -1}, sequence=3)
        assert json.loads(to_ndjson(delta)) == {"sequence": 3, "initial": False, "boolean": answer}
    triple = (BNode("b"), URIRef("http://e/p"), Literal(1))
    delta = Delta(Header("CONSTRUCT", ()), {triple: 1}, sequence=1)
    assert list(json.loads(to_ndjson(delta))["added"][0]) == ["subject", "predicate", "object"]


def test_ndjson_sink_is_a_callback() -> None:
    """A subscription with the sink as callback writes a line per delta; closing leaves the stream open."""
    stream, graph = io.StringIO(), rdflib.Graph()
    sink = NdjsonSink(stream)
    with rdflive.subscribe(graph, "SELECT ?s { ?s <http://e/p> ?o }", sink):
        graph.add((URIRef("http://e/s"), URIRef("http://e/p"), Literal("é")))
    sink.close()
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["sequence"], len(line["added"])) for line in lines] == [(0, 0), (1, 1)]


@given(st.text(st.characters(exclude_categories=())), st.sampled_from([None, "en", "de-AT"]))
def test_ndjson_keeps_every_text(text: str, language: str | None) -> None:
    """Any literal can be read back from its line; its language is in lower case."""
    term = json.loads(to_ndjson(delta_of((Literal(text, lang=language),))))["added"][0]["x"]
    assert (term["value"], term.get("xml:lang")) == (text, language and language.lower())
