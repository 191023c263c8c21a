"""The explicit triples that an atom applies to: those of the graph, and those of the closed schema."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

from rdflive.entail.entailment import ExplicitGraph
from rdflive.entail.templates import Atom, Placeholder
from rdflive.entail.vocabulary import Vocabulary
from rdflive.model import Triple

__all__ = ["Sources"]


class Sources:
    """The triples that instance rules start from; schema triples are taken from the closed schema."""

    def __init__(self, graph: ExplicitGraph, vocabulary: Vocabulary) -> None:
        self.closed: frozenset[Triple] = frozenset()
        self._by_subject: dict[Any, list[Triple]] = {}
        self._by_object: dict[Any, list[Triple]] = {}
        self._graph = graph
        self._schema = frozenset(vocabulary.schema)
        self.is_literal = graph.literal_test()

    def close(self, closed: frozenset[Triple]) -> None:
        """Set the triples of the closed schema."""
        self.closed = closed
        self._by_subject, self._by_object = {}, {}
        for triple in closed:
            self._by_subject.setdefault(triple[0], []).append(triple)
            self._by_object.setdefault(triple[2], []).append(triple)

    def explicit(self, pattern: Triple) -> Iterable[Triple]:
        """List the triples that match; those with a schema property come from the closed schema."""
        s, p, o = pattern
        if p is not None and p not in self._schema:
            found: Iterable[Any] = self._graph.triples(pattern)
            return found
        # The closure of a large ontology has many triples, so it is indexed by both ends.
        near: Iterable[Triple] = self.closed if s is None else self._by_subject.get(s, ())
        if s is None and o is not None:
            near = self._by_object.get(o, ())
        closed = [t for t in near if p in (None, t[1]) and o in (None, t[2])]
        if p is None:
            # schema triples of the graph are in the closed schema, and must not come twice
            closed += [t for t in map(_triple, self._graph.triples(pattern)) if t[1] not in self._schema]
        return closed

    def matches(
        self, atom: Atom, known: Collection[Any], subject: Any = None, value: Any = None
    ) -> Iterator[Triple]:
        """List the explicit triples that entail a triple with this subject and object by an atom.

        None matches anything. `known` are the classes that the schema names.
        """
        p, wanted_value = atom.source
        wanted_subject = None
        for term, place in ((subject, atom.subject), (value, atom.object)):
            if term is None or place is None:
                continue
            if place is Placeholder.SUBJECT:
                wanted_subject = term
            # the object may be fixed by now, by the source or as the subject; another term matches nothing
            elif place is Placeholder.OBJECT and wanted_value in (None, term):
                wanted_value = term
            elif place != term:
                return
        for triple in self.explicit((wanted_subject, p, wanted_value)):
            if atom.guard and self.is_literal(triple[2]):
                continue
            if atom.other and triple[2] in known:
                continue
            if atom.own or not self.is_literal(triple[0]):
                yield triple


def _triple(found: Any) -> Triple:
    s, p, o = found
    return s, p, o
