"""The schema triples of one graph: the explicit ones, and those entailed by them alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import chain
from typing import Any, Literal, TypeAlias

from rdflib import RDF, RDFS

from rdflive.entail.rdfs_rules import JOINS, STEPS, RuleJoin, RuleStep
from rdflive.model import TermPattern, Triple

__all__ = ["Edges", "RdfsTerms", "Schema", "reach"]


@dataclass(frozen=True, slots=True)
class RdfsTerms:
    """`rdf:type` and the four properties that make a triple a schema triple (Goasdoué et al., Figure 4)."""

    type: Any = RDF.type
    sub_class: Any = RDFS.subClassOf
    sub_property: Any = RDFS.subPropertyOf
    domain: Any = RDFS.domain
    range: Any = RDFS.range
    only_classes: bool = False
    """True if only subclasses are reasoned with."""

    @classmethod
    def of(cls, to_native: Callable[[Any], Any], *, only_classes: bool = False) -> RdfsTerms:
        """Return the vocabulary in the terms of a store."""
        return replace(cls(*map(to_native, cls().native)), only_classes=only_classes)

    @property
    def native(self) -> dict[Any, Any]:
        """The terms of the store, by those of rdflib."""
        return {field.default: getattr(self, field.name) for field in fields(self)[:5]}

    @property
    def schema(self) -> tuple[Any, ...]:
        """The properties of schema triples."""
        if self.only_classes:
            return (self.sub_class,)
        return self.sub_class, self.sub_property, self.domain, self.range


Edges: TypeAlias = dict[Any, set[Any]]
_End: TypeAlias = tuple[Any, Any]
"""A property of schema triples, and the node at one end of such a triple."""


def reach(edges: Edges, starts: Iterable[Any]) -> set[Any]:
    """Return the nodes reachable by a path of any length, including the starts.

    >>> sorted(reach({"a": {"b"}, "b": {"c"}}, ["a"]))
    ['a', 'b', 'c']
    """
    found = set(starts)
    waiting = list(found)
    while waiting:
        # a cycle ends here, because its nodes are already found
        new = edges.get(waiting.pop(), set()) - found
        found |= new
        waiting += new
    return found


class Schema:
    """Subclasses, subproperties, domains and ranges, as terms of a store.

    A triple that makes a property a subproperty of one of the four schema properties is left out and listed
    in `refused`: with it, data would entail schema triples, and the templates assume a schema that data
    cannot change.
    """

    def __init__(self, vocabulary: RdfsTerms) -> None:
        self.vocabulary = vocabulary
        native = vocabulary.native
        words = list(native.values())[1:]
        self.above: dict[Any, Edges] = {word: {} for word in words}
        """Per schema property the objects of each subject."""
        self.below: dict[Any, Edges] = {word: {} for word in words}
        """Per schema property the subjects of each object."""
        self.refused: set[Triple] = set()
        self.steps = [step._replace(word=native[step.word]) for step in STEPS]
        self._joins = [RuleJoin(rule, *(native[word] for word in joined)) for rule, *joined in JOINS]
        self._names = {word: word for word in native.values()}

    def change(self, sign: int, triple: Triple) -> None:
        """Apply the insert (+1) or delete (-1) of one schema triple."""
        s, p, o = triple
        # s == o is harmless: RDFS itself makes every property a subproperty of itself.
        if p == self.vocabulary.sub_property and o in self.vocabulary.schema and s != o:
            (self.refused.add if sign > 0 else self.refused.discard)(triple)
            return
        # One object per name, so that dictionaries compare names by identity, which is much faster.
        s, o = self._names.setdefault(s, s), self._names.setdefault(o, o)
        _change(self.above[p], sign, s, o)
        _change(self.below[p], sign, o, s)

    @property
    def classes(self) -> set[Any]:
        """The classes that some schema triple names."""
        words, above, below = self.vocabulary, self.above, self.below
        return set().union(
            above[words.sub_class], *(below[w] for w in (words.sub_class, words.domain, words.range))
        )

    @property
    def properties(self) -> set[Any]:
        """The properties that some schema triple names."""
        words, above = self.vocabulary, self.above
        return set().union(
            self.below[words.sub_property],
            *(above[w] for w in (words.sub_property, words.domain, words.range)),
        )

    @property
    def typing(self) -> set[Any]:
        """`rdf:type` and all its subproperties."""
        return reach(self.below[self.vocabulary.sub_property], [self.vocabulary.type])

    def conclusions(
        self, triple: Any, is_literal: Callable[[Any], bool]
    ) -> Iterator[tuple[Any, RuleStep, Any]]:
        """List the results of one step from a triple: the conclusion, the step, and the object of the schema
        triple.
        """
        word = self.vocabulary.type
        for step in self.steps:
            _, schema, at, of_type, (s, p, o), *_ = step
            new = self.above[schema].get(triple[at])
            if new and not (of_type and triple[1] != word) and not (s and is_literal(triple[s])):
                for term in new:
                    terms = (*triple, term, word)
                    yield (terms[s], terms[p], terms[o]), step, term

    def premises(self, goal: Any) -> Iterator[Any]:
        """List the results of one step back from a triple; None stands for any term."""
        word = self.vocabulary.type
        for step in self.steps:
            # most steps have no result, and this check is faster than a call
            if goal[step.back_at] in (edges := self.below[step.word]):
                yield from step.premises(goal, edges, word, None)

    def entailed(self, pattern: TermPattern) -> Iterator[Triple]:
        """List the matching triples of the closed schema: explicit ones and entailed ones (Figure 6)."""
        s, p, o = pattern
        if s is None and o is not None:
            found: Iterable[Triple] = ((node, word, o) for word, node in self._joined(o, self.below))
        else:
            nodes = {s} if s is not None else set().union(*self.above.values())
            found = ((node, word, end) for node in nodes for word, end in self._joined(node, self.above))
        # refused triples entail nothing, but the graph has them, so queries see them
        for triple in chain(self.refused, found):
            if s in (None, triple[0]) and p in (None, triple[1]) and o in (None, triple[2]):
                yield triple

    def proof(self, triple: Triple) -> list[tuple[str, tuple[Triple, Triple], Triple]]:
        """Return a shortest proof of a triple of the closed schema: rules with premises and conclusions.

        The proof is empty for an explicit triple and for a triple of the data.
        """
        s, p, o = triple
        came = self._joined(s, self.above)
        steps = []
        at = p, o
        while (way := came.get(at)) is not None:
            before, join = way
            steps.append((join.rule, ((s, *before), (before[1], join.second, at[1])), (s, *at)))
            at = before
        return steps[::-1]

    def concerned(self, changed: Iterable[Triple]) -> set[Any]:
        """Return the subjects whose triples of the closed schema may change with these triples."""
        nodes = {s for s, _, _ in changed}
        return nodes.union(node for s in nodes for _, node in self._joined(s, self.below))

    def reaching(self, changed: Iterable[Triple]) -> dict[Any, set[Triple]]:
        """Return the triples of the closed schema with these subjects."""
        return {node: set(self.entailed((node, None, None))) for node in self.concerned(changed)}

    def changed(self, before: dict[Any, set[Triple]]) -> list[tuple[Literal[1, -1], Triple]]:
        """Compare the present triples of the closed schema with earlier ones, for some subjects."""
        after = {node: set(self.entailed((node, None, None))) for node in before}
        gone: list[tuple[Literal[1, -1], Triple]] = [(-1, t) for n in before for t in before[n] - after[n]]
        return [*gone, *((1, t) for n in before for t in after[n] - before[n])]

    def _joined(self, start: Any, edges: dict[Any, Edges]) -> dict[_End, tuple[_End, RuleJoin] | None]:
        """Return the other ends of the closed schema's triples from (`above`) or to (`below`) a node.

        Each end is a property and a node, nearest first. Its value is the end that it was derived from and
        the rule, or None if it is explicit. A rule joins two consecutive triples, of which the farther one
        can always be explicit.
        """
        is_up = edges is self.above
        came: dict[_End, tuple[_End, RuleJoin] | None] = {
            (word, node): None for word in edges for node in edges[word].get(start, ())
        }
        waiting = list(came)
        # a queue that grows while it is read
        for end in waiting:
            for join in self._joins:
                known, explicit = (join.first, join.second) if is_up else (join.second, join.first)
                for node in edges[explicit].get(end[1], ()) if known == end[0] else ():
                    new = join.conclusion, node
                    if new not in came:
                        came[new] = end, join
                        waiting.append(new)
        return came


def _change(edges: Edges, sign: int, node: Any, other: Any) -> None:
    if sign > 0:
        edges.setdefault(node, set()).add(other)
        return
    edges[node].discard(other)
    if not edges[node]:
        del edges[node]
