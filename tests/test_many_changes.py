"""Commits of many changes, which are taken pattern by pattern, against the same changes taken one by one."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from rdflib import Graph, URIRef

import rdflive
from rdflive.engine import batch
from rdflive.engine.dictionary import Dictionary
from rdflive.store import MANY, uncollected
from support.effort import drawn_from, rounds
from support.quads import Store
from support.queries import Quad

E = "http://example.org/"
NODES = [URIRef(f"{E}n{i}") for i in range(9)]
PREDICATES = [URIRef(f"{E}{name}") for name in "pqr"]
GRAPHS = [None, URIRef(f"{E}g1"), URIRef(f"{E}g2")]
QUERIES = {
    "one pattern": "SELECT * { ?a :p ?b }",
    "any predicate": "SELECT ?a ?b { ?a ?any ?b . ?b :q ?c }",
    "path": "SELECT * { ?a :p ?b . ?b :q ?c . ?c :r ?d }",
    "path of one predicate": "SELECT * { ?a :p ?b . ?b :p ?c }",
    "three of one predicate": "SELECT ?a ?d { ?a :p ?b . ?b :p ?c . ?c :p ?d }",
    "triangle": "SELECT * { ?a :p ?b . ?b :p ?c . ?c :p ?a }",
    "there and back": "SELECT * { ?a :p ?b . ?b :p ?a . ?a :q ?b }",
    "loops": "SELECT * { ?a :p ?a . ?a :p ?b }",
    "the same twice": "SELECT * { ?a :p ?b . ?a :p ?c . ?a :q ?d }",
    "star": "SELECT ?a { ?a :p ?b ; :q ?c ; :r ?d ; :q ?e }",
    "ends": "SELECT * { ?a :p :n1 ; :q ?b . ?b :p :n2 }",
    "ground": "SELECT ?b { :n1 :p :n2 . :n3 :q ?b }",
    "by demand": "SELECT * { :n1 :p ?b . ?b :q ?c . ?c :r ?d }",
    "filters": "SELECT * { ?a :p ?b . ?b :p ?c FILTER(?a != :n1) FILTER(str(?a) < str(?c)) }",
    "two segments": "SELECT ?a ?c { ?a :p ?b . ?b :q :n4 . ?c :r ?d . ?d :r :n5 }",
    "distinct": "SELECT DISTINCT ?a { ?a :p ?b . ?b :q ?c }",
    "optional": "SELECT * { ?a :p ?b . ?b :q ?c OPTIONAL { ?c :r ?d . ?d :p ?a } }",
    "group": "SELECT ?b (COUNT(*) AS ?n) { ?a :p ?b . ?b :q ?c } GROUP BY ?b",
    "graphs": "SELECT * { GRAPH ?g { ?a :p ?b . ?b :p ?c } }",
    "a graph and the default": "SELECT * { ?a :q ?b GRAPH :g1 { ?b :p ?c . ?c :q ?d } }",
}
FAMILIES = ["SELECT * {{ ?a :p :n{0} ; :q ?b }}", "SELECT * {{ ?a :p ?b . ?b :p :n{0} FILTER(?a != :n{1}) }}"]


@contextmanager
def together(least: int) -> Iterator[None]:
    """Have so many changes taken together."""
    before = batch.MANY
    batch.MANY = least  # type: ignore[misc]  # final outside of this test
    try:
        yield
    finally:
        batch.MANY = before  # type: ignore[misc]


class Followed:
    """Subscriptions to the same queries on a store of its own, and what each commit told them."""

    def __init__(self, kind: str, texts: dict[str, str], *, least: int) -> None:
        self.store, self.least = Store(kind), least
        self.told: dict[str, Counter[Any]] = {name: Counter() for name in texts}
        self.subscriptions = {
            name: rdflive.subscribe(
                self.store.graph,
                f"PREFIX : <{E}> {text}",
                lambda delta, name=name: self.take(name, delta),
                budget=rdflive.Budget() if "budget" in name else None,
                on_error=fail,
            )
            for name, text in texts.items()
        }

    def take(self, name: str, delta: rdflive.Delta) -> None:
        """Add up what a commit told."""
        for solution, weight in delta.weights().items():
            self.told[name][frozenset((key, str(term)) for key, term in solution.asdict().items())] += weight

    def commit(self, writes: list[tuple[int, Quad]]) -> dict[str, dict[Any, int]]:
        """Make one commit; gives what it told."""
        with together(self.least):
            self.store.commit(writes)
        found = {name: {row: n for row, n in told.items() if n} for name, told in self.told.items()}
        for told in self.told.values():
            told.clear()
        return found

    def hits(self) -> list[int]:
        """Give how many changes matched, per subscription."""
        return [subscription.stats.matched for subscription in self.subscriptions.values()]


def fail(_: Any, error: Exception) -> None:
    raise error


def a_commit(random: Any, present: set[Quad], size: int) -> list[tuple[int, Quad]]:
    """Give so many writes of different quads, about as many deletes as there are quads."""
    universe = [(s, p, o, g) for s in NODES for p in PREDICATES for o in NODES for g in GRAPHS]
    return [(-1 if quad in present else 1, quad) for quad in random.sample(universe, size)]


@pytest.mark.parametrize("kind", ["dataset", "live store"])
@pytest.mark.parametrize("number", range(rounds(40, share=20)))
def test_changes_taken_together_tell_what_one_by_one_does(kind: str, number: int) -> None:
    """Each commit tells each query the same, whatever it has of self-joins, graphs, families and budgets."""
    random = drawn_from("many changes", kind, number)
    texts = dict(QUERIES)
    texts |= {f"{name}, budget": QUERIES[name] for name in ("path", "three of one predicate", "group")}
    for at, text in enumerate(FAMILIES):
        for n in random.sample(range(9), 4):
            texts[f"family {at}, {n}"] = text.format(n, random.randrange(9))
    one, other = Followed(kind, texts, least=1), Followed(kind, texts, least=1 << 60)
    for size in (300, 40, 1, 200, 2, 350):
        writes = a_commit(random, one.store.quads, size)
        told = one.commit(writes)
        for name, expected in other.commit(writes).items():
            assert told[name] == expected, (name, texts[name])
        assert one.hits() == other.hits()
    entries = [sum(s.stats.entries for s in each.subscriptions.values()) for each in (one, other)]
    assert entries[0] == entries[1]
    for each in (one, other):
        each.commit([(-1, quad) for quad in sorted(each.store.quads, key=str)])
        for name, subscription in each.subscriptions.items():
            if "group" not in name:
                assert not subscription.answers(), name
        state = next(iter(each.subscriptions.values()))._live()
        for subscription in each.subscriptions.values():
            subscription.close()
        assert (len(state.dictionary), state.views) == (0, {})


def test_many_different_queries_at_one_pattern_are_told_of_changes_taken_together() -> None:
    """Walks behind gates are run from the triples that pass these."""
    random = drawn_from("many changes, many queries")
    ends = [f"?b :{p} :n{n}" for n in range(9) for p in "pqr"]
    texts = {end: f"SELECT * {{ ?a :p ?b . {end} . ?a :p ?c }}" for end in ends}
    one, other = Followed("dataset", texts, least=1), Followed("dataset", texts, least=1 << 60)
    for size in (120, 60, 120):
        writes = a_commit(random, one.store.quads, size)
        assert one.commit(writes) == other.commit(writes)


def test_a_query_that_exceeds_its_budget_in_many_changes_ends_alone() -> None:
    """The others, which share its patterns, have their rows."""
    graph, rows, errors = Graph(), [], []
    text = f"PREFIX : <{E}> SELECT * {{ ?a :p ?b . ?c :p ?b }}"
    rdflive.subscribe(
        graph, text, lambda _: None, budget=rdflive.Budget(rows=2000), on_error=lambda _, e: errors.append(e)
    )
    kept = rdflive.subscribe(graph, text, lambda delta: rows.append(len(delta.added)))
    with rdflive.batch(graph):
        for i in range(100):
            graph.add((URIRef(f"{E}{i}"), PREDICATES[0], NODES[0]))
    assert [type(error) for error in errors] == [rdflive.BudgetError]
    assert rows == [0, 10_000] == [0, len(kept.answers())]


def test_ids_of_many_terms_are_those_of_each() -> None:
    """New terms get ids that are free first, and each its own."""
    one, other = Dictionary(), Dictionary()
    for terms in ("abcab", "xya", "", "zzbqx"):
        assert one.intern_all(terms) == [other.intern(term) for term in terms]
        assert one.ids == other.ids
        assert one.terms == other.terms
        one.hold(one.intern_all("ax"))
        other.hold(other.intern_all("ax"))
        one.sweep()
        other.sweep()


def test_a_large_commit_and_a_first_answer_collect_no_garbage() -> None:
    """Garbage is collected again behind them, unless a program had switched that off."""
    seen: list[tuple[str, bool]] = []

    def note(name: str) -> bool:
        seen.append((name, gc.isenabled()))
        return True

    @uncollected
    def inner() -> None:
        note("inner")
        raise KeyError

    @uncollected
    def outer() -> None:
        with pytest.raises(KeyError):
            inner()
        note("outer")

    outer()
    assert seen == [("inner", False), ("outer", False)]
    assert gc.isenabled()
    gc.disable()
    try:
        outer()
        assert not gc.isenabled()
    finally:
        gc.enable()


@pytest.mark.parametrize(("changes", "is_on"), [(MANY, False), (MANY - 1, True)])
def test_garbage_is_collected_in_commits_of_few_changes(changes: int, is_on: bool) -> None:
    """To switch it off and on would take longer than it saves."""
    graph, seen = Graph(), []
    graph.add((NODES[0], PREDICATES[0], NODES[0]))
    subscription = rdflive.subscribe(graph, f"SELECT * {{ ?a <{E}p> ?b . ?b <{E}q> ?c }}", lambda _: None)
    commits = subscription._live().commits
    listener = next(iter(subscription._capture.listeners.values()))
    assert commits is not None
    taken = type(listener).apply_all

    def apply_all(self: Any, given: Any) -> bool:
        seen.append(gc.isenabled())
        return bool(taken(self, given))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(listener), "apply_all", apply_all)
        with rdflive.batch(graph):
            for i in range(changes):
                graph.add((URIRef(f"{E}{i}"), PREDICATES[0], NODES[1]))
    assert seen[0] is is_on
    assert gc.isenabled()


def test_all_leaves_of_a_large_plan_change_at_once() -> None:
    """Each step is run once, after those that it reads."""
    numbers = range(9)
    optionals = " ".join(f"OPTIONAL {{ ?s :p{n} ?o{n} FILTER(?o{n} != ?o) }}" for n in numbers)
    graph, told = Graph(), Counter[frozenset[Any]]()

    def tell(delta: rdflive.Delta) -> None:
        told.update(frozenset(row.asdict().items()) for row in delta.added)
        told.subtract(frozenset(row.asdict().items()) for row in delta.removed)

    names = ["p", *(f"p{n}" for n in numbers)]
    triples = [(NODES[0], URIRef(E + name), NODES[place]) for place, name in enumerate(names, -1)]
    text = f"PREFIX : <{E}> SELECT * {{ ?s :p ?o {optionals} }}"
    with rdflive.subscribe(graph, text, tell) as subscription:
        assert subscription._use.query.is_large
        for write in (graph.add, graph.remove):
            with rdflive.batch(graph):
                for triple in triples:
                    write(triple)
            assert +told == Counter(frozenset(row.asdict().items()) for row in graph.query(text))
            assert not -told
