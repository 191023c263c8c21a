"""Solution modifiers over any store: ORDER BY with EXISTS and with DISTINCT, groups that EXISTS looks at."""

from __future__ import annotations

from typing import Any

import pytest
import rdflib
from rdflib import Literal, URIRef

from rdflive.errors import UnsupportedQueryError
from rdflive.query.parse import parse_query
from support.effort import checked, drawn_from
from support.quads import Store, Sum
from support.queries import NODES, PREDICATES, Quad, make_quad

A, B, C = NODES
P, Q = (predicate.n3() for predicate in PREDICATES)
HAS = f"EXISTS {{ ?s {Q} ?z }}"
ROWS = f"{{ ?s {P} ?o }}"
MARKED = f"{{ ?s {P} ?o OPTIONAL {{ SELECT DISTINCT ?s (true AS ?has) {{ ?s {Q} ?any }} }} }}"

SAME: dict[str, tuple[str, str]] = {
    "order by exists": (
        f"SELECT ?s ?o {ROWS} ORDER BY {HAS} ?s ?o",
        f"SELECT ?s ?o {MARKED} ORDER BY BOUND(?has) ?s ?o",
    ),
    "order by exists downwards, a slice": (
        f"SELECT ?s ?o {ROWS} ORDER BY DESC({HAS}) ?o ?s LIMIT 3 OFFSET 1",
        f"SELECT ?s ?o {MARKED} ORDER BY DESC(BOUND(?has)) ?o ?s LIMIT 3 OFFSET 1",
    ),
    "order by not exists with a path and a filter": (
        f"SELECT ?s ?o {ROWS} ORDER BY (NOT EXISTS {{ ?s ({Q}|{Q}) ?z FILTER(?z != ?o || true) }}) ?s ?o",
        f"SELECT ?s ?o {MARKED} ORDER BY (!BOUND(?has)) ?s ?o",
    ),
    "having exists": (
        f"SELECT ?s {ROWS} GROUP BY ?s HAVING({HAS})",
        f"SELECT DISTINCT ?s {{ ?s {P} ?o . ?s {Q} ?z }}",
    ),
    "having exists of a name that is free after grouping": (
        f"SELECT ?s {ROWS} GROUP BY ?s HAVING(EXISTS {{ ?s {Q} ?o }})",
        f"SELECT DISTINCT ?s {{ ?s {P} ?o . ?s {Q} ?z }}",
    ),
    "having exists among others": (
        f"SELECT (COUNT(?o) AS ?n) {ROWS} GROUP BY ?s HAVING(COUNT(?o) > 1 && NOT {HAS})",
        f"SELECT ?n {{ {{ SELECT ?s (COUNT(?o) AS ?n) {ROWS} GROUP BY ?s }}"
        f" FILTER(?n > 1) MINUS {{ ?s {Q} ?z }} }}",
    ),
    "having exists of an aggregate's subquery": (
        f"SELECT ?s {ROWS} GROUP BY ?s"
        f" HAVING(EXISTS {{ {{ SELECT ?s (COUNT(?z) AS ?n) {{ ?s {Q} ?z }} GROUP BY ?s"
        f" HAVING(EXISTS {{ ?s {P} ?z }}) }} }})",
        f"SELECT DISTINCT ?s {{ ?s {P} ?o . ?s {Q} ?z }}",
    ),
    "project exists": (
        f"SELECT ?s ?o ({HAS} AS ?e) {ROWS}",
        f"SELECT ?s ?o (BOUND(?has) AS ?e) {MARKED}",
    ),
    "exists with an aggregate inside groups nothing": (
        f"SELECT ?s {ROWS} ORDER BY EXISTS {{ SELECT (COUNT(?z) AS ?n) {{ ?s {Q} ?z }} }} ?s",
        f"SELECT ?s {ROWS} ORDER BY ?s",
    ),
    "group by an expression in brackets": (
        f"SELECT (COUNT(*) AS ?n) {ROWS} GROUP BY (STR(?s)) ((?o))",
        f"SELECT (COUNT(*) AS ?n) {ROWS} GROUP BY (STR(?s) AS ?x) ?o",
    ),
    "group by exists in brackets": (
        f"SELECT (COUNT(*) AS ?n) {ROWS} GROUP BY ({HAS})",
        f"SELECT (COUNT(*) AS ?n) {MARKED} GROUP BY ?has",
    ),
    "distinct, order by a projected aggregate": (
        f"SELECT DISTINCT ?s (COUNT(?o) AS ?n) {ROWS} GROUP BY ?s ORDER BY DESC(COUNT(?o)) ?s",
        f"SELECT ?s ?n {{ {{ SELECT ?s (COUNT(?o) AS ?n) {ROWS} GROUP BY ?s }} }} ORDER BY DESC(?n) ?s",
    ),
    "distinct, order by the name of an aggregate": (
        f"SELECT DISTINCT ?s (COUNT(?o) AS ?n) {ROWS} GROUP BY ?s ORDER BY ?n ?s",
        f"SELECT ?s ?n {{ {{ SELECT ?s (COUNT(?o) AS ?n) {ROWS} GROUP BY ?s }} }} ORDER BY ?n ?s",
    ),
    "distinct, order by names and aggregates": (
        f"SELECT DISTINCT ?s (COUNT(?o) AS ?n) (COUNT(DISTINCT ?s) AS ?m) {ROWS}"
        " GROUP BY ?s ORDER BY DESC(COUNT(?o) + 1) ?m ?s",
        "SELECT ?s ?n ?m { { SELECT ?s (COUNT(?o) AS ?n) (COUNT(DISTINCT ?s) AS ?m)"
        f" {ROWS} GROUP BY ?s }} }} ORDER BY DESC(?n) ?m ?s",
    ),
    "distinct, order by a name beside an aggregate after having": (
        f"SELECT DISTINCT ?s (COUNT(?o) AS ?n) {ROWS} GROUP BY ?s HAVING(COUNT(?o) > 1)"
        " ORDER BY DESC(COUNT(?o)) ?s",
        f"SELECT ?s ?n {{ {{ SELECT ?s (COUNT(?o) AS ?n) {ROWS} GROUP BY ?s }} FILTER(?n > 1) }}"
        " ORDER BY DESC(?n) ?s",
    ),
    "distinct, order by a projected expression": (
        f"SELECT DISTINCT (STR(?o) AS ?x) {ROWS} ORDER BY DESC(STR(?o))",
        f"SELECT DISTINCT ?x {{ ?s {P} ?o BIND(STR(?o) AS ?x) }} ORDER BY DESC(?x)",
    ),
    "distinct, order by what another name stands for": (
        f"SELECT DISTINCT (?o AS ?x) {ROWS} ORDER BY ?o LIMIT 2",
        f"SELECT DISTINCT ?o {ROWS} ORDER BY ?o LIMIT 2",
    ),
    "distinct subquery": (
        f"SELECT * {{ {{ SELECT DISTINCT (STR(?o) AS ?x) {ROWS} ORDER BY STR(?o) LIMIT 2 }} }}",
        f"SELECT DISTINCT ?x {{ ?s {P} ?o BIND(STR(?o) AS ?x) }} ORDER BY ?x LIMIT 2",
    ),
}

MATCHED: list[Quad] = [
    (A, predicate, target, None)
    for predicate, target in ((PREDICATES[0], B), (PREDICATES[0], C), (PREDICATES[1], B))
]
"""Each of the queries has an answer over some of these."""


@pytest.mark.parametrize(("text", "same"), SAME.values(), ids=SAME)
def test_modifiers_give_what_rdflib_gives_for_the_same_in_other_words(text: str, same: str) -> None:
    """After every write the answer, in order, is rdflib's own to an equal query that it can evaluate."""
    random = drawn_from(text)
    store = Store("graph")
    followed = Sum(store, text)
    names = parse_query(text).names
    quads = list(dict.fromkeys([*MATCHED, *(make_quad(random, graphs=False) for _ in range(17))]))
    for write, compared in checked([(1, quad) for quad in quads] + [(-1, quad) for quad in quads]):
        store.write(write)
        if compared:
            followed.check(evaluated(store.quads, same, names))
    assert followed.most


def evaluated(quads: set[Quad], text: str, names: tuple[str, ...], **options: Any) -> list[dict[Any, Any]]:
    """Let rdflib answer, its columns being called by the names given, in their order."""
    graph = rdflib.Graph()
    for s, p, o, _ in quads:
        graph.add((s, p, o))
    rows = graph.query(text, **options)
    return [
        {name: term for name, term in zip(names, row, strict=True) if term is not None}  # type: ignore[arg-type]  # SELECT
        for row in rows
    ]


def test_grouped_variable_may_be_one_that_init_bindings_fix() -> None:
    """A variable grouped by and projected is the constant that initBindings gives, as for rdflib."""
    text = f"SELECT ?s (COUNT(?o) AS ?n) {ROWS} GROUP BY ?s"
    bindings: Any = {"s": A}
    random = drawn_from("grouped")
    store = Store("graph")
    followed = Sum(store, text, initBindings=bindings)
    quads = list(dict.fromkeys([*MATCHED, *(make_quad(random, graphs=False) for _ in range(17))]))
    for write, compared in checked([(1, quad) for quad in quads] + [(-1, quad) for quad in quads]):
        store.write(write)
        if compared:
            followed.check(evaluated(store.quads, text, ("s", "n"), initBindings=bindings))
    assert followed.most


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT DISTINCT ?s {ROWS} ORDER BY STR(?o)",
        f"SELECT DISTINCT (STR(?o) AS ?x) {ROWS} ORDER BY ?o",
        f"SELECT DISTINCT ?s {ROWS} ORDER BY {HAS}",
        f"SELECT DISTINCT ?s (COUNT(?o) AS ?n) {ROWS} GROUP BY ?s ORDER BY MAX(?o)",
        f"SELECT DISTINCT ?s (COUNT(?o) AS ?n) {ROWS} GROUP BY ?s ORDER BY COUNT(DISTINCT ?o)",
    ],
)
def test_distinct_refuses_an_order_that_its_rows_do_not_have(text: str) -> None:
    """What is not projected, nor made of what is, has no single value per distinct row."""
    with pytest.raises(UnsupportedQueryError, match="ORDER BY"):
        parse_query(text)


def test_order_reads_the_projected_column() -> None:
    """An aggregate that is projected is sorted by where it stands, without a column of its own."""
    query = parse_query(f"SELECT ?s (COUNT(?o) AS ?n) {ROWS} GROUP BY ?s ORDER BY DESC(COUNT(?o)) ?n")
    assert [condition.expression.variables for condition in query.order] == [("n",), ("n",)]
    assert len(query.root.columns) == 2


def test_order_of_distinct_rows_is_that_of_literals() -> None:
    """Numbers sort by value also where they are found through the expression."""
    store = Store("graph")
    followed = Sum(store, f"SELECT DISTINCT (?o * 1 AS ?x) {ROWS} ORDER BY (?o * 1)")
    for number in (10, 9, 100):
        store.write((1, (URIRef("urn:s"), PREDICATES[0], Literal(number), None)))
    assert [int(str(row["x"])) for row in followed.subscription.answers()] == [9, 10, 100]


def test_an_aggregate_of_an_expression_beside_an_order_by_name() -> None:
    """What HAVING samples need not be a variable for ORDER BY to find the names of SELECT."""
    text = f"SELECT DISTINCT (COUNT(DISTINCT *) AS ?u) {ROWS} HAVING(SAMPLE(?o + 1) > 1) ORDER BY DESC(?u)"
    assert parse_query(text).names == ("u",)
