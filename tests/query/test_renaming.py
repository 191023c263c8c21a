"""Plans with other names: what is found for a text is what would be planned for it alone."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from rdflib import RDF, URIRef

from rdflive.query.known import find_plan
from rdflive.query.parse import parse_query
from rdflive.query.plan import Plan, make_plan
from support.effort import drawn_from

E = "http://e/"
RENAMED = [
    "SELECT ?a ?b { ?a <1> ?b }",
    "SELECT ?a ?c { ?a <1> ?b . ?b <2> ?c }",
    "SELECT ?a { ?a a ?k ; <1> ?b ; <2> ?c . ?c <3> <4> }",
    "SELECT ?a { ?a <1> ?b , ?c ; <2> <3> FILTER(?b != ?c && ?c > 5) }",
    "SELECT ?b (COUNT(?a) AS ?n) { ?a <1> ?b OPTIONAL { ?b <2> ?c } } GROUP BY ?b",
    "SELECT DISTINCT ?a { { ?a <1> ?b } UNION { ?a <2> ?b } MINUS { ?a <3> ?x } }",
    "SELECT ?a ?x { ?a <1> ?b BIND(?b + 1 AS ?x) } ORDER BY ?x LIMIT 3",
    "ASK { ?a <1> ?b . ?b <2> ?a { SELECT ?a { ?a <2> ?z } } }",
    "SELECT ?g ?a { GRAPH ?g { ?a <1> ?b ; <2> ?c } }",
]
"""Texts of which all names may be others."""
OTHERS = [
    "SELECT ?a { ?a <1>+ ?b . ?b <2> ?c }",
    "SELECT ?s { <1> (<2>?)? ?s }",
    "SELECT ?a { ?a <1> ?b FILTER NOT EXISTS { ?b <2> <1> } }",
    "SELECT ?a { ?a <1> ?b FILTER(?b != <1>) }",
    "SELECT ?a { ?a ?p <1> VALUES ?p { <2> <3> } }",
    "SELECT ?a { ?a <1> ?b BIND(EXISTS { ?b <2> ?c } AS ?x) FILTER(!?x) }",
    "CONSTRUCT { ?a <1> ?b } { ?a <2> ?b ; <1> ?c }",
    "SELECT ?a { GRAPH <1> { ?a <2> ?b } ?a <1> ?b }",
    "SELECT ?a FROM <1> { ?a <1> ?b }",
    "SELECT ?a { ?a <1> <<( ?b <1> <2> )>> }",
    "SELECT ?a { ?a <1> ?b . <1> ?b ?a }",
]
"""Texts some names of which stand elsewhere too."""
NAMES = [*(f"{E}n{i}" for i in range(6)), f"{E}0", f"{E}zz", str(RDF.type), str(RDF.value)]


def _seen(plan: Plan) -> Any:
    query = plan.query
    return (
        repr(query.root), query.form, query.names, query.shape, list(query.parameters), query.order,
        query.bound, plan.steps and repr(plan.steps), plan.places, plan.parameters, plan.member,
    )  # fmt: skip


@pytest.mark.parametrize("family", [False, True])
@pytest.mark.parametrize("text", [*RENAMED, *OTHERS])
def test_a_plan_with_other_names_is_the_one_that_is_made_for_them(text: str, family: bool) -> None:
    """Whatever the names are, and in whatever order they sort."""
    random = drawn_from(text)
    few = [*permutations(NAMES[:4], 4), *(tuple(random.sample(NAMES, 4)) for _ in range(60))]
    few += [tuple(random.choices(NAMES, k=4)) for _ in range(20)]
    reused = 0
    for names in few:
        written = text
        for number, name in enumerate(names, 1):
            written = written.replace(f"<{number}>", f"<{name}>")
        found = find_plan(written, init_ns={}, family=family)
        reused += found.plan.original is not None
        made = make_plan(parse_query(written, family=family))
        assert dict(zip(found.plan.parameters, found.terms, strict=True)) == made.query.parameters, written
        if found.plan.original is not None:
            assert _seen(found.plan) == _seen(made), written
    if text in RENAMED:
        assert reused > len(few) // 3


def test_a_name_is_changed_wherever_it_stands() -> None:
    """Also in the patterns that the engine takes, not only in those that are explained."""
    for name in ("a", "b"):
        plan = find_plan(f"SELECT * {{ ?x <{E}{name}> ?y . ?y <{E}{name}> ?z }}", init_ns={}).plan
        (basic,) = plan.basics
        (segment,) = basic.segments
        assert {pattern.predicate for pattern in segment.patterns} == {URIRef(E + name)}
        assert set(plan.constants) == {URIRef(E + name)}


def test_what_is_equal_in_one_text_alone_tells_plans_apart() -> None:
    """A name twice is not two names."""
    for first, second in (("p", "q"), ("p", "p"), ("r", "s")):
        text = f"SELECT * {{ ?x <{E}{first}> ?y . ?x <{E}{second}> ?z . ?u <{E}p> ?x }}"
        plan = find_plan(text, init_ns={}).plan
        assert _seen(plan) == _seen(make_plan(parse_query(text)))


def test_a_name_is_none_that_a_variable_is_bound_to() -> None:
    """The term of a variable is put into patterns too, and stays what it is where a name changes."""
    for name, term in (("p", "q"), ("q", "q"), ("q", "r"), ("r", "q")):
        text = f"SELECT * {{ ?x <{E}{name}> ?y . ?y ?z ?x }}"
        for family in (False, True):
            bindings = {"z": URIRef(E + term)}
            found = find_plan(text, init_ns={}, init_bindings=bindings, family=family).plan
            made = make_plan(parse_query(text, init_bindings=bindings, family=family))
            assert _seen(found) == _seen(made)
