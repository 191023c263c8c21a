"""All the ways in which explicit triples entail those of one kind, arranged for looking one triple up."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from rdflive.entail.sources import Sources
from rdflive.entail.templates import Atom, Atoms, Placeholder
from rdflive.model import Triple

__all__ = ["Ways"]


class Ways:
    """Atoms, and where they are not the present ones the classes that were known with them.

    Most ways to belong to a class are to belong to one below it; a resource has few classes, so these are
    listed and looked up, however many there are below.
    """

    __slots__ = ("_classes", "_single", "atoms", "known")

    def __init__(self, atoms: Atoms, known: Collection[Any] = ()) -> None:
        self.atoms = atoms
        self.known = known
        self._single: list[Atom] = []
        self._classes: dict[Any, set[Any]] = {}
        for atom in atoms:
            p, c = atom.source
            plain = not (atom.guard or atom.own)
            if plain and c is not None and atom.subject is Placeholder.SUBJECT and atom.object is None:
                self._classes.setdefault(p, set()).add(c)
            else:
                self._single.append(atom)

    def __len__(self) -> int:
        """Give the number of look-ups that a triple may cost."""
        return len(self._single) + len(self._classes)

    def entailing(
        self, sources: Sources, known: Collection[Any], subject: Any, value: Any
    ) -> Iterator[Triple]:
        """List the explicit triples that entail a triple of the kind; of a class the object is None."""
        for atom in self._single:
            yield from sources.matches(atom, known, subject, value)
        if sources.is_literal(subject):
            return
        for p, classes in self._classes.items():
            for triple in sources.explicit((subject, p, None)):
                if triple[2] in classes:
                    yield triple
