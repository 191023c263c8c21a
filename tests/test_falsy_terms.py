"""Literals such as 0, false and "" are terms like all others: rdflive asks none for its truth in Python."""

from __future__ import annotations

import io
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rdflib import Graph, Literal, Namespace

import rdflive
from rdflive.sinks import NdjsonSink

EX = Namespace("http://e/")
TERMS = [
    Literal(0),
    Literal(False),
    Literal(""),
    Literal("", lang="en"),
    Literal(1),
    Literal("a"),
]
QUERIES = (
    "SELECT ?v { :a :p ?v }",
    "SELECT DISTINCT ?v { ?s :p|:q ?v } ORDER BY STR(?v)",
    "SELECT ?v ?w { ?s :p ?v OPTIONAL { ?s :q ?w } }",
    "SELECT ?v (COALESCE(?none, ?v, 7) AS ?w) { :a :p ?v }",
    "SELECT (IF(BOUND(?v), ?v, 7) AS ?w) { ?s :q ?x OPTIONAL { ?s :p ?v } }",
    "SELECT ?v { :a :p ?v FILTER(?v) }",
    "SELECT ?v { :a :p ?v FILTER(?v IN (0, false, '')) }",
    "SELECT ?v { :a :p ?v VALUES ?v { 0 false '' 9 } }",
    "SELECT ?v { ?s :p ?v MINUS { ?t :q ?v } }",
    "SELECT ?v { ?s :p ?v FILTER NOT EXISTS { ?t :q ?v } }",
    "SELECT ?v (COUNT(?s) AS ?n) { ?s :p ?v } GROUP BY ?v",
    "SELECT ?s (COUNT(DISTINCT ?v) AS ?n) (SAMPLE(?w) AS ?x) { ?s :q ?v OPTIONAL { ?s :p ?w } } GROUP BY ?s",
    "SELECT (STRBEFORE(?t, '') AS ?x) (STRAFTER(?t, '') AS ?y) { :a :p ?v BIND(STR(?v) AS ?t) }",
    "SELECT (STRBEFORE(?t, 'a') AS ?x) (CONCAT(?t, '') AS ?y) { :a :p ?v BIND(STR(?v) AS ?t) }",
    "SELECT ?x { :a :p ?v BIND(?v AS ?x) FILTER(sameTerm(?x, 0) || sameTerm(?x, '')) }",
    "SELECT ?s ?v { ?s (:p|:q)+ ?v }",
    "SELECT ?s { ?s :p 0 , false , '' }",
)
"""Their answers are those of rdflib."""
SHAPES = """@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <http://e/> .
:S sh:targetObjectsOf :p ; sh:nodeKind sh:IRI ; sh:in ( 0 ) . :T sh:targetNode 0, false, "" ; sh:hasValue 0 .
:U sh:targetNode :a ; sh:property [ sh:path :p ; sh:hasValue "" ; sh:disjoint :q ; sh:maxInclusive 0 ] ;
    sh:sparql [ sh:select "SELECT $this (?v AS ?value) (STR(?v) AS ?message) { $this <http://e/p> ?v }" ] ."""


@pytest.fixture
def asking(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Give the places of rdflive that ask a literal for its truth."""
    found: list[str] = []
    truth = Literal.__bool__

    def asked(literal: Literal) -> bool:
        frame = sys._getframe(1)
        if frame.f_globals.get("__name__", "").startswith(("rdflive.", "rdflive_stores.")):
            found.append(f"{frame.f_code.co_filename}:{frame.f_lineno}")
        return truth(literal)

    monkeypatch.setattr(Literal, "__bool__", asked)
    yield found
    assert not found


def changes() -> Iterator[tuple[Any, Any, Any]]:
    """List triples with all of the terms."""
    for term in TERMS:
        yield EX.a, EX.p, term
        yield EX.b, EX.q, term
    yield EX.c, EX.q, EX.a
    yield EX.b, EX.p, Literal("")


@pytest.mark.parametrize("query", QUERIES)
def test_answers_are_those_of_rdflib(query: str, asking: list[str]) -> None:
    """As such terms come and go."""
    graph, text = Graph(), f"PREFIX : <http://e/> {query}"
    with rdflive.subscribe(graph, text) as live:
        for change in (graph.add, graph.remove):
            for place, each in enumerate(changes()):
                change(each)
                if place % 4 == 3:
                    wanted = Counter(tuple(row) for row in graph.query(text))
                    assert Counter(tuple(row) for row in live.answers()) == wanted


def test_results_and_deltas_have_them(tmp_path: Path, asking: list[str]) -> None:
    """Of shapes, of a guard and of rules; written out, and after a restart."""
    graph, lines = Graph(), io.StringIO()
    rules = "{ ?s <http://e/p> ?v } => { ?s <http://e/r> ?v } ."
    with (
        rdflive.validate(graph, SHAPES) as validation,
        rdflive.guard(graph, "ASK { <http://e/a> <http://e/z> 0 }"),
        rdflive.subscribe(graph, "SELECT ?v { ?s <http://e/r> ?v }", NdjsonSink(lines), rules=rules) as live,
    ):
        resume: dict[str, Any] = {"resume": tmp_path / "journal", "name": "me"}
        rdflive.subscribe(graph, "SELECT ?v { ?s <http://e/p> ?v }", lambda delta: None, **resume).close()
        for each in changes():
            graph.add(each)
        missed: list[Any] = []
        rdflive.subscribe(graph, "SELECT ?v { ?s <http://e/p> ?v }", missed.append, **resume).close()
        assert {row.v for delta in missed for row in delta.added} == set(TERMS)
        assert {row.v for row in live.answers()} == set(TERMS)
        assert {row.value for row in validation.answers() if row.focus == EX.a} >= set(TERMS)
        with pytest.raises(rdflive.ValidationError):
            graph.add((EX.a, EX.z, Literal(0)))
    assert lines.getvalue().count('"value":""') + lines.getvalue().count('"value": ""') >= 2
