"""The explicit triples that an atom applies to, from the graph and the closed schema, as triples or
columns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import chain
from typing import Any, TypeAlias

from rdflive.engine.dictionary import Dictionary
from rdflive.entail.entailment import ExplicitGraph
from rdflive.entail.schema import Schema
from rdflive.entail.templates import Atom, Kind, Placeholder
from rdflive.model import Triple

__all__ = ["Columns", "Pair", "Sources"]


class Sources:
    """The triples that instance rules start from; schema triples come from the closed schema."""

    def __init__(self, graph: ExplicitGraph, schema: Schema) -> None:
        self.sees_schema = False
        """True if schema triples are read."""
        self._graph = graph
        self._schema = schema
        self._words = frozenset(schema.vocabulary.schema)
        self.is_literal = graph.literal_test()

    def has(self, source: Kind) -> bool:
        """Return True if the graph has an explicit triple of a kind."""
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
        # schema triples of the graph are already in the closed schema
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
            # the object may already be fixed, by the source or as the subject; another term matches nothing
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


Pair: TypeAlias = tuple[Sequence[int], Sequence[int]]
"""The subjects and the objects of triples, row by row."""


class Columns:
    """The triples of one kind. Objects get ids on first use."""

    def __init__(
        self, triples: Iterable[Triple], dictionary: Dictionary, is_literal: Callable[[Any], bool]
    ) -> None:
        self.triples = list(triples)
        self._dictionary = dictionary
        self._is_literal = is_literal
        self.subjects = self._numbered(0)

    def __len__(self) -> int:
        return len(self.triples)

    def of(self, atom: Atom) -> Pair:
        """Return the columns of the triples that entail something by an atom.

        An atom that does not read objects gets the subjects in their place.
        """
        subjects = self.subjects
        values = self._objects if _reads_object(atom) else subjects
        # no row is left out, so no copy is needed
        if not atom.guard and (atom.own or not self._odd):
            return subjects, values
        chosen = self._plain if atom.guard else range(len(subjects))
        if not atom.own:
            chosen = [i for i in chosen if i not in self._odd]
        return [subjects[i] for i in chosen], [values[i] for i in chosen]

    @cached_property
    def _objects(self) -> list[int]:
        return self._numbered(2)

    @cached_property
    def _odd(self) -> Collection[int]:
        """The rows whose subject is a literal: not RDF, but rdflib accepts such triples."""
        return {i for i, triple in enumerate(self.triples) if self._is_literal(triple[0])}

    @cached_property
    def _plain(self) -> Sequence[int]:
        """The rows whose object is not a literal."""
        return [i for i, triple in enumerate(self.triples) if not self._is_literal(triple[2])]

    def _numbered(self, place: int) -> list[int]:
        # Most terms already have ids, and a dictionary look-up is cheaper than a call. Ids are never 0.
        known, intern = self._dictionary.ids.get, self._dictionary.intern
        return [known(triple[place]) or intern(triple[place]) for triple in self.triples]


def _reads_object(atom: Atom) -> bool:
    return Placeholder.OBJECT in (atom.subject, atom.object)
