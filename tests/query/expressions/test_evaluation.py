"""Random expressions: against Oxigraph, and against rdflib where it does what SPARQL says."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rdflive.query.expressions import Expression
from rdflive.query.expressions.rdflib_evaluation import evaluate_with_rdflib
from support import expressions as e
from support.effort import examples

# Oxigraph makes zero divided by a decimal with places an error, so nothing divides zero here
ARITHMETIC = [template.replace("?_1 / ?_2", "(?_1 + 7.13) / ?_2") for template in e.ARITHMETIC]
KINDS = {
    "logic": (e.LOGIC, [*e.TERMS, *e.MOMENTS]),
    "arithmetic": ([*e.LOGIC, *ARITHMETIC], e.TERMS),
    "texts": ([*e.TEXTS, *e.EQUALITY], [*e.TERMS, *e.TAGGED * 2]),
    "casts": ([*e.CASTS, *ARITHMETIC], e.TERMS),
    "times": ([*e.TIMES, *e.LOGIC], [*e.NUMBERS, *e.MOMENTS * 2]),
}


TRUTH = re.compile(r"!(?!=)|&&|[|][|]|\bIF\(")
MULTIPLIES = e.ask_oxigraph("0 * 1.5", {"a": "0"}) is not None
"""Whether this version of Oxigraph has decimal products of zero; 0.5.10 takes them for errors."""


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=examples(200))
@given(st.data())
def test_expression_has_the_value_that_oxigraph_gives(kind: str, data: st.DataObject) -> None:
    """A random expression over random terms has Oxigraph's value, or is an error as there."""
    templates, terms = KINDS[kind]
    node, bound = (
        data.draw(e.expressions(templates, [*e.VARIABLES, *terms])),
        data.draw(e.bindings([*terms, "UNDEF"])),
    )
    text = Expression(node).text
    assume(MULTIPLIES or "*" not in text)
    # to Oxigraph an ill-formed number has no truth; it is false (SPARQL 1.1, 17.2.2)
    assume(not TRUTH.search(text) or "abc" not in f"{text} {bound}")
    assert e.comparable(e.evaluate(node, **e.terms_of(bound))) == e.comparable(e.ask_oxigraph(text, bound))


INTEGERS = e.expressions(e.SUMS, ["?a", "?b", "1"], leaves=3)
COMPARED = st.builds(e.fill, st.sampled_from(["?_1 = ?_2", "?_1 != ?_2", *e.ORDER]), INTEGERS, INTEGERS)
LOGIC = ["?_1 || ?_2", "! ?_1", "IF(?_1, ?_2, ?_3)", "COALESCE(?_1, ?_2)"]


@settings(deadline=None, max_examples=examples(200))
@given(st.builds(e.fill, st.sampled_from(LOGIC), COMPARED, COMPARED, COMPARED), st.data())
def test_expression_has_the_value_that_rdflib_gives(node: Any, data: st.DataObject) -> None:
    """Logic over comparisons of sums of integers has the value that rdflib's evaluator gives."""
    terms = e.Numbers()
    columns, ids = e.row(terms, e.terms_of(data.draw(e.bindings(["0", "1", "2", "7"]))))
    assert Expression(node).term(columns, terms)(ids) == evaluate_with_rdflib(columns, terms, node)(ids)
