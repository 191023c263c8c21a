"""Explicit triples of one kind, read once as columns of ids and used for all that they entail."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from typing import Any, TypeAlias

from rdflive.engine.dictionary import Dictionary
from rdflive.entail.templates import Atom, Placeholder
from rdflive.model import Triple

__all__ = ["Columns", "Pair"]

Pair: TypeAlias = tuple[Sequence[int], Sequence[int]]
"""The subjects and the objects of triples, row by row."""


class Columns:
    """The triples of one kind. Objects get ids only if somebody reads them."""

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
        """Give the columns of the triples that entail something by an atom.

        An atom that does not read objects gets the subjects in their place.
        """
        subjects = self.subjects
        values = self._objects if _reads_object(atom) else subjects
        # no row has to be left out, so nothing is copied
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
        """The rows whose subject is a literal: no RDF, but rdflib accepts such triples."""
        return {i for i, triple in enumerate(self.triples) if self._is_literal(triple[0])}

    @cached_property
    def _plain(self) -> Sequence[int]:
        """The rows whose object is not a literal."""
        return [i for i, triple in enumerate(self.triples) if not self._is_literal(triple[2])]

    def _numbered(self, place: int) -> list[int]:
        # Most terms have ids already, and a dictionary look-up is cheaper than a call. Ids are never 0.
        known, intern = self._dictionary.ids.get, self._dictionary.intern
        return [known(triple[place]) or intern(triple[place]) for triple in self.triples]


def _reads_object(atom: Atom) -> bool:
    return Placeholder.OBJECT in (atom.subject, atom.object)
