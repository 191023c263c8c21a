"""EXISTS and OPTIONAL that compare with the outer solution, over values of every kind: against SPARQL by the
book and against Oxigraph, after every commit.
"""

from __future__ import annotations

from collections import Counter
from itertools import permutations
from random import Random
from typing import Any, Final

import pytest
from rdflib import XSD, Literal, URIRef

import rdflive
from support.effort import drawn_from, examples, rounds, sampled
from support.evaluate import answer
from support.oracle import Oracle, comparable
from support.quads import Quad, Store, Sum
from support.syntax import Apply, Bind, Exists, Graph, Group, Optional, Query, Select, Triple, Var, in_scope

EX: Final = "urn:example:"
SENSOR, TIME, LIMIT = (URIRef(EX + name) for name in ("sensor", "time", "limit"))
READINGS: Final = [URIRef(f"{EX}o{number}") for number in range(6)]
SENSORS: Final = [URIRef(f"{EX}s{number}") for number in range(2)]
O, P, Q, S, T, U, W, L, M = map(Var, "opqstuwlm")  # noqa: E741 - as in the query

VALUES: Final[dict[str, list[Any]]] = {
    "numbers": [
        Literal(text, datatype=XSD[name], normalize=False)  # rdflib would write NaN and INF in its own way
        for text, name in (
            ("1", "integer"),
            ("2", "integer"),
            ("2.0", "decimal"),
            ("2.0E0", "double"),
            ("0.1", "float"),
            ("0.1", "decimal"),
            ("9007199254740993", "integer"),
            ("9007199254740992", "integer"),
            ("9.007199254740992E15", "double"),
            ("NaN", "double"),
            ("INF", "double"),
        )
    ],
    "moments": [
        Literal(text, datatype=XSD[name])
        for text, name in (
            ("2024-01-01T00:00:00Z", "dateTime"),
            ("2024-01-01T02:00:00+02:00", "dateTime"),
            ("2024-01-01T00:00:00.5Z", "dateTime"),
            ("2024-01-01T13:59:59", "dateTime"),
            ("2024-01-01T14:00:00", "dateTime"),
            ("2024-01-01T14:00:01", "dateTime"),
            ("2024-01-02T00:00:00Z", "dateTime"),
            ("2024-01-01", "date"),
            ("2024-01-02Z", "date"),
            ("10:00:00", "time"),
            ("11:00:00Z", "time"),
        )
    ],
    "others": [
        Literal("a"),
        Literal("b"),
        Literal("a", lang="en"),
        Literal("b", lang="en"),
        Literal("b", lang="fr"),
        Literal(True),
        Literal(False),
        Literal("many", datatype=XSD.integer),
        Literal("x", datatype=URIRef(EX + "unknown")),
        Literal("P1M", datatype=XSD.duration),
        Literal("P30D", datatype=XSD.duration),
        Literal("P40D", datatype=XSD.duration),
        URIRef(EX + "late"),
    ],
}
"""Values that do not compare with those of other spaces, and some not with all of their own."""
UNJUDGED: Final = {XSD.boolean, XSD.duration, URIRef(EX + "unknown")}
"""Datatypes that Oxigraph orders in another way than SPARQL: booleans not at all, and each term as itself."""


def is_judged(term: Any) -> bool:
    """Whether Oxigraph compares a term as SPARQL says: to it NaN, "many" and IRIs are at most themselves."""
    return isinstance(term, Literal) and term.datatype not in UNJUDGED and str(term) not in ("NaN", "many")


def make_write(random: Random, values: list[Any]) -> tuple[int, Quad]:
    """A write of a reading's sensor, time or limit."""
    reading = random.choice(READINGS)
    predicate = random.choice((SENSOR, TIME, TIME, LIMIT))
    term = random.choice(SENSORS if predicate == SENSOR else values)
    return random.choice((1, 1, 1, -1)), (reading, predicate, term, None)


def make_query(random: Random) -> Query:
    """Readings, and other readings that a condition compares with them."""
    outer: list[Any] = [Triple(O, TIME, T)]
    inner: list[Any] = [Triple(P, TIME, U)]
    if random.random() < 0.6:  # else all readings have one key
        outer.append(Triple(O, SENSOR, S))
        inner.append(Triple(P, SENSOR, S))
    has_limit = random.random() < 0.4
    if has_limit:
        outer.append(Optional(Group((Triple(O, LIMIT, L),))))
    if random.random() < 0.2:
        inner.append(Triple(P, LIMIT, L))  # a shared column that may be unbound, if the outer has it
    compared = L if has_limit and random.random() < 0.5 else T
    sides = [U, compared] if random.random() < 0.5 else [compared, U]
    if random.random() < 0.2:
        sides[sides.index(compared)] = Apply("+", (compared, Literal(1)))
    conditions = [Apply(random.choice(("<", "<=", ">", ">=")), tuple(sides))]
    if random.random() < 0.3:
        conditions.append(Apply("!=", (P, O)))
    if has_limit and random.random() < 0.4:
        conditions.append(Apply(random.choice(("<", ">=", "!=")), (U, L)))
    if random.random() < 0.1:
        conditions = conditions[1:] or [Apply("!=", (U, T))]
    random.shuffle(conditions)
    group = Group(tuple(inner), tuple(conditions))
    names: tuple[Any, ...] = (O, T)
    match random.choice(("exists", "exists", "mark", "optional", "optional", "unbound", "unbound")):
        case "exists":
            where = Group(tuple(outer), (Exists(group, random.random() < 0.6),))
        case "mark":
            mark = Var("mark")
            where = Group((*outer, Bind(Exists(group, random.random() < 0.5), mark)))
            names = (O, T, mark)
        case "optional":
            where, names = Group((*outer, Optional(group))), (O, T, P, U)
        case _:
            last = [Optional(Group((Triple(O, LIMIT, Var("m")),)))] * (random.random() < 0.5)
            where = Group((*outer, Optional(group), *last), (Apply("!", (Apply("BOUND", (P,)),)),))
            names = (O, T, P, U)
    return Query(Select(names, where))


ORDERS: Final[dict[str, list[tuple[str, str]]]] = {
    "moments with and without a time zone": [
        ("2024-01-01T00:00:00Z", "dateTime"),
        ("2024-01-01T10:00:00Z", "dateTime"),
        ("2024-01-02T06:00:00Z", "dateTime"),
        ("2023-12-31T21:00:00", "dateTime"),
        ("2024-01-01T05:00:00", "dateTime"),
    ],
    "numbers that are one double": [
        ("9007199254740992", "integer"),
        ("9007199254740993", "integer"),
        ("9.007199254740992E15", "double"),
        ("9007199254740992.5", "decimal"),
        ("9007199254740994", "integer"),
    ],
    "one after the other": [(str(number), "integer") for number in range(5)],
}


@pytest.mark.parametrize("sign", ["<", ">="])
@pytest.mark.parametrize("extra", [False, True], ids=["alone", "with another condition"])
@pytest.mark.parametrize("values", ORDERS)
def test_matches_may_go_in_any_order(values: str, extra: bool, sign: str) -> None:
    """Each left row loses its last match at the right time, whichever goes first."""
    terms = [Literal(text, datatype=XSD[name], normalize=False) for text, name in ORDERS[values]]
    group = Group((Triple(P, TIME, U),), (Apply(sign, (T, U)),))
    outer = [Triple(O, LIMIT, T)]
    if extra:
        outer.append(Triple(O, SENSOR, M))
        group = Group((*group.elements, Triple(P, SENSOR, W)), (*group.filters, Apply("<", (M, W))))
    query = Query(Select((O, T), Group(tuple(outer), (Exists(group),))))
    store = Store("graph")
    for reading, term, number in zip(READINGS, terms, (2, 0, 4, 1, 3), strict=False):
        store.commit([(1, (reading, LIMIT, term, None)), (1, (reading, SENSOR, Literal(number), None))])
    follower = Sum(store, str(query))
    rights = [(reading, TIME, term, None) for reading, term in zip(READINGS, terms, strict=False)]
    for order in sampled(f"{values} {extra} {sign}", [*permutations(rights)], 8):
        store.commit([(1, quad) for quad in order])
        for quad in order:
            follower.check(answer(query, store.quads))
            store.write((-1, quad))
    follower.check(answer(query, store.quads))
    follower.subscription.close()


LATER: Final = Apply(">", (U, T))
EITHER: Final = Apply("||", (LATER, Apply("!=", (S, P))))
NESTED: Final[dict[str, Group]] = {
    "the condition of an inner EXISTS reads the outermost solution": Group(
        (Triple(O, TIME, T),),
        (
            Exists(
                Group(
                    (Triple(P, TIME, U),),
                    (Exists(Group((Triple(Q, LIMIT, W),), (Apply(">", (Apply("+", (W, T)), U)),))),),
                )
            ),
        ),
    ),
    "an inner EXISTS compares with the one around it": Group(
        (Triple(O, TIME, T),),
        (
            Exists(
                Group(
                    (Triple(P, TIME, U),),
                    (LATER, Exists(Group((Triple(Q, LIMIT, W),), (Apply("<", (W, U)),)))),
                ),
                negated=True,
            ),
        ),
    ),
    "the variable that is asked for may be unbound in a match": Group(
        (
            Triple(O, TIME, T),
            Optional(Group((Triple(P, TIME, U), Optional(Group((Triple(P, LIMIT, M),)))), (LATER,))),
        ),
        (Apply("!", (Apply("BOUND", (M,)),)),),
    ),
    "the variable that is asked for is bound before": Group(
        (
            Triple(O, TIME, T),
            Optional(Group((Triple(O, LIMIT, M),))),
            Optional(Group((Triple(P, LIMIT, M), Triple(P, TIME, U)), (LATER,))),
        ),
        (Apply("!", (Apply("BOUND", (M,)),)),),
    ),
    "the variable that is asked for is bound behind": Group(
        (
            Triple(O, TIME, T),
            Optional(Group((Triple(P, TIME, U),), (LATER,))),
            Optional(Group((Triple(P, LIMIT, M),))),
        ),
        (Apply("!", (Apply("BOUND", (P,)),)),),
    ),
    "only the outer solution links the patterns": Group(
        (Triple(O, TIME, T), Triple(O, SENSOR, S)),
        (Exists(Group((Triple(O, LIMIT, M), Triple(P, SENSOR, S), Triple(P, TIME, U)), (LATER,))),),
    ),
    "inside GRAPH": Group(
        (Graph(S, Group((Triple(O, TIME, T),))),),
        (Exists(Group((Graph(S, Group((Triple(P, TIME, U),), (LATER,))),))),),
    ),
    "inside GRAPH of a variable that the filter names": Group(
        (Triple(O, TIME, T),),
        (Exists(Group((Graph(S, Group((Triple(P, TIME, U),), (EITHER,))),))),),
    ),
    "inside a subquery": Group(
        (Triple(O, TIME, T),),
        (Exists(Group((Select((P, U), Group((Triple(P, TIME, U),), (LATER,))),)), negated=True),),
    ),
    "a shared column may be unbound": Group(
        (Triple(O, TIME, T), Optional(Group((Triple(O, LIMIT, M),)))),
        (Exists(Group((Triple(P, TIME, U), Triple(P, LIMIT, M)), (LATER,))),),
    ),
}


@pytest.mark.parametrize("name", NESTED)
def test_nested_comparisons_equal_full_evaluation(name: str) -> None:
    """After each commit the deltas add up to the answer."""
    where = NESTED[name]
    query = Query(Select(tuple(sorted(in_scope(where))), where))
    random, terms = drawn_from(name), [Literal(number) for number in range(3)]
    for _ in range(rounds(80)):
        store = Store("dataset")

        def write(store: Store = store) -> None:
            sign, quad = make_write(random, terms)
            store.write((sign, (*quad[:3], random.choice([None, *SENSORS]) if "GRAPH" in name else None)))

        for _ in range(20):
            write()
        follower = Sum(store, str(query))
        for _ in range(8):
            follower.check(answer(query, store.quads))
            with rdflive.batch(store.graph):
                for _ in range(random.choice((1, 2))):
                    write()
        follower.check(answer(query, store.quads))
        follower.subscription.close()


def test_comparisons_with_the_outer_solution_are_those_of_oxigraph() -> None:
    """Oxigraph answers the same after each commit, over the values that it orders as SPARQL says."""
    terms = [term for some in VALUES.values() for term in some if is_judged(term)]
    random, judge = drawn_from("judged"), Oracle()
    for _ in range(rounds(300)):
        query, store = make_query(random), Store("oxigraph graph")
        judge.graph.remove((None, None, None))
        follower = Sum(store, str(query))
        for _ in range(random.randint(1, 4)):
            writes = [make_write(random, terms) for _ in range(random.choice((1, 6, 12)))]
            store.commit(writes)
            for sign, quad in writes:
                (judge.graph.add if sign > 0 else judge.graph.remove)(quad[:3])
            names, rows = judge.table(str(query))
            assert follower.weights == Counter(comparable(zip(names, row, strict=True)) for row in rows)
        follower.subscription.close()


@pytest.mark.parametrize("kind", ["graph", "oxigraph graph", "dataset"])
@pytest.mark.parametrize("values", [*VALUES, "all"])
def test_comparisons_with_the_outer_solution_equal_full_evaluation(kind: str, values: str) -> None:
    """After each commit the deltas add up to the answer; of what is deleted nothing stays."""
    terms = [term for name, some in VALUES.items() if values in (name, "all") for term in some]
    answered = 0
    count = examples(240, sample=kind == "dataset")
    for number in range(count):
        random = drawn_from(kind, values, number)
        query, store = make_query(random), Store(kind)
        for _ in range(random.choice((0, 20, 40))):
            store.commit([make_write(random, terms)])
        follower = Sum(store, str(query))
        with follower.subscription as subscription:
            for _ in range(random.randint(1, 6)):
                follower.check(answer(query, store.quads))
                writes = [make_write(random, terms) for _ in range(random.choice((1, 1, 2, 6)))]
                if random.random() < 0.1:  # everything goes at once
                    writes = [(-1, quad) for quad in sorted(store.quads, key=str)]
                store.commit(writes)
            follower.check(answer(query, store.quads))
            whole = sorted(store.quads, key=str)
            for sign in (-1, 1, -1):
                for quad in whole:
                    store.write((sign, quad))
                follower.check(answer(query, store.quads))
            assert subscription.stats.entries == 0
            state = subscription._live()
        assert (len(state.dictionary), state.views) == (0, {})
        answered += bool(follower.most)
    assert answered >= count / 2
