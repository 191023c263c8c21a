"""Random expressions: against Oxigraph, and against rdflib where it does what SPARQL says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdflive.query.expressions import Expression
from rdflive.query.rdflib_evaluation import evaluate_with_rdflib
from support import expressions as e

KINDS = {
    "logic": e.LOGIC,
    "arithmetic": [*e.LOGIC, *e.ARITHMETIC],
    "texts": [*e.LOGIC, *e.TEXTS],
    "casts": [*e.CASTS, *e.ARITHMETIC],
    "times": [*e.LOGIC, *e.TIMES],
}


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=100)
@given(st.data())
def test_expression_has_the_value_that_oxigraph_gives(kind: str, data: st.DataObject) -> None:
    """A random expression over random terms has Oxigraph's value, or is an error as there."""
    node, bound = data.draw(e.expressions(KINDS[kind])), data.draw(e.bindings())
    text = Expression(node).text
    assert e.comparable(e.evaluate(node, **e.terms_of(bound))) == e.comparable(e.ask_oxigraph(text, bound))


INTEGERS = e.expressions(e.SUMS, st.sampled_from(["?a", "?b", "1"]).map(e.node), leaves=3)
COMPARED = st.builds(e.fill, st.sampled_from(e.COMPARISONS), INTEGERS, INTEGERS)


@settings(deadline=None, max_examples=150)
@given(e.expressions(["?_1 || ?_2", "?_1 && ?_2", "! ?_1", "IF(?_1, ?_2, ?_3)"], COMPARED), st.data())
def test_expression_has_the_value_that_rdflib_gives(node: Any, data: st.DataObject) -> None:
    """Logic over comparisons of sums of integers has the value that rdflib's evaluator gives."""
    terms = e.Numbers()
    columns, ids = e.row(terms, e.terms_of(data.draw(e.bindings("0", "1", "2", "7"))))
    assert Expression(node).term(columns, terms)(ids) == evaluate_with_rdflib(columns, terms, node)(ids)
