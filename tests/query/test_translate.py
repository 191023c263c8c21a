"""Queries whose translation has to take care, followed from an empty graph to a full one and back."""

from __future__ import annotations

from random import Random

import pytest
from rdflib import Literal

from support.oracle import Oracle, from_native
from support.quads import Store, Sum
from support.queries import NODES, PREDICATES, Quad

A, B, C = NODES
P, Q = (predicate.n3() for predicate in PREDICATES)
HAS = f"EXISTS {{ ?s {Q} ?z }}"
ROWS = f"{{ ?s {P} ?o }}"
QUADS: list[Quad] = [
    *((s, PREDICATES[0], o, None) for s, o in ((A, B), (A, C), (B, C), (C, A), (B, B))),
    *((s, PREDICATES[1], o, None) for s, o in ((A, C), (B, A), (C, C), (C, B))),
    (A, PREDICATES[1], Literal(1), None),
    (C, PREDICATES[0], Literal(1), None),
    (B, PREDICATES[1], Literal(2), None),
]
QUERIES = {
    "a filter over a variable of one branch": (
        f"SELECT * {{ {{ ?x {P} ?y }} UNION {{ ?x {Q} ?z }} FILTER(?y != {B.n3()}) }}"
    ),
    "a filter over a variable that the last of three binds": (
        f"SELECT * {{ {{ ?x {P} ?y OPTIONAL {{ ?x {Q} 1 . ?x {Q} ?z }} }}"
        f" {{ ?y {P} ?u OPTIONAL {{ ?u {Q} 2 . ?u {Q} ?z }} }}"
        f" {{ SELECT ?z {{ ?v {Q} ?z }} }} FILTER(?z != ?x) }}"
    ),
    "a join on a variable of one branch": (
        f"SELECT * {{ {{ {{ ?x {P} ?y }} UNION {{ ?x {P} ?y . ?y {Q} ?z }} }} {{ ?w {Q} ?z }} }}"
    ),
    "a join on what one row of VALUES binds": (
        f"SELECT * {{ VALUES (?x ?y) {{ ({A.n3()} UNDEF) (UNDEF {C.n3()}) }} ?x {P} ?y }}"
    ),
    "IRIs of VALUES beside UNDEF": f"SELECT * {{ ?x {P} ?y VALUES ?x {{ {A.n3()} UNDEF }} }}",
    "IRIs of VALUES beside a literal": f"SELECT * {{ ?x {Q} ?y VALUES ?y {{ {A.n3()} 1 }} }}",
    "an IRI that VALUES has twice": f"SELECT * {{ ?x {P} ?y VALUES ?x {{ {A.n3()} {B.n3()} {A.n3()} }} }}",
    "VALUES beside OPTIONAL": (
        f"SELECT * {{ ?x {P} ?y OPTIONAL {{ ?y {Q} ?z }} VALUES ?z {{ {A.n3()} {B.n3()} }} }}"
    ),
    "BIND of an IRI between two patterns": (
        f"SELECT * {{ ?x {P} ?y BIND({B.n3()} AS ?z) ?z {Q} ?w . ?x {P} ?u FILTER(?y != ?z || ?u = ?z) }}"
    ),
    "OPTIONAL with a condition on what is not shown": (
        f"SELECT ?x ?z {{ ?x {P} ?y OPTIONAL {{ ?x {Q} ?z FILTER(?z != ?y) }} }}"
    ),
    "a filter on a slice": (
        f"SELECT * {{ {{ SELECT ?x ?y {{ ?x {P} ?y }} ORDER BY ?x ?y LIMIT 2 }} FILTER(?y != {B.n3()}) }}"
    ),
    "a path backwards": f"SELECT * {{ ?x (^{P})+ ?y }}",
    "a path from a blank node to itself": f"SELECT (COUNT(*) AS ?n) {{ _:b {P}+ _:b }}",
    "a path from a blank node to itself, or none": f"SELECT ?x {{ ?x {Q} _:b . _:b ({P}|{Q})* _:b }}",
    "an optional step from a blank node to itself": f"SELECT (COUNT(*) AS ?n) {{ _:b {P}? _:b }}",
    "a path over two predicates backwards": f"SELECT * {{ ?x {P} {B.n3()} . ?x (^({P}/{Q}))+ ?y }}",
    "a pattern between two others": f"SELECT * {{ ?x {P} ?y . ?z {Q} ?w . ?y {Q} ?z }}",
    "patterns between three others": (
        f"SELECT DISTINCT ?x ?w {{ ?x {P} ?y . ?z {P} ?u . ?v {Q} ?w . ?y {Q} ?z . ?u {Q} ?v }}"
    ),
    "EXISTS that looks at equal rows": (
        f"SELECT ?x {{ ?x {P} ?y FILTER EXISTS {{ ?z {Q} ?w FILTER(?w != ?x) }} }}"
    ),
    "EXISTS of what one branch binds": (
        f"SELECT * {{ ?x {P} ?y FILTER EXISTS {{"
        f" {{ ?x {Q} ?z }} UNION {{ ?x {Q} ?y }} OPTIONAL {{ ?y {P} ?w }} FILTER(!BOUND(?w)) }} }}"
    ),
    "counts of what every row binds and of what some do": (
        "SELECT ?y (COUNT(?x) AS ?all) (COUNT(?z) AS ?some) (COUNT(DISTINCT ?x) AS ?different)"
        f" {{ ?x {P} ?y OPTIONAL {{ ?x {Q} ?z }} }} GROUP BY ?y"
    ),
    "groups by what an OPTIONAL without a match would bind": (
        f"SELECT ?w ?y (COUNT(*) AS ?n) {{ ?x {P} ?y OPTIONAL {{ ?x {Q} ?w }} FILTER(!BOUND(?w)) }}"
        " GROUP BY ?w ?y"
    ),
    "order by exists downwards, a slice": (
        f"SELECT ?s ?o {ROWS} ORDER BY DESC({HAS}) ?o ?s LIMIT 3 OFFSET 1"
    ),
    "order by not exists with a path and a filter": (
        f"SELECT ?s ?o {ROWS} ORDER BY (NOT EXISTS {{ ?s ({Q}|{Q}) ?z FILTER(?z != ?o || true) }}) ?s ?o"
    ),
    "having exists of a name that is free after grouping": (
        f"SELECT ?s {ROWS} GROUP BY ?s HAVING(EXISTS {{ ?s {Q} ?o }})"
    ),
    "having exists among others": (
        f"SELECT (COUNT(?o) AS ?n) {ROWS} GROUP BY ?s HAVING(COUNT(?o) > 1 && NOT {HAS})"
    ),
    "having exists of an aggregate's subquery": (
        f"SELECT ?s {ROWS} GROUP BY ?s"
        f" HAVING(EXISTS {{ {{ SELECT ?s (COUNT(?z) AS ?n) {{ ?s {Q} ?z }} GROUP BY ?s"
        f" HAVING(EXISTS {{ ?s {P} ?z }}) }} }})"
    ),
    "project exists": f"SELECT ?s ?o ({HAS} AS ?e) {ROWS}",
    "exists with an aggregate inside groups nothing": (
        f"SELECT ?s {ROWS} ORDER BY EXISTS {{ SELECT (COUNT(?z) AS ?n) {{ ?s {Q} ?z }} }} ?s"
    ),
    "group by an expression in brackets": f"SELECT (COUNT(*) AS ?n) {ROWS} GROUP BY (STR(?s)) ((?o))",
    "group by exists in brackets": f"SELECT (COUNT(*) AS ?n) {ROWS} GROUP BY ({HAS})",
    "distinct, order by a projected aggregate": (
        f"SELECT DISTINCT ?s (COUNT(?o) AS ?n) {ROWS} GROUP BY ?s ORDER BY DESC(COUNT(?o)) ?s"
    ),
    "distinct, order by names and aggregates": (
        f"SELECT DISTINCT ?s (COUNT(?o) AS ?n) (COUNT(DISTINCT ?s) AS ?m) {ROWS}"
        " GROUP BY ?s ORDER BY DESC(COUNT(?o) + 1) ?m ?n ?s"
    ),
    "distinct, order by a name beside an aggregate after having": (
        f"SELECT DISTINCT ?s (COUNT(?o) AS ?n) {ROWS} GROUP BY ?s HAVING(COUNT(?o) > 1)"
        " ORDER BY DESC(COUNT(?o)) ?s"
    ),
    "distinct, order by a projected expression": (
        f"SELECT DISTINCT (STR(?o) AS ?x) {ROWS} ORDER BY DESC(STR(?o))"
    ),
    "distinct, order by what another name stands for": (
        f"SELECT DISTINCT (?o AS ?x) {ROWS} ORDER BY ?o LIMIT 2"
    ),
    "distinct subquery": (
        f"SELECT * {{ {{ SELECT DISTINCT (STR(?o) AS ?x) {ROWS} ORDER BY STR(?o) LIMIT 2 }} }}"
    ),
    "distinct, order by the value of an expression": (
        f"SELECT DISTINCT (?n * 9 AS ?x) {{ ?s {Q} ?n FILTER(isNUMERIC(?n)) }} ORDER BY (?n * 9)"
    ),
}


@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES)
def test_answers_are_those_of_oxigraph(text: str) -> None:
    """After every write the answer is what another engine finds in the whole graph."""
    store = Store("graph")
    followed = Sum(store, text)
    there, back = QUADS[:], QUADS[:]
    Random(1).shuffle(there)
    Random(2).shuffle(back)
    for write in [(1, quad) for quad in there] + [(-1, quad) for quad in back]:
        store.write(write)
        names, rows = Oracle(quad[:3] for quad in store.quads).table(text)
        solutions = [
            {name: from_native(row[name]) for name in names if row[name] is not None} for row in rows
        ]
        followed.check(solutions)
    assert followed.most


def test_undef_is_what_init_bindings_fix() -> None:
    """Rows of VALUES that leave the variable out, or name its term, stay; a group has it for its key."""
    store = Store("graph")
    rows = f"(UNDEF {B.n3()}) ({A.n3()} {C.n3()}) ({C.n3()} {A.n3()})"
    text = f"SELECT ?y {{ VALUES (?x ?y) {{ {rows} }} ?x {P} ?y }}"
    followed = Sum(store, text, initBindings={"x": A})
    for quad in QUADS:
        store.write((1, quad))
    counts = Sum(store, f"SELECT ?s (COUNT(?o) AS ?n) {ROWS} GROUP BY ?s", initBindings={"s": A})
    followed.check([{"y": B}, {"y": C}])
    counts.check([{"s": A, "n": Literal(2)}])


def test_a_path_of_no_steps_joins_nodes_of_the_graph() -> None:
    """A term that comes from elsewhere reaches itself while it is a node, whichever end it is."""
    store = Store("graph")
    values = f"VALUES ?x {{ {A.n3()} {B.n3()} 1 2 }}"
    there, back = (Sum(store, f"SELECT * {{ {values} {path} }}") for path in (f"?x {P}* ?y", f"?y {P}* ?x"))
    for quad in ((A, PREDICATES[1], Literal(1), None), (C, PREDICATES[0], A, None)):
        store.write((1, quad))
    a, one = {"x": A, "y": A}, {"x": Literal(1), "y": Literal(1)}
    there.check([a, one])
    back.check([a, one, {"x": A, "y": C}])
    store.write((-1, (A, PREDICATES[1], Literal(1), None)))
    there.check([a])
