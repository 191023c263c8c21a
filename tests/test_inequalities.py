"""EXISTS and OPTIONAL that compare with the outer solution, over values of every kind, against SPARQL by the book
and against Oxigraph, after every commit.
"""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from rdflib import XSD, Literal, URIRef

from support.effort import drawn_from, examples, rounds
from support.evaluate import answer
from support.oracle import Oracle, comparable
from support.quads import Quad, Store, Sum
from support.syntax import Apply, Bind, Exists, Group, Optional, Query, Select, Triple, Var

EX: Final = "urn:example:"
SENSOR, TIME, LIMIT = (URIRef(EX + name) for name in ("sensor", "time", "limit"))
READINGS: Final = [URIRef(f"{EX}o{number}") for number in range(6)]
SENSORS: Final = [URIRef(f"{EX}s{number}") for number in range(2)]
O, P, S, T, U, L = map(Var, "opstul")  # noqa: E741 - as in the query

VALUES: Final[dict[str, list[Any]]] = {
    "numbers": [
        Literal(1),
        Literal(2),
        Literal("2.0", datatype=XSD.decimal),
        Literal("2.0E0", datatype=XSD.double),
        Literal("0.1", datatype=XSD.float),
        Literal("0.1", datatype=XSD.decimal),
        Literal("9007199254740993", datatype=XSD.integer),
        Literal("9007199254740992", datatype=XSD.integer),
        Literal("9.007199254740992E15", datatype=XSD.double),
        Literal("NaN", datatype=XSD.double),
        Literal("INF", datatype=XSD.double),
    ],
    "moments": [
        Literal(text, datatype=XSD.dateTime)
        for text in (
            "2024-01-01T00:00:00Z",
            "2024-01-01T02:00:00+02:00",
            "2024-01-01T00:00:00.5Z",
            "2024-01-01T13:59:59",
            "2024-01-01T14:00:00",
            "2024-01-01T14:00:01",
            "2024-01-02T00:00:00Z",
        )
    ]
    + [Literal(text, datatype=XSD.date) for text in ("2024-01-01", "2024-01-02Z")]
    + [Literal(text, datatype=XSD.time) for text in ("10:00:00", "11:00:00Z")],
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
    """Whether Oxigraph compares a term as SPARQL says: to it NaN, "many" and an IRI are at most themselves."""
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
    if random.random() < 0.3:
        outer.append(Optional(Group((Triple(O, LIMIT, L),))))
    if random.random() < 0.2:
        inner.append(Triple(P, LIMIT, L))  # a shared column that may be unbound, if the outer has it
    compared = L if random.random() < 0.3 else T
    sides = [U, compared] if random.random() < 0.5 else [compared, U]
    if random.random() < 0.2:
        sides[sides.index(compared)] = Apply("+", (compared, Literal(1)))
    conditions = [Apply(random.choice(("<", "<=", ">", ">=")), tuple(sides))]
    if random.random() < 0.3:
        conditions.append(Apply("!=", (P, O)))
    if random.random() < 0.2:
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
    outcomes: Counter[bool] = Counter()

    @settings(
        max_examples=examples(400, sample=kind == "dataset"),
        deadline=None,
        suppress_health_check=list(HealthCheck),
        phases=[phase for phase in settings.default.phases if phase is not Phase.explain],
    )
    @given(st.randoms(use_true_random=False))
    def run(random: Random) -> None:
        query, store = make_query(random), Store(kind)
        for _ in range(random.choice((0, 10, 20))):
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
        outcomes[bool(follower.most)] += 1

    run()
    assert outcomes[True] > outcomes[False]
