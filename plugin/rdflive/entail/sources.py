"""The explicit triples that an atom applies to: those of the graph, and those of the closed schema."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from itertools import chain
from typing import Any

from rdflive.entail.entailment import ExplicitGraph
from rdflive.entail.schema import Schema
from rdflive.entail.templates import Atom, Kind, Placeholder
from rdflive.model import Triple

__all__ = ["Sources"]


class Sources:
    """The triples that instance rules start from; schema triples are taken from the closed schema."""

    def __init__(self, graph: ExplicitGraph, schema: Schema) -> None:
        self.sees_schema = False
        """Whether schema triples are asked for."""
        self._graph = graph
        self._schema = schema
        self._words = frozenset(schema.vocabulary.schema)
        self.is_literal = graph.literal_test()

    def has(self, source: Kind) -> bool:
        """Tell whether there are explicit triples of a kind."""
        return next(iter(self.explicit((None, *source))), None) is not None

    def explicit(self, pattern: Triple) -> Iterable[Triple]:
        """List the triples that match; those with a schema property come from the closed schema."""
        p = pattern[1]
        if p is not None and p not in self._words:
            found: Iterable[Any] = self._graph.triples(pattern)
            return found
        closed = self._schema.entailed(pattern) if self.sees_schema else iter(())
        if p is not None:
            return closed
        # schema triples of the graph are in the closed schema, and must not come twice
        return chain(
            closed, (t for t in map(_triple, self._graph.triples(pattern)) if t[1] not in self._words)
        )

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
