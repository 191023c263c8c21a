"""Finds the tables of the kinds that an explicit triple entails triples of."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

from rdflive.entail.table import EntailedTable, Key, Pick
from rdflive.entail.templates import Atom, Placeholder

__all__ = ["Contribution", "Counted", "Route", "Routes"]

Contribution: TypeAlias = tuple[EntailedTable, Pick, Atom, int]
"""A table, the function that picks the key of the entailed triple, the atom that entails it, and its weight.
"""
Counted: TypeAlias = tuple[dict[Key, int], EntailedTable, int]
"""The counts of a table, the table, and the weight."""


class Route:
    """The triples that the explicit triples of one kind entail, grouped by the work that a change needs.

    Counted kinds whose key is the subject, the object or both need one dictionary update each. The rest need
    tests or look-ups.

    Example: `:delay rdfs:domain :Train`, and the kind *a :Train* is counted. Every triple `?x :delay ?y` adds
    one to the support of the key `?x` in the table of that kind, so its route has it under `subjects`.
    """

    __slots__ = ("hits", "objects", "pairs", "rest", "steps", "subjects")

    def __init__(self, steps: Iterable[Contribution]) -> None:
        self.steps = tuple(steps)
        """All contributions."""
        self.subjects: list[Counted] = []
        """Counted kinds whose key is the subject."""
        self.objects: list[Counted] = []
        """Counted kinds whose key is the object, unless that is a literal."""
        self.pairs: list[Counted] = []
        """Counted kinds whose key is (subject, object)."""
        self.rest: list[Contribution] = []
        """All other contributions."""
        self.hits = 0
        for step in self.steps:
            table, _, atom, weight = step
            places = self._places(table, atom)
            if table.counts is None or places is None:
                self.rest.append(step)
            else:
                places.append((table.counts, table, weight))

    def _places(self, table: EntailedTable, atom: Atom) -> list[Counted] | None:
        places = (atom.subject, atom.object) if table.kind[1] is None else (atom.subject,)
        if places == (Placeholder.SUBJECT,) and not atom.guard:
            return self.subjects
        # only guarded atoms make an object a subject; `follow` tests the guard once for all of them
        if places == (Placeholder.OBJECT,) and atom.guard:
            return self.objects
        return self.pairs if places == (Placeholder.SUBJECT, Placeholder.OBJECT) and not atom.guard else None


class Routes:
    """Finds the routes of explicit triples by their property and, for type triples, their class."""

    def __init__(self, schema: Iterable[Any]) -> None:
        self._schema = frozenset(schema)
        self.heard = set(self._schema)
        """The properties of triples that may change the entailed triples: those of the schema, and those of
        triples that entail kept kinds.
        """
        self._steps: dict[Any, dict[Any, dict[tuple[EntailedTable, Atom], Contribution]]] = {}
        self._sorted: dict[Any, dict[Any, Route]] = {}

    def __contains__(self, predicate: Any) -> bool:
        return predicate in self._steps

    def find(self, p: Any, c: Any) -> Route | None:
        """Return the route for a known property and a class; None if no kept kind is concerned."""
        found = self._sorted.get(p)
        if found is None:
            found = self._sorted[p] = {}
        route = found.get(c)
        if route is None and c in self._steps[p]:
            route = found[c] = Route(self._steps[p][c].values())
        return route

    def add(self, step: Contribution) -> None:
        """Add a route to a table by one more atom."""
        # cached routes lack the new step
        self.forget()
        table, _, atom, _ = step
        p, c = atom.source
        self.heard.add(p)  # first: an interrupt may leave one too many, but never one too few
        self._steps.setdefault(p, {}).setdefault(c, {})[table, atom] = step

    def remove(self, table: EntailedTable, atom: Atom) -> None:
        """Remove the route to a table by an atom."""
        self.forget()
        p, c = atom.source
        by_class = self._steps[p]
        del by_class[c][table, atom]
        if not by_class[c]:
            del by_class[c]
        if not by_class:
            del self._steps[p]
            if p not in self._schema:
                self.heard.discard(p)

    def forget(self) -> None:
        """Discard the grouped routes, because a table began or ceased to count.

        Hits are counted per route, which is cheaper than per table; this method adds them to the tables.
        """
        for by_class in self._sorted.values():
            for route in by_class.values():
                for table, *_ in route.steps if route.hits else ():
                    table.updates += route.hits
        self._sorted.clear()
