"""What `stats.size` tells, compared with a walk through all that a subscription keeps."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Iterable, Iterator
from types import FunctionType, MethodType, ModuleType
from typing import Any

import pytest
import rdflib
from rdflib import Graph, Literal, Namespace
from rdflib.store import Store
from rdflib.term import Node

import rdflive
from rdflive.engine.dictionary import Dictionary
from rdflive.engine.store_state import StoreState
from rdflive.engine.terms import TermTable
from rdflive.engine.view import View
from rdflive.query.plan import Plan
from rdflive.store import Capture
from rdflive.time.timeline import Timeline
from rdflive.time.watermark import Watermark
from support.effort import drawn_from

E = Namespace("http://e/")
PREFIX = f"PREFIX : <{E}> "
QUERIES = {
    "join": "SELECT * { ?x :p ?y . ?y :q ?z }",
    "triangle": "SELECT * { ?x :p ?y . ?y :p ?z . ?z :q ?x }",
    "with constants": "SELECT * { :n1 :p ?y . ?y :q ?z }",
    "optional": "SELECT * { ?x :p ?y OPTIONAL { ?y :q ?z } }",
    "minus": "SELECT * { ?x :p ?y MINUS { ?y :q ?z } }",
    "exists": "SELECT * { ?x :p ?y FILTER EXISTS { ?y :q ?z } }",
    "union": "SELECT DISTINCT ?y { { ?x :p ?y } UNION { ?y :q ?z } }",
    "unbound joins": "SELECT * { { ?x :p ?y OPTIONAL { ?y :q ?a } } { ?x :q ?a } }",
    "count": "SELECT ?x (COUNT(?y) AS ?n) { ?x :p ?y } GROUP BY ?x",
    "count distinct": "SELECT (COUNT(DISTINCT ?y) AS ?n) { ?x :p ?y }",
    "count distinct rows": "SELECT (COUNT(DISTINCT *) AS ?n) { ?x :p ?y }",
    "sum distinct": "SELECT (SUM(DISTINCT ?v) AS ?n) (AVG(?v) AS ?m) { ?x :v ?v }",
    "extremes": "SELECT ?x (MIN(?v) AS ?n) (MAX(?v) AS ?m) (SAMPLE(?v) AS ?s) { ?x :v ?v } GROUP BY ?x",
    "texts": "SELECT ?x (GROUP_CONCAT(?y) AS ?n) { ?x :p ?y } GROUP BY ?x",
    "slice": "SELECT * { ?x :v ?v } ORDER BY ?v LIMIT 5",
    "path": "SELECT * { ?x :p+ ?y }",
    "path with zero": "SELECT * { ?x :p* ?y }",
    "path from a term": "SELECT * { :n1 :p+ ?y }",
    "construct": "CONSTRUCT { ?x :r ?z } WHERE { ?x :p ?y . ?y :q ?z }",
    "subquery": "SELECT * { ?x :p ?y { SELECT ?y (COUNT(*) AS ?c) { ?y :q ?z } GROUP BY ?y } }",
}
TRANSITIVE = f"@prefix : <{E}> . {{ ?x :p ?y . ?y :p ?z }} => {{ ?x :p ?z }} ."
WINDOWS: dict[str, dict[str, Any]] = {
    "every change": {"window": rdflive.Sliding(200)},
    "with steps": {"window": rdflive.Sliding(200, 150)},
    "labels": {"window": rdflive.Sliding(200, 20), "rules": TRANSITIVE},
    "keep-all": {"window": rdflive.Sliding(200, 20), "rules": TRANSITIVE, "expiry": "keep-all"},
}
OTHERS = (
    Dictionary, TermTable, StoreState, Plan, Capture, Timeline, Watermark, View,
    Graph, Store, Node, type, ModuleType, str, bytes,
)  # fmt: skip
"""What belongs to the store, the stream or the query, and is not the subscription's."""


def kept(roots: Iterable[Any]) -> list[Any]:
    """List all objects that can be reached, each once, but for what belongs to others."""
    seen: dict[int, Any] = {}
    waiting = list(roots)
    while waiting:
        one = waiting.pop()
        if id(one) in seen or isinstance(one, OTHERS) or type(one).__module__.startswith("rdflive_stores"):
            continue
        seen[id(one)] = one
        waiting.extend(_parts(one))
    return list(seen.values())


def _parts(one: Any) -> Iterator[Any]:
    if isinstance(one, dict):
        yield from one.values()
    elif isinstance(one, list | tuple | set | frozenset | deque):
        yield from one
    elif isinstance(one, FunctionType):
        yield from (cell.cell_contents for cell in one.__closure__ or ())
    elif isinstance(one, MethodType):
        yield one.__self__
    for kind in type(one).__mro__:
        names = vars(kind).get("__slots__", ())
        yield from (getattr(one, name) for name in ((names,) if isinstance(names, str) else names)
                    if name not in ("__weakref__", "__dict__") and hasattr(one, name))  # fmt: skip
    yield from getattr(one, "__dict__", {}).values()


def measure(subscription: Any) -> tuple[int, int]:
    """Give the bytes of the containers that can be reached, and of these with all tuples."""
    queries, views = subscription._queries(), subscription._views()
    steps = [step for query in queries for step in (*query.operators, *query.leaves)]
    inner = [getattr(view, "entailment", None) or getattr(view, "content", None) for view in views]
    found = kept([*steps, *inner])
    containers = [one for one in found if isinstance(one, dict | set | list | deque)]
    tuples = [one for one in found if isinstance(one, tuple)]
    return sum(map(sys.getsizeof, containers)), sum(map(sys.getsizeof, (*containers, *tuples)))


def triples(count: int) -> Iterator[tuple[Any, ...]]:
    """Draw triples of three predicates."""
    random = drawn_from("sizes")
    for _ in range(count):
        yield E[f"n{random.randrange(count // 3)}"], E.p, E[f"n{random.randrange(count // 3)}"]
        yield E[f"n{random.randrange(count // 3)}"], E.q, E[f"n{random.randrange(count // 3)}"]
        yield E[f"n{random.randrange(count // 9)}"], E.v, Literal(random.randrange(count))


def compare(subscription: Any, empty: tuple[int, int], before: int) -> None:
    """Compare what has been added since it was empty."""
    least, most = (now - then for now, then in zip(measure(subscription), empty, strict=True))
    size = subscription.stats.size - before
    # what is there beside the data, such as the lists of patterns, grows by a few references
    assert 0.97 * least - 1000 <= size <= 1.03 * most + 1000, (least, size, most)


@pytest.mark.parametrize("name", QUERIES)
def test_the_size_is_that_of_all_that_is_kept(name: str) -> None:
    """Each container counts, and counts once, also where paths have nodes that share theirs."""
    graph = Graph()
    with rdflive.subscribe(graph, PREFIX + QUERIES[name], lambda delta: None) as subscription:
        empty, before, entries = measure(subscription), subscription.stats.size, subscription.stats.entries
        for triple in triples(300):
            graph.add(triple)  # type: ignore[arg-type]  # three terms
        compare(subscription, empty, before)
        for triple in triples(300):
            graph.remove(triple)  # type: ignore[arg-type]
        assert subscription.stats.entries == entries


@pytest.mark.parametrize("options", [{"entailment": "rdfs"}, {"rules": TRANSITIVE}], ids=str)
def test_the_size_counts_what_is_entailed(options: dict[str, Any]) -> None:
    """The triples that follow are kept with those that they follow from."""
    graph = Graph()
    graph.add((E.p, rdflib.RDFS.subPropertyOf, E.q))
    text = PREFIX + "SELECT * { ?x :p ?y . ?y :q ?z }"
    with rdflive.subscribe(graph, text, lambda delta: None, **options) as subscription:
        empty, before = measure(subscription), subscription.stats.size
        for triple in triples(120):
            graph.add(triple)  # type: ignore[arg-type]
        compare(subscription, empty, before)


@pytest.mark.parametrize("name", WINDOWS)
def test_the_size_counts_what_windows_hold(name: str) -> None:
    """Their labels and what they entail are kept beside the matches."""
    stream = rdflive.Stream()
    text = PREFIX + "SELECT * { ?x :p ?y . ?y :q ?z }"
    with rdflive.subscribe(stream, text, lambda delta: None, **WINDOWS[name]) as subscription:
        empty, before = measure(subscription), subscription.stats.size
        for at, triple in enumerate(triples(100)):
            stream.add(triple, at=at)
        compare(subscription, empty, before)
