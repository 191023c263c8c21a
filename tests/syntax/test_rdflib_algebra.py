"""What rdflib's evaluator is given, where it does not do as SPARQL says by itself."""

from __future__ import annotations

import re
from typing import Any

import pytest
from rdflib import Dataset, Literal, URIRef
from rdflib.plugins.sparql.evaluate import evalPart
from rdflib.plugins.sparql.sparql import Prologue, QueryContext
from rdflib.term import Variable

from rdflive.errors import UnsupportedQueryError
from rdflive.model import TripleTerm
from rdflive.syntax.algebra import algebra_of
from rdflive.syntax.rdflib_algebra import to_rdflib
from rdflive.syntax.reader import read_query
from support.effort import drawn_from, rounds
from support.expressions import PREFIXES, evaluate
from support.random_values import random_call

TRIPLE = TripleTerm(URIRef("urn:a"), URIRef("urn:b"), Literal("c"))


def answered(text: str) -> list[Any]:
    """Give the values of `?x` that rdflib finds in a dataset that holds one triple term."""
    dataset = Dataset()
    dataset.default_graph.add((URIRef("urn:s"), URIRef("urn:p"), TRIPLE))
    context = QueryContext(dataset, initBindings={})
    context.prologue = Prologue()
    result = evalPart(context, to_rdflib(algebra_of(read_query(text))))
    return [row.get(Variable("x")) for row in result["bindings"]]


@pytest.mark.parametrize(
    "failing", ["REGEX('a', '(')", "SUBSTR('abc', 2, 1e300)", "IRI('rel')", "URI('http://e/a b')", "IRI(1)"]
)
@pytest.mark.parametrize("place", ["BIND({} AS ?x)", "FILTER({})", "BIND(1 AS ?x) FILTER(!{})"])
def test_what_a_function_stumbles_over_is_an_error_of_sparql(failing: str, place: str) -> None:
    """BIND leaves its variable unbound, and a filter lets nothing through."""
    found = answered(f"SELECT * {{ ?s ?p ?o {place.format(failing)} }}")
    assert found == ([None] if place.startswith("BIND({}") else [])


@pytest.mark.parametrize(
    ("call", "value"),
    [
        (r"REGEX('Éa', '^\\p{Lu}')", Literal(True)),
        ("REGEX('a_b'@en, '^\\\\w+$')", Literal(False)),
        ("REGEX('AB', 'a b', 'ix')", Literal(True)),
        ("REPLACE('abc'@en, '[a-c-[b]]', '<$0>')", Literal("<a>b<c>", lang="en")),
        ("REPLACE('abc', 'b*', 'x')", None),
        ("REPLACE('abc', 'b', '$')", None),
        ("REPLACE('abc', 1, 'x')", None),
    ],
)
def test_regular_expressions_are_those_of_xpath(call: str, value: Any) -> None:
    """In rdflib's evaluator as in rdflive's."""
    assert answered(f"SELECT ({call} AS ?x) {{ }}") == [value]


@pytest.mark.parametrize("key", ["?x", "DESC(?x)", "(?x + 1)", "DESC(REGEX('a', ?x))"])
def test_errors_and_triple_terms_can_be_ordered(key: str) -> None:
    """They come where what is unbound comes, in any order among themselves."""
    values = [Literal("("), TRIPLE, Literal("a"), None]
    found = answered(f"SELECT * {{ VALUES ?x {{ '(' {TRIPLE.n3()} 'a' UNDEF }} }} ORDER BY {key}")
    assert set(found) == set(values)
    if key == "?x":
        assert set(found[:2]) == {TRIPLE, None}
        assert found[2:] == [Literal("("), Literal("a")]


def test_triple_terms_are_matched_as_constants() -> None:
    """So they are found where all their parts are given."""
    assert answered(f"SELECT ?x {{ ?x ?p {TRIPLE.n3()} }}") == [URIRef("urn:s")]


@pytest.mark.parametrize(
    ("text", "construct"),
    [
        ("SELECT * { ?s ?p ?o FILTER(hasLANG(?o)) }", "HASLANG"),
        ("SELECT (<<( ?s ?p ?o )>> AS ?t) { ?s ?p ?o }", "TRIPLE"),
        ("SELECT * { ?s ?p ?o FILTER EXISTS { ?s ?p ?x FILTER(isTRIPLE(?x)) } }", "ISTRIPLE"),
        ("SELECT * { ?s ?p <<( ?a ?b ?c )>> }", "BGP"),
        ("SELECT * { ?s ?p <<( _:a <urn:b> 'c' )>> }", "BGP"),
        ("SELECT * { ?s ?p <<( <urn:a> <urn:b> <<( <urn:a> <urn:b> ?c )>> )>> }", "BGP"),
        ("CONSTRUCT { ?s ?p <<( ?s ?p ?o )>> } WHERE { ?s ?p ?o }", "ConstructQuery"),
    ],
)
def test_what_rdflib_does_not_know_is_refused(text: str, construct: str) -> None:
    """Rather than a wrong answer, or an error in the middle of one."""
    with pytest.raises(UnsupportedQueryError, match="rdflib's evaluator") as caught:
        answered(text)
    assert caught.value.construct == construct


# what rdflib evaluates by its own functions
OWN = re.compile(
    r"(?:!|IF|COALESCE|sameTerm|is|STR|LANG|DATATYPE|UCASE|LCASE|ENCODE|MD5|SHA|CON|SUB|STRDT)\w*\("
)


def test_values_are_those_of_live_queries() -> None:
    """Comparisons, arithmetic, casts and parts of dates have the values that a subscription gives them."""
    random = drawn_from("rdflib", 3)
    calls = [call for call in (random_call(random) for _ in range(rounds(2000))) if not OWN.match(call)]
    assert calls
    for call in calls:
        (found,) = answered(f"{PREFIXES} SELECT ({call} AS ?x) {{ }}")
        assert found == evaluate(call), call
