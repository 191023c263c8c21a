"""Classes of blank nodes of two graphs by their surroundings (colour refinement)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple, TypeAlias

from rdflib.term import BNode

from rdflive.model import Quad

__all__ = ["Classes", "MatchingBudget", "Surroundings", "TooSymmetric", "components"]

Incidence: TypeAlias = tuple[int, tuple[int, ...]]
"""The shape of a quad seen from one of its blank nodes, and its other blank nodes in order."""

_SELF: Final = "self"
_OTHER: Final = "other"


class TooSymmetric(Exception):  # noqa: N818 - never leaves the adapter
    """The nodes are so similar that matching them takes too long."""


class MatchingBudget:
    """Limits the work of a matching, counted in visited quads."""

    def __init__(self, work: int) -> None:
        self._left = work

    def spend(self, work: int) -> None:
        """Count some work; raises `TooSymmetric` above the limit."""
        self._left -= work
        if self._left < 0:
            raise TooSymmetric


class Surroundings(NamedTuple):
    """The quads around each blank node of an old and a new graph; nodes are numbers, the old ones first."""

    labels: tuple[BNode, ...]
    old: int
    """Number of old nodes."""
    incidences: tuple[tuple[Incidence, ...], ...]

    @classmethod
    def of(cls, old: Iterable[Quad], new: Iterable[Quad]) -> Surroundings:
        """Number the nodes in order of occurrence, and collect the quads of each node."""
        shapes: dict[tuple[Any, ...], int] = {}
        labels: list[BNode] = []
        incidences: list[list[Incidence]] = []
        sizes = []
        for quads in (old, new):
            numbers: dict[BNode, int] = {}
            for quad in quads:
                nodes = [term for term in quad if isinstance(term, BNode)]
                # once, even if a node is subject and object of the same quad
                for node in dict.fromkeys(nodes):
                    if node not in numbers:
                        numbers[node] = len(labels)
                        labels.append(node)
                        incidences.append([])
                for node in dict.fromkeys(nodes):
                    shape = shapes.setdefault(_seen_from(node, quad), len(shapes))
                    others = tuple(numbers[other] for other in nodes if other != node)
                    incidences[numbers[node]].append((shape, others))
            sizes.append(len(numbers))
        return cls(tuple(labels), sizes[0], tuple(map(tuple, incidences)))

    def neighbours(self, node: int) -> set[int]:
        """Return the blank nodes that share a quad with a node."""
        return {other for _, others in self.incidences[node] for other in others}


class Classes:
    """The coarsest partition of some nodes in which all nodes of a class have equal surroundings.

    Surroundings are equal if both nodes have the same quads, with classes in place of blank nodes: the colour
    refinement of Hogan's *Canonical Forms for Isomorphic and Equivalent RDF Graphs* (2017). Only neighbours
    of a node that changed its class are visited again, and the largest part of a class keeps its number, so
    long chains take time in proportion to their length.
    """

    def __init__(
        self, around: Surroundings, nodes: Iterable[int], classes: Mapping[int, int], budget: MatchingBudget
    ) -> None:
        self._around = around
        self._budget = budget
        self.of: dict[int, int] = dict(classes)
        """The class of each node, including neighbours that are not sorted themselves."""
        self.members: dict[int, set[int]] = {}
        for node in nodes:
            self.members.setdefault(self.of[node], set()).add(node)
        self._free = max(self.of.values(), default=-1) + 1
        self._sort({node for members in self.members.values() for node in members})

    def balanced(self) -> bool:
        """True if each class has as many old nodes as new ones."""
        old = self._around.old
        return all(2 * sum(node < old for node in nodes) == len(nodes) for nodes in self.members.values())

    def _sort(self, unsure: set[int]) -> None:
        """Split classes until no class splits further.

        In each round, the members of a class that are not marked as unsure have equal surroundings, because
        no neighbour has changed its class since. So one of them represents all.
        """
        while unsure:
            parts = [
                part
                for number, nodes in self._by_class(unsure).items()
                for part in self._parts(number, nodes, unsure)
            ]
            for part in parts:
                number, self._free = self._free, self._free + 1
                self.members[self.of[next(iter(part))]] -= part
                self.members[number] = part
                for node in part:
                    self.of[node] = number
            moved = {node for part in parts for node in part}
            unsure = {
                other for node in moved for other in self._around.neighbours(node) if self._sorts(other)
            }

    def _sorts(self, node: int) -> bool:
        return node in self.members.get(self.of[node], ())

    def _by_class(self, nodes: set[int]) -> dict[int, list[int]]:
        classes: dict[int, list[int]] = {}
        for node in nodes:
            number = self.of[node]
            # a class of one cannot split
            if len(self.members[number]) > 1:
                classes.setdefault(number, []).append(node)
        return classes

    def _parts(self, number: int, nodes: list[int], unsure: set[int]) -> list[set[int]]:
        """Return the parts that leave a class; the largest part stays."""
        members = self.members[number]
        parts: dict[tuple[Any, ...], set[int]] = {}
        for node in nodes:
            parts.setdefault(self._seen(node), set()).add(node)
        if len(nodes) < len(members):
            sure = self._seen(next(node for node in members if node not in unsure))
            like_them = parts.pop(sure, set())
            rest = len(members) - len(nodes) + len(like_them)
            # if the nodes like the sure ones are the largest part, they need not be listed
            if all(len(part) <= rest for part in parts.values()):
                return list(parts.values())
            parts[sure] = members.difference(*parts.values())
        largest = max(parts.values(), key=len)
        return [part for part in parts.values() if part is not largest]

    def _seen(self, node: int) -> tuple[Any, ...]:
        incidences = self._around.incidences[node]
        self._budget.spend(len(incidences) + 1)
        # sorted, because the quads around a node have no order
        return tuple(
            sorted((shape, tuple(self.of[other] for other in others)) for shape, others in incidences)
        )


def components(around: Surroundings, nodes: Iterable[int]) -> list[list[int]]:
    """Group nodes that are connected through quads, in the given order."""
    left = dict.fromkeys(nodes)
    groups = []
    for first in tuple(left):
        if first not in left:
            continue
        del left[first]
        group = [first]
        for node in group:  # grows while it is read
            for _, others in around.incidences[node]:
                for other in others:
                    if other in left:
                        del left[other]
                        group.append(other)
        groups.append(group)
    return groups


def _seen_from(node: BNode, quad: Quad) -> tuple[Any, ...]:
    return tuple(
        (_SELF if term == node else _OTHER, None) if isinstance(term, BNode) else (None, term)
        for term in quad
    )
