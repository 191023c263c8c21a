"""A preview says what the same change then really does, and leaves nothing behind."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
import rdflib
from rdflib import RDFS, URIRef

import rdflive
from guard.test_random import REGIMES, grouped
from rdflive.api.target import GraphTarget
from support.effort import checked, drawn_from, rounds
from support.quads import DATASETS, Store
from support.queries import EX, NODES, PREDICATES, Quad, make_quad, make_query

SHAPES = f"""
@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <{EX}> .
:A sh:targetSubjectsOf :p ; sh:property [ sh:path :q ; sh:minCount 1 ; sh:maxCount 2 ] .
:B sh:targetObjectsOf :q ; sh:not [ sh:path :p ; sh:hasValue :a ] ; sh:nodeKind sh:IRI .
"""
KINDS = ("graph", "simple memory", "auditable", "oxigraph graph", "oxigraph on disk", *DATASETS)


@contextmanager
def make_store(kind: str, folder: Path) -> Iterator[Store]:
    """Make a store to write quads to; one on disk is a dataset."""
    store = Store("oxigraph dataset" if "disk" in kind else kind)
    if "disk" in kind:
        store.graph.store.open(str(folder / "store"))
    yield store
    if "disk" in kind:
        store.graph.store.close()


class Watched:
    """Subscriptions of every sort on one store, and what they were told."""

    def __init__(self, store: Store, chance: Random, told: Callable[[Any, rdflive.Delta], None]) -> None:
        self.store, self.chance = store, chance
        self.stream = rdflive.Stream(store.graph)
        self.all: list[rdflive.Subscription] = []
        graphs = store.kind in DATASETS

        def add(make: Callable[..., rdflive.Subscription], of: Any, *args: Any, **options: Any) -> None:
            place = len(self.all)
            try:
                made = make(of, *args, lambda delta: told(self.all[place], delta), initial=False, **options)
            except rdflive.UnsupportedQueryError:
                return
            self.all.append(made)

        subscribe, graph, step = rdflive.subscribe, store.graph, f"?s <{EX}p> ?o"
        for _ in range(4):
            add(subscribe, graph, str(make_query(chance, graphs=graphs, depth=2)))
        for regime in ("rdfs", "rules"):
            add(subscribe, graph, str(make_query(chance, graphs=False, depth=1)), **REGIMES[regime])
        add(subscribe, graph, f"SELECT ?s ?o {{ {step} }}", provenance=True, entailment="rdfs")
        add(subscribe, graph, f"SELECT ?s (COUNT(*) AS ?n) {{ {step} }} GROUP BY ?s", key=["s"])
        add(subscribe, graph, f"CONSTRUCT {{ ?o <{EX}r> ?s }} WHERE {{ {step} }}")
        window = rdflive.Sliding(10, 1)
        add(subscribe, self.stream, f"SELECT ?s ?o ?t {{ {step} . ?o <{EX}at> ?t }}", window=window)
        add(rdflive.validate, graph, SHAPES)
        add(rdflive.validate, graph, SHAPES, entailment="rdfs")
        self.clock = 0

    def pass_time(self) -> None:
        """Have something come to the stream, and a report be made."""
        self.clock += 1
        self.stream.add(
            (self.chance.choice(NODES), URIRef(EX + "at"), rdflib.Literal(self.clock)), at=self.clock
        )
        self.stream.advance_to(self.clock + 0.5)

    def state(self) -> list[Any]:
        """Give all that a preview leaves as it was."""
        return [
            {*map(tuple, GraphTarget(self.store.graph).quads())},
            names(self.store.graph),
            [Counter(each.answers()) for each in self.all],
        ]

    def stats(self) -> list[rdflive.Stats]:
        """Give the statistics of all, but for what is kept: some indexes are made when they are asked."""
        return [replace(each.stats, size=0, entries=0) for each in self.all]

    def close(self) -> None:
        for each in self.all:
            each.close()


def names(graph: Any) -> set[Any]:
    """List the names of graphs."""
    if not isinstance(graph, rdflib.Graph):
        return set(graph.named_graphs())
    return {each.identifier for each in graph.graphs()} if isinstance(graph, rdflib.Dataset) else set()


@pytest.mark.timeout(1800)
@pytest.mark.sampled(4, by="kind", always={"kind": ["graph"]})
@pytest.mark.parametrize("kind", KINDS)
def test_a_preview_is_what_the_change_does(kind: str, tmp_path: Path) -> None:
    """To every subscription, validation and window beside the graph; and the next change is told as ever."""
    chance = drawn_from("preview", kind)
    changed = 0
    for number in range(rounds(20, share=10)):
        folder = tmp_path / str(number)
        folder.mkdir()
        with make_store(kind, folder) as store:
            changed += play(chance, store)
    assert changed > 0


def play(chance: Random, store: Store) -> int:
    """Preview commits, and make them; gives how many deltas there were."""
    told: dict[Any, list[rdflive.Delta]] = {}
    count = 0

    def quad() -> Quad:
        if chance.random() < 0.1:
            schema = (RDFS.subPropertyOf, PREDICATES[0]), (RDFS.domain, NODES[0])
            return (PREDICATES[1], *chance.choice(schema), None)
        return make_quad(chance, graphs=store.kind in DATASETS)

    for _ in range(chance.choice((0, 5, 12))):
        store.write((1, quad()))
    watched = Watched(store, chance, lambda of, delta: told.setdefault(of, []).append(delta))
    for _, counts in checked(range(rounds(20, share=10))):
        watched.pass_time()
        told.clear()
        held = set(store.quads)
        writes = [(chance.choice((1, 1, -1)), quad()) for _ in range(chance.choice((0, 1, 1, 2, 6)))]
        write = grouped(chance, store.graph, [lambda each=each: store.write(each) for each in writes])
        before = watched.state()
        stats = [watched.stats()] if counts else []
        for _ in range(2):
            with rdflive.preview(store.graph) as change:
                write()
                assert {*map(tuple, GraphTarget(store.graph).quads())} == store.quads
            store.quads = set(held)
            assert watched.state() == before
            assert told == {}
            stats += [watched.stats()] if counts else []
        if counts:
            assert stats[0] == stats[1] == stats[2]
        write()
        assert told.keys() == change.deltas.keys()
        for of, (delta,) in told.items():
            assert change.deltas[of].weights() == delta.weights(), of
            assert change.deltas[of].changed == delta.changed
        assert len(change.batch.changes) == len(held ^ store.quads)
        count += len(told)
    watched.close()
    return count


def test_a_preview_says_by_what_a_guard_would_refuse_the_change() -> None:
    """With the error of the guard; the guard goes on as before."""
    graph = rdflib.Graph()
    a, b = (rdflib.URIRef(EX + name) for name in "ab")
    with rdflive.guard(graph, SHAPES) as guard:
        before = guard.answers()
        for _ in range(2):
            with rdflive.preview(graph) as change:
                graph.add((a, PREDICATES[0], b))
            assert len(graph) == 0
            with pytest.raises(rdflive.ValidationError) as refused:
                graph.add((a, PREDICATES[0], b))
            assert str(change.refused) == str(refused.value)
            assert change.refused is not None
            assert change.refused.results == refused.value.results
            assert guard.answers() == before
        with rdflive.preview(graph) as change:
            graph.add((a, PREDICATES[0], b))
            graph.add((a, PREDICATES[1], a))
        assert change.refused is None
        assert len(change.batch.changes) == 2


def test_a_block_that_raises_is_taken_back_too() -> None:
    """Its exception is passed on, and nothing is said of what it would have changed."""
    graph = rdflib.Graph()
    told: list[rdflive.Delta] = []
    with rdflive.subscribe(graph, "SELECT ?s { ?s ?p ?o }", told.append, initial=False):
        change = rdflive.Preview()

        def fail() -> None:
            nonlocal change
            with rdflive.preview(graph) as change:
                graph.add((NODES[0], PREDICATES[0], NODES[1]))
                raise KeyError("in the block")

        with pytest.raises(KeyError):
            fail()
        assert (len(graph), change.deltas, change.batch.changes, told) == (0, {}, (), [])
    with rdflive.batch(graph), pytest.raises(RuntimeError, match="inside an open batch"):
        rdflive.preview(graph).__enter__()


def test_no_write_of_another_thread_comes_into_a_preview() -> None:
    """It waits, and is told when the preview has ended."""
    graph = rdflib.Graph()
    told: list[rdflive.Delta] = []
    first, second = ((NODES[number], PREDICATES[0], NODES[number]) for number in (0, 1))
    other = threading.Thread(target=graph.add, args=(second,))
    with rdflive.subscribe(graph, "SELECT ?s { ?s ?p ?o }", told.append, initial=False):
        with rdflive.preview(graph) as change:
            graph.add(first)
            other.start()
            other.join(0.05)
            assert set(graph) == {first}
        other.join()
        assert [change.sign for change in change.batch.changes] == [1]
        assert (set(graph), [delta.added[0].s for delta in told]) == ({second}, [NODES[1]])
