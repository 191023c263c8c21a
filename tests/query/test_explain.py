"""What explanations say about a plan: each operator, its columns, what it keeps and costs."""

from __future__ import annotations

import dataclasses
import re

import pytest
import rdflib

import rdflive
from rdflive.query import algebra
from rdflive.query.explain import Explanation
from rdflive.query.explain_words import describe
from rdflive.query.outline import outline
from rdflive.query.parse import parse_query
from rdflive.query.plan import make_plan

PREFIX = "PREFIX : <u:> "
PATH = "SELECT ?a ?c { ?a :p ?b . ?b :q ?c }"

OPERATORS = {
    "Values": ("SELECT * { VALUES (?a ?b) { (1 2) (3 UNDEF) } ?a :p ?c }", "Values of ?a, ?b: 2 rows"),
    "Join": ("SELECT * { ?a :p ?b { SELECT DISTINCT ?b { ?b :q ?c } } }", "Join on ?b"),
    "LeftJoin": (
        "SELECT * { ?a :p ?b OPTIONAL { ?a :q ?c FILTER(?b > ?c) } }",
        "LeftJoin (OPTIONAL) on ?a, if ?b > ?c",
    ),
    "Minus": ("SELECT * { ?a :p ?b MINUS { ?a :q ?c } }", "Minus on ?a"),
    "Exists": ("SELECT * { ?a :p ?b FILTER NOT EXISTS { ?a :q ?c } }", "Filter NOT EXISTS on ?a"),
    "Union": ("SELECT * { { ?a :p ?b } UNION { ?a :q ?c } }", "Union of 2"),
    "Filter": (
        "SELECT * { ?a :p ?b OPTIONAL { ?b :q ?c } FILTER(!BOUND(?c)) }",
        "Filter !BOUND(?c)",
    ),
    "Extend": ("SELECT * { ?a :p ?b BIND(?b + 1 AS ?c) }", "Extend (BIND) ?c := ?b + 1"),
    "Project": ("SELECT * { GRAPH ?g { ?a :p ?b } }", "?g := graph of GRAPH ?g"),
    "Distinct": ("SELECT DISTINCT ?a { { ?a :p ?b } UNION { ?a :q ?c } }", "Distinct ?a"),
    "Group": (
        "SELECT ?a (SUM(?b) AS ?n) { ?a :p ?b } GROUP BY ?a",
        "keeps per group its row, an exact sum for SUM",
    ),
    "Slice": (
        "SELECT ?a { ?a :p ?b } ORDER BY DESC(?b) LIMIT 3 OFFSET 2",
        "Slice OFFSET 2 LIMIT 3 by DESC(?b)",
    ),
    "Closure": ("SELECT * { ?a :p ?b . ?b :q+ ?c }", "Path + ?b → ?c by steps _:from → _:to, from its seeds"),
    "Construct": (
        "CONSTRUCT { ?a :r [] } WHERE { ?a :p ?b }",
        "keeps the count of each solution, for the template's blank nodes",
    ),
}
"""Per operator of the algebra a query and what its explanation says."""


def explain(text: str) -> Explanation:
    return Explanation(make_plan(parse_query(PREFIX + text)))


def operators() -> list[type[algebra.Node]]:
    kinds = (getattr(algebra, name) for name in algebra.__all__)
    return [k for k in kinds if isinstance(k, type) and issubclass(k, algebra.Node) and k is not algebra.Node]


@pytest.mark.parametrize("kind", operators(), ids=lambda kind: kind.__name__)
def test_every_operator_has_words(kind: type[algebra.Node]) -> None:
    """Each operator of the algebra occurs in an explained query, and is described there."""
    text, said = OPERATORS.get(kind.__name__, (PATH, "class: var-connected"))
    plan = make_plan(parse_query(PREFIX + text))
    assert any(type(step.node) is kind for step in plan.steps)
    explanation = Explanation(plan)
    assert said in str(explanation)
    assert explanation.mermaid()
    assert explanation.svg()


def test_an_operator_without_words_is_an_error() -> None:
    """A new operator must be described before a plan with it can be explained."""

    @dataclasses.dataclass(frozen=True, eq=False)
    class Novel(algebra.Values):
        pass

    plan = make_plan(parse_query(PREFIX + PATH))
    novel = dataclasses.replace(plan.steps[0], node=algebra.Node(), basic=None)
    with pytest.raises(NotImplementedError, match="Node"):
        describe(novel, plan, _names(plan))


def _names(plan: object) -> object:
    from rdflive.query.explain_names import Names

    return Names(plan)
