"""Relabelling of the blank nodes of a new snapshot, as labels differ between answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, TypeAlias

from rdflib.term import BNode

from rdflive.model import Quad
from rdflive_stores.endpoint.blank_node_classes import (
    Classes,
    MatchingBudget,
    Surroundings,
    TooSymmetric,
    components,
)
from rdflive_stores.endpoint.blank_node_overlap import Overlap

__all__ = ["TooSymmetric", "relabel"]

Matching: TypeAlias = dict[int, int]
"""An injective map from new nodes to old ones."""

_WORK_PER_QUAD: Final = 30
_LEAST_WORK: Final = 1_000_000
_DEPTH: Final = 150
"""Maximum nested choices; each takes some frames of Python's stack."""


def relabel(new: Iterable[Quad], old: Iterable[Quad]) -> list[Quad]:
    """Give the blank nodes of `new` the labels of their counterparts in `old`, or fresh labels.

    Any injective relabelling is correct up to isomorphism; this one aims at few changes. Isomorphic parts of
    the graph are matched exactly, so an unchanged graph results in `old`, however symmetric it is. In changed
    parts, nodes are matched by their common surroundings. Raises `TooSymmetric` if the exact part would take
    too long.

    >>> relabel([Quad(BNode("b7"), "name", "Ann")], [Quad(BNode("x"), "name", "Ann")])[0].subject
    rdflib.term.BNode('x')
    """
    quads = list(dict.fromkeys(new))
    here = dict.fromkeys(filter(_has_blank_nodes, old))
    there = [quad for quad in quads if _has_blank_nodes(quad)]
    # the endpoint uses the current labels
    if here.keys() == set(there):
        return quads
    around = Surroundings.of(here, there)
    budget = MatchingBudget(_LEAST_WORK + _WORK_PER_QUAD * (len(here) + len(there)))
    matching = _match(around, budget)
    labels = {
        around.labels[node]: around.labels[matching[node]] if node in matching else BNode()
        for node in range(around.old, len(around.labels))
    }
    return [Quad(*(labels[term] if isinstance(term, BNode) else term for term in quad)) for quad in quads]


def _has_blank_nodes(quad: Quad) -> bool:
    return any(isinstance(term, BNode) for term in quad)


def _match(around: Surroundings, budget: MatchingBudget) -> Matching:
    """Match isomorphic components exactly, and the nodes of the others by overlap."""
    count = len(around.labels)
    classes = Classes(around, range(count), dict.fromkeys(range(count), 0), budget)
    old, new = range(around.old), range(around.old, count)
    matching, rest_old, rest_new = _match_components(around, old, new, classes, budget, 0)
    Overlap(around, rest_old, rest_new, matching).run()
    return matching


def _match_components(
    around: Surroundings,
    old: Iterable[int],
    new: Iterable[int],
    classes: Classes,
    budget: MatchingBudget,
    depth: int,
) -> tuple[Matching, list[int], list[int]]:
    """Match each component with the first isomorphic one; also return the unmatched old and new nodes."""
    matching: Matching = {}
    waiting: dict[tuple[int, ...], list[list[int]]] = {}
    for component in components(around, new):
        waiting.setdefault(_key(component, classes), []).append(component)
    left = []
    for component in components(around, old):
        candidates = waiting.get(_key(component, classes), [])
        for i, candidate in enumerate(candidates):
            found = _isomorphism(around, component, candidate, classes.of, budget, depth)
            if found is not None:
                matching |= found
                del candidates[i]
                break
        else:
            left += component
    return matching, left, [node for group in waiting.values() for part in group for node in part]


def _key(nodes: list[int], classes: Classes) -> tuple[int, ...]:
    return tuple(sorted(classes.of[node] for node in nodes))


def _isomorphism(
    around: Surroundings,
    old: list[int],
    new: list[int],
    known: dict[int, int],
    budget: MatchingBudget,
    depth: int,
) -> Matching | None:
    """Return an isomorphism of two sets of nodes that keeps the known classes; None if there is none.

    Nodes that are unique in their class on both sides are matched. Without them, the rest may split into
    components, which are matched one by one. If no node is unique, the first old node is matched with each
    node of its class in turn (individualise and refine). The result keeps every quad: the surroundings, with
    classes for nodes, are equal, and finally each class is a pair of nodes.
    """
    if len(old) == len(new) == 1:
        return {new[0]: old[0]}
    if depth > _DEPTH:
        raise TooSymmetric
    edge = {other for node in (*old, *new) for other in around.neighbours(node)}
    classes = Classes(around, (*old, *new), {node: known[node] for node in (*old, *new, *edge)}, budget)
    if not classes.balanced():
        return None
    # classes are balanced, so a pair has an old and a new node; old nodes have smaller numbers
    matching = {max(pair): min(pair) for pair in classes.members.values() if len(pair) == 2}
    matched = {*matching, *matching.values()}
    rest = [[node for node in nodes if node not in matched] for nodes in (old, new)]
    if matching or len(components(around, old)) > 1:
        found, left, _ = _match_components(around, rest[0], rest[1], classes, budget, depth + 1)
        return None if left else matching | found
    return _choose(around, old, new, classes, budget, depth)


def _choose(
    around: Surroundings, old: list[int], new: list[int], classes: Classes, budget: MatchingBudget, depth: int
) -> Matching | None:
    """Match one node of the smallest class with each candidate until the rest matches."""
    # the fewest candidates
    smallest = min(classes.members.values(), key=len)
    own = min(smallest)
    free = max(classes.of.values()) + 1
    for other in sorted(node for node in smallest if node >= around.old):
        found = _isomorphism(around, old, new, {**classes.of, own: free, other: free}, budget, depth + 1)
        if found is not None:
            return found
    return None
