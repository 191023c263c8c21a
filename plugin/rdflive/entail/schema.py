"""The schema triples of one graph: the explicit ones, and their closure (Goasdoué et al., Figure 6)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from rdflive.entail.vocabulary import Vocabulary
from rdflive.model import Triple

__all__ = ["Edges", "Schema", "reach"]

Edges: TypeAlias = dict[Any, set[Any]]


def reach(edges: Edges, starts: Iterable[Any]) -> set[Any]:
    """Give the nodes that a path of any length leads to, the starts among them.

    >>> sorted(reach({"a": {"b"}, "b": {"c"}}, ["a"]))
    ['a', 'b', 'c']
    """
    found = set(starts)
    waiting = list(found)
    while waiting:
        # a cycle ends here, as its nodes are found already
        new = edges.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


class Schema:
    """Subclasses, subproperties, domains and ranges, as terms of a store.

    A triple that makes a property a subproperty of one of the four schema properties is left out and listed
    in `refused`: by it, data would become schema, and the templates assume a schema that data cannot change.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self.sub_class: Edges = {}
        self.sub_property: Edges = {}
        self.domain: Edges = {}
        self.range: Edges = {}
        self.refused: set[Triple] = set()
        edges = self.sub_class, self.sub_property, self.domain, self.range
        # of one that reasons with subclasses only, the others stay empty
        self._edges = dict(zip(vocabulary.schema, edges, strict=False))
        self._closure: frozenset[Triple] | None = None
        self._below: dict[Any, Edges] = {vocabulary.sub_class: {}, vocabulary.sub_property: {}}

    def change(self, sign: int, triple: Triple) -> None:
        """Take one schema triple that was added (+1) or removed (-1)."""
        # Computed again when it is asked for: most graphs change their schema rarely.
        self._closure = None
        s, p, o = triple
        # A schema property below itself (s == o) adds nothing, and RDFS itself says so of each.
        if p == self.vocabulary.sub_property and o in self.vocabulary.schema and s != o:
            (self.refused.add if sign > 0 else self.refused.discard)(triple)
            return
        _change(self._edges[p], sign, s, o)
        if p in self._below:
            _change(self._below[p], sign, o, s)

    @property
    def classes(self) -> set[Any]:
        """The classes that some schema triple names."""
        return (
            set(self.sub_class)
            .union(*self.sub_class.values())
            .union(*self.domain.values(), *self.range.values())
        )

    @property
    def properties(self) -> set[Any]:
        """The properties that some schema triple names."""
        return {*self.sub_property, *self.domain, *self.range}.union(*self.sub_property.values())

    @property
    def typing(self) -> set[Any]:
        """`rdf:type` and all its subproperties."""
        return self.below(self.vocabulary.sub_property, [self.vocabulary.type])

    def below(self, word: Any, nodes: Iterable[Any]) -> set[Any]:
        """Give classes with all their subclasses, or properties with all subproperties; `word` says which."""
        return reach(self._below[word], nodes)

    @property
    def closure(self) -> frozenset[Triple]:
        """The explicit schema triples and all that follow from them."""
        if self._closure is None:
            # refused triples entail nothing, but the graph has them, so queries see them
            self._closure = frozenset(self._closed()) | self.refused
        return self._closure

    def _closed(self) -> Iterable[Triple]:
        words = self.vocabulary
        for edges, word in ((self.sub_class, words.sub_class), (self.sub_property, words.sub_property)):
            for node, above in edges.items():
                for other in reach(edges, above):
                    yield node, word, other
        for edges, word in ((self.domain, words.domain), (self.range, words.range)):
            # a property without a domain of its own may have that of a property above it
            for node in {*edges, *self.sub_property}:
                above = reach(self.sub_property, [node])
                direct = set().union(*(edges.get(p, ()) for p in above))
                for other in reach(self.sub_class, direct):
                    yield node, word, other


def _change(edges: Edges, sign: int, node: Any, other: Any) -> None:
    if sign > 0:
        edges.setdefault(node, set()).add(other)
        return
    edges[node].discard(other)
    if not edges[node]:
        del edges[node]
