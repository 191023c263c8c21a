"""Finds the changes of an operation on an Oxigraph store by comparison, and records them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Literal

from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad, Store, Triple

from rdflive.store import UNION, Capture
from rdflive_stores.oxigraph.terms import canonical
from rdflive_stores.oxigraph.update import Pattern
from rdflive_stores.oxigraph.visible import visible

__all__ = ["canonical_quad", "compare", "matching", "record", "union_changes"]


def compare(
    native: Store, capture: Capture, patterns: Callable[[], Iterable[Pattern]], write: Callable[[], object]
) -> None:
    """Run an operation, and record the difference of the quads of some patterns before and after it.

    The difference is recorded even if the operation raises, because the error may come after the store's
    transaction. An open iterator of Oxigraph keeps the old state at no cost.
    """
    before: list[tuple[Pattern, Iterable[Quad]]] = []
    try:
        before += [(pattern, matching(native, pattern)) for pattern in patterns()]
        write()
    finally:
        _record_difference(native, capture, before)
        capture.recorded()


def _record_difference(
    native: Store, capture: Capture, before: Iterable[tuple[Pattern, Iterable[Quad]]]
) -> None:
    came: set[Quad] = set()
    went: set[Quad] = set()
    for pattern, quads in before:
        now = set(matching(native, pattern))
        for quad in quads:
            if quad in now:
                now.remove(quad)
            else:
                went.add(quad)
        came |= now
    record(native, capture, went, came)


def record(native: Store, capture: Capture, went: Iterable[Quad], came: Iterable[Quad]) -> None:
    """Record net changes of canonical quads inside a batch, and of the union if needed."""
    capture.record_all(-1, map(tuple, went))
    capture.record_all(1, map(tuple, came))
    if capture.wants_union:
        _record_union(native, capture, _graphs_of_triples(went), _graphs_of_triples(came))


def canonical_quad(quad: Quad) -> Quad:
    """Return a quad in the form that the store returns."""
    s, p, o, graph = quad
    term = canonical(o)
    return quad if term is o else Quad(s, p, term, graph)


def matching(native: Store, pattern: Pattern) -> Iterable[Quad]:
    """List the matching quads in the form that the store returns."""
    s, p, o, graph = pattern
    if s is None or p is None or o is None or graph is None:
        found: Iterable[Quad] = visible(native).quads_for_pattern(s, p, o, graph)
        return found
    # `in` accepts any lexical form of a number, but listeners need the stored form
    quad = canonical_quad(Quad(s, p, o, graph))
    return (quad,) if quad in native else ()


_Graphs = Mapping[Triple, set[NamedNode | BlankNode | DefaultGraph]]


def _record_union(native: Store, capture: Capture, went: _Graphs, came: _Graphs) -> None:
    """Record triples that have got their first graph or lost their last one."""
    seen = visible(native)
    for triple in came.keys() | went.keys():
        s, p, o = triple.subject, triple.predicate, triple.object
        takers = came.get(triple, ())
        is_held, was_held = False, triple in went
        for quad in seen.quads_for_pattern(s, p, o, None):
            is_held = True
            # it was held before: a graph lost it, or this graph is not one that got it
            if was_held or quad.graph_name not in takers:
                was_held = True
                break
        if is_held is not was_held:
            capture.record(1 if is_held else -1, s, p, o, UNION)


def union_changes(
    native: Store, went: Iterable[Quad], came: Iterable[Quad]
) -> Iterator[tuple[Triple, Literal[1, -1]]]:
    """List the triples that future changes will add to a first graph or remove from the last one."""
    going, coming = _graphs_of_triples(went), _graphs_of_triples(came)
    for triple in going.keys() | coming.keys():
        held = visible(native).quads_for_pattern(triple.subject, triple.predicate, triple.object, None)
        before = {quad.graph_name for quad in held}
        after = before - going.get(triple, set()) | coming.get(triple, set())
        if bool(before) is not bool(after):
            yield triple, 1 if after else -1


def _graphs_of_triples(quads: Iterable[Quad]) -> _Graphs:
    graphs: dict[Triple, set[NamedNode | BlankNode | DefaultGraph]] = {}
    for quad in quads:
        graphs.setdefault(quad.triple, set()).add(quad.graph_name)
    return graphs
