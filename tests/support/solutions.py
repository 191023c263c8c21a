"""Multisets of solutions that compare by value, as in SPARQL, not by spelling."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from rdflib import XSD, BNode, Graph, Literal, URIRef
from rdflib.query import Result

import rdflive

Row: TypeAlias = frozenset[tuple[str, Any]]
State: TypeAlias = "Counter[Row] | bool"

SIGNED = ("integer", "long", "int", "short", "byte")
UNSIGNED = ("unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte")
RANGES = ("nonPositiveInteger", "negativeInteger", "nonNegativeInteger", "positiveInteger")
INTEGERS = {XSD[name] for name in (*SIGNED, *UNSIGNED, *RANGES)}
NUMBERS = {*INTEGERS, XSD.decimal, XSD.float, XSD.double}
DIGITS = 10
"""Significant digits by which numbers compare, as engines divide decimals with different precision."""


def row(items: Iterable[tuple[Any, Any]]) -> Row:
    """Make a row of name and term pairs, without unbound variables."""
    return frozenset((str(name), key(term)) for name, term in items if term is not None)


def row_of(solution: Any) -> Row:
    """Make a row of a solution or a triple of a delta."""
    return row(items_of(solution))


def items_of(solution: Any) -> Iterable[tuple[str, Any]]:
    """Return the named terms of a solution or a triple of a delta."""
    if isinstance(solution, rdflive.Solution):
        return solution.asdict().items()
    return zip("spo", solution, strict=True)


def rows(graph: Iterable[Any]) -> Counter[Row]:
    """Convert a graph to a multiset of rows, which compare as solutions do."""
    return Counter(row_of(tuple(triple)) for triple in graph)


def key(term: Any) -> Any:
    """Make a term comparable: ignore the case of language tags, and all but the first digits of numbers."""
    if isinstance(term, BNode):
        return term
    if not isinstance(term, Literal):
        return URIRef(term)
    if term.datatype in NUMBERS and term.value is not None:
        value = term.value
        text = str(int(value)) if term.datatype in INTEGERS else f"{float(value):.{DIGITS}g}"
        return ("number", str(term.datatype), text)
    return (str(term), str(term.datatype or ""), (term.language or "").lower())


def folded(state: State) -> State:
    """Convert plain literals to xsd:string, which RDF 1.1 identifies, unlike rdflib and RDF 1.0."""
    return state if isinstance(state, bool) else Counter([folded_row(one) for one in state.elements()])


def folded_row(solution: Row) -> Row:
    string = str(XSD.string)
    return frozenset(
        (name, (term[0], string, "") if type(term) is tuple and term[1:] == ("", "") else term)
        for name, term in solution
    )


def state_of(result: Result) -> State:
    """Convert a result of any query form to a state."""
    if result.type == "ASK":
        return bool(result.askAnswer)
    if result.type == "CONSTRUCT":
        assert isinstance(result.graph, Graph)
        return rows(result.graph)
    return Counter(row(solution.items()) for solution in result.bindings)


def isomorphic(left: State, right: State) -> bool:
    """Return True if one renaming of blank nodes makes two states equal.

    Parts that share no blank node are matched separately. Any isomorphic peer will do, as isomorphism is
    an equivalence.
    """
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    peers: dict[Any, list[Counter[Row]]] = {}
    for part in _parts(right):
        peers.setdefault(_outline(part), []).append(part)
    for part in _parts(left):
        alike = peers.get(_outline(part), [])
        found = next((place for place, peer in enumerate(alike) if _matches(part, peer, {}, {})), None)
        if found is None:
            return False
        del alike[found]
    return not any(peers.values())


def _parts(state: Counter[Row]) -> list[Counter[Row]]:
    """Split a state into rows connected by blank nodes; rows without any are one part."""
    parts: list[tuple[set[Any], Counter[Row]]] = [(set(), Counter())]
    for solution, weight in state.items():
        nodes = {term for _, term in solution if isinstance(term, BNode)}
        joined, rest = (set(nodes), Counter({solution: weight})), []
        if not nodes:
            parts[0][1][solution] = weight
            continue
        for part in parts:
            if part[0].isdisjoint(nodes):
                rest.append(part)
            else:
                joined = (joined[0] | part[0], joined[1] + part[1])
        parts = [*rest, joined]
    return [rows for _, rows in parts if rows]


def _outline(part: Counter[Row]) -> Any:
    return frozenset(_paint(part, _colours(part, {})).items())


def _matches(left: Counter[Row], right: Counter[Row], old: Mapping[Any, int], new: Mapping[Any, int]) -> bool:
    """Refine the colours of blank nodes on both sides; for an ambiguous node try each peer."""
    here, there = _colours(left, old), _colours(right, new)
    sizes = Counter(here.values())
    if sizes != Counter(there.values()):
        return False
    doubtful = next((node for node, colour in here.items() if sizes[colour] > 1), None)
    if doubtful is None:
        return _paint(left, here) == _paint(right, there)
    mark = hash(("chosen", len(old), here[doubtful]))
    peers = [node for node, colour in there.items() if colour == here[doubtful]]
    return any(_matches(left, right, {**here, doubtful: mark}, {**there, peer: mark}) for peer in peers)


def _colours(state: Counter[Row], start: Mapping[Any, int]) -> dict[BNode, int]:
    """Colour each blank node by its positions in rows and the colours beside it, until stable."""
    nodes = dict.fromkeys(term for solution in state for _, term in solution if isinstance(term, BNode))
    colours = {node: start.get(node, 0) for node in nodes}
    for _ in range(len(nodes)):
        places: dict[BNode, list[int]] = {node: [] for node in nodes}
        for solution, weight in state.items():
            painted = hash((_painted(solution, colours), weight))
            for name, term in solution:
                if isinstance(term, BNode):
                    places[term].append(hash((name, painted)))
        fresh = {node: hash((colours[node], tuple(sorted(places[node])))) for node in nodes}
        if len(set(fresh.values())) == len(set(colours.values())):
            return fresh
        colours = fresh
    return colours


def _paint(state: Counter[Row], colours: Mapping[BNode, int]) -> Counter[Row]:
    painted: Counter[Row] = Counter()
    for solution, weight in state.items():
        painted[_painted(solution, colours)] += weight
    return painted


def _painted(solution: Row, colours: Mapping[BNode, int]) -> Row:
    return frozenset((n, ("_:", colours[t]) if isinstance(t, BNode) else t) for n, t in solution)
