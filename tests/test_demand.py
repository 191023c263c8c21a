"""Patterns that hold only what is asked for give the same answers as patterns that hold everything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
import rdflib
from rdflib import RDF, RDFS, Namespace, URIRef

import rdflive
from rdflive.engine.store_state import StoreState
from rdflive.errors import RdfliveError
from support.demand import NODES, PREDICATES, check_held, eager, make_text
from support.effort import drawn_from, rounds

E = Namespace("urn:example:")
PREFIX = f"PREFIX : <{E}> "
RULES = f"@prefix : <{E}> . {{ ?x :p ?y . ?y :q ?z }} => {{ ?x :r ?z }} ."
OPTIONS: dict[str, dict[str, Any]] = {
    "graph": {},
    "Oxigraph": {},
    "Dataset": {},
    "union": {},
    "rdfs": {"entailment": "rdfs"},
    "rules": {"rules": RULES},
    "budget": {"budget": rdflive.Budget(rows=100_000, kept_rows=100_000)},
}
MAKE: dict[str, Callable[[], Any]] = {
    "Oxigraph": lambda: rdflib.Graph(store="Oxigraph"),
    "Dataset": rdflib.Dataset,
    "union": lambda: rdflib.Dataset(default_union=True),
}


def node(name: str) -> URIRef:
    return RDF.type if name == "a" else E[name[1:]]


def made(random: Random, kind: str) -> tuple[Any, ...]:
    """Make a triple, or a quad of a dataset."""
    triple = node(random.choice(NODES)), node(random.choice(PREDICATES)), node(random.choice(NODES))
    if kind == "rdfs" and random.random() < 0.2:
        schema = (RDFS.subPropertyOf, RDFS.subClassOf, RDFS.domain)
        triple = node(random.choice(PREDICATES)), random.choice(schema), node(random.choice(PREDICATES))
    return (*triple, random.choice((E.g, E.h))) if kind in ("Dataset", "union") else triple


class Follower:
    """Adds the deltas of a subscription up."""

    def __init__(self, graph: Any, text: str, **options: Any) -> None:
        self.rows: Counter[Any] = Counter()
        self.subscription = rdflive.subscribe(graph, text, self._take, **options)

    def _take(self, delta: rdflive.Delta) -> None:
        if delta.initial:
            self.rows.clear()
        for solution, weight in delta.weights().items():
            self.rows[frozenset(solution.asdict().items())] += weight

    @property
    def now(self) -> Counter[Any]:
        assert min(self.rows.values(), default=0) >= 0
        return +self.rows


def write(graph: Any, changes: list[tuple[int, tuple[Any, ...]]]) -> None:
    with rdflive.batch(graph):
        for sign, change in changes:
            (graph.add if sign > 0 else graph.remove)(change)


def play(random: Random, kind: str) -> Counter[str]:
    """Change a graph under the same query, held by demand and whole, with members that come and go."""
    graph: Any = MAKE.get(kind, rdflib.Graph)()
    text = make_text(random, graphs=kind in ("Dataset", "union"))
    options = OPTIONS[kind]
    held: set[tuple[Any, ...]] = set()

    def change() -> tuple[int, tuple[Any, ...]]:
        one = random.choice(sorted(held)) if held and random.random() < 0.45 else made(random, kind)
        sign = -1 if one in held else 1
        (held.remove if sign < 0 else held.add)(one)
        return sign, one

    def commit(most: int) -> None:
        changes: dict[Any, int] = {}
        for _ in range(random.randint(1, most)):
            sign, one = change()
            changes[one] = sign
        write(graph, [(sign, one) for one, sign in changes.items()])

    commit(20)
    members: list[dict[str, Follower]] = []
    kinds: Counter[str] = Counter()
    states: list[StoreState] = []

    def join() -> None:
        asked = text
        for name in NODES:
            if random.random() < 0.5:
                asked = asked.replace(f"{name} ", f"{random.choice(NODES)} ")
        try:
            whole = Follower(graph, PREFIX + asked, algorithm="whole", **options)
        except RdfliveError:
            return
        ways = {way: Follower(graph, PREFIX + asked, algorithm=way, **options) for way in ("demand", "auto")}
        members.append({"whole": whole, **ways})
        states[:] = [whole.subscription._live()]

    join()
    for _ in range(12):
        commit(random.choice((1, 1, 1, 4, 12)))
        for ways in members:
            for follower in ways.values():
                assert follower.subscription.last_error is None
                assert follower.now == ways["whole"].now, follower.subscription.query
        for state in states:
            kinds += check_held(state)
        if random.random() < 0.3:
            join()
        elif len(members) > 1 and random.random() < 0.3:
            for follower in members.pop(random.randrange(len(members))).values():
                follower.subscription.close()
    for ways in members:
        for follower in ways.values():
            answers = Counter(frozenset(s.asdict().items()) for s in follower.subscription.answers())
            assert answers == follower.now
    write(graph, [(-1, one) for one in sorted(held)])
    for state in states:
        check_held(state)
    for ways in members:
        for follower in ways.values():
            assert follower.now == ways["whole"].now
            follower.subscription.close()
    for state in states:
        assert (len(state.dictionary), state.views, state.demand.wide) == (0, {}, {})
    return kinds


@pytest.fixture(params=["as it is", "eager"])
def haste(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Try the thresholds as they are, and such that patterns change over all the time."""
    if request.param == "eager":
        eager(monkeypatch)
    name: str = request.param
    return name


@pytest.mark.parametrize("kind", OPTIONS)
def test_demand_changes_no_answer(kind: str, haste: str) -> None:
    """Random queries, commits and members: what is held, what is told and what is left are right."""
    random = drawn_from("demand", kind, haste)
    kinds: Counter[str] = Counter()
    for _ in range(rounds(300, share=10)):
        kinds += play(random, kind)
    assert kinds["by demand"]
    assert bool(kinds["whole"]) is (haste == "eager")
