"""All ways in which explicit triples entail those of one kind, arranged for looking up one triple."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cached_property
from typing import Any

from rdflive.entail.sources import Sources
from rdflive.entail.templates import Atom, Atoms, Placeholder
from rdflive.model import Triple

__all__ = ["Ways"]


class Ways:
    """The atoms of a kind; for atoms of the past also the classes that were known then.

    Most atoms of a class say "belongs to a subclass". A resource has few classes but a class may have
    thousands of subclasses, so these atoms are merged: the classes of the resource are listed and looked up
    in a set.
    """

    def __init__(self, atoms: Atoms, known: Collection[Any] = ()) -> None:
        self.atoms = atoms
        self.known = known

    def add(self, atom: Atom, weight: int) -> None:
        """Take one more atom."""
        self.atoms[atom] = weight
        if "_sorted" in self.__dict__:
            _sort(atom, *self._sorted)

    @cached_property
    def _sorted(self) -> tuple[list[Atom], dict[Any, set[Any]]]:
        """The atoms that are asked one by one, and the classes of the others by their property.

        They are sorted when something is looked up, which may be never.
        """
        single: list[Atom] = []
        classes: dict[Any, set[Any]] = {}
        for atom in self.atoms:
            _sort(atom, single, classes)
        return single, classes

    @property
    def is_trivial(self) -> bool:
        """True if, by these atoms, only explicit triples are of the kind."""
        return all(atom.own for atom in self.atoms)

    def __len__(self) -> int:
        """Give the number of look-ups in the graph that asking for one triple may need."""
        return sum(map(len, self._sorted))

    def entailing(
        self, sources: Sources, known: Collection[Any], subject: Any, value: Any
    ) -> Iterator[Triple]:
        """List the explicit triples that entail a triple of the kind; for a class `value` is None."""
        single, by_property = self._sorted
        for atom in single:
            yield from sources.matches(atom, known, subject, value)
        # such a triple entails only itself, by an own atom, and these are among the single ones
        if sources.is_literal(subject):
            return
        for p, classes in by_property.items():
            for triple in sources.explicit((subject, p, None)):
                if triple[2] in classes:
                    yield triple


def _sort(atom: Atom, single: list[Atom], classes: dict[Any, set[Any]]) -> None:
    p, c = atom.source
    # A guard must see the object, and an own atom also takes literal subjects; both are asked singly.
    plain = not (atom.guard or atom.own)
    if plain and c is not None and atom.subject is Placeholder.SUBJECT and atom.object is None:
        classes.setdefault(p, set()).add(c)
    else:
        single.append(atom)
