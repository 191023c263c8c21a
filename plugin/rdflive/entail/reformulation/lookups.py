"""Answers one atom on a graph by index look-ups, given the values of some of its variables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

from rdflive.entail.reformulation.partial import Atom, is_variable
from rdflive.entail.reformulation.rules import Branch, branches, variables_of
from rdflive.entail.reformulation.schema import KnownSchema
from rdflive.query.bgp import Variable

__all__ = ["AtomAnswers", "TripleSource"]

_Row: TypeAlias = tuple[Any, ...]
_Triple: TypeAlias = tuple[Any, Any, Any]
_MANY: Final = 16
"""From this number of look-ups of one subject on, all its triples are listed instead."""


class TripleSource(Protocol):
    """A graph to evaluate on, in the terms of its store."""

    def triples(self, pattern: _Triple, /) -> Iterator[_Triple]:
        """List the distinct triples that match; None matches anything."""

    def to_native(self, term: Any, /) -> Any:
        """Convert an rdflib term to the store's own class."""

    def is_literal(self, term: Any, /) -> bool:
        """Return True if a term of the store is a literal."""

    def is_iri(self, term: Any, /) -> bool:
        """Return True if a term of the store is an IRI."""


@dataclass(frozen=True, slots=True)
class _Given:
    """A value that is known when the atom is looked up and that occurs in no schema triple."""

    place: int


@dataclass(frozen=True, slots=True)
class _Lookup:
    """One branch of the union in terms of the store."""

    pattern: _Triple | None
    equal: tuple[tuple[int, int], ...]
    """Pairs of positions of the triple that hold the same variable."""
    not_literal: tuple[int, ...]
    heads: tuple[_Row, ...]
    """Per free variable a term, or the variable's position in the triple."""
    is_existence: bool
    """True if all matches give the same answers as one."""

    def rows(self, triple: _Triple, is_literal: Callable[[Any], bool]) -> Iterator[_Row]:
        """Return the answers of a triple that matches the pattern."""
        if any(triple[i] != triple[j] for i, j in self.equal):
            return
        if any(is_literal(triple[i]) for i in self.not_literal):
            return
        for head in self.heads:
            yield tuple(triple[term] if isinstance(term, int) else term for term in head)


class AtomAnswers:
    """The answers of one atom over the entailed triples, by the values of its given variables."""

    def __init__(
        self,
        schema: KnownSchema,
        reader: TripleSource,
        known: Mapping[Any, Any],
        atom: Atom,
        bound: Iterable[Variable],
    ) -> None:
        variables = variables_of(atom)
        self.given = tuple(v for v in variables if v in bound)
        self.free = tuple(v for v in variables if v not in bound)
        self._schema = schema
        self._reader = reader
        self._known = known
        """The terms of the schema, by the corresponding terms of the store."""
        self._atom = atom
        self._plans: dict[tuple[Any, ...], _Plan] = {}

    def rows(self, values: _Row) -> list[_Row]:
        """List the distinct values of the free variables, for these values of the given ones."""
        if not self._is_possible(values):
            return []
        # the rules read terms of the schema only, so all other values share one plan
        key = tuple(map(self._known.get, values))
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = self._plan(key)
        found: dict[_Row, None] = {}
        for row in plan.rows(values):
            found[row] = None
            # without free variables one answer is enough
            if not self.free:
                break
        return list(found)

    def _is_possible(self, values: _Row) -> bool:
        """Return True if an entailed triple can have these terms in these positions."""
        s, p, _ = self._atom
        return not any(
            (variable == s and self._reader.is_literal(value))
            or (variable == p and not self._reader.is_iri(value))
            for variable, value in zip(self.given, values, strict=True)
        )

    def _plan(self, key: tuple[Any, ...]) -> _Plan:
        values = {
            v: _Given(i) if term is None else term
            for i, (v, term) in enumerate(zip(self.given, key, strict=True))
        }
        s, p, o = (values.get(term, term) for term in self._atom)
        lookups = [self._lookup(branch) for branch in branches(self._schema, (s, p, o))]
        subject = None if is_variable(s) else self._native(s)
        return _Plan(self._reader, subject, lookups)

    def _native(self, term: Any) -> Any:
        return term if isinstance(term, _Given) else self._reader.to_native(term)

    def _lookup(self, branch: Branch) -> _Lookup:
        if branch.pattern is None:
            rows = tuple(tuple(map(self._native, head)) for head in branch.heads)
            return _Lookup(None, (), (), rows, is_existence=True)
        first = {term: branch.pattern.index(term) for term in branch.pattern if is_variable(term)}
        s, p, o = (None if term in first else self._native(term) for term in branch.pattern)
        return _Lookup(
            (s, p, o),
            tuple((first[t], i) for i, t in enumerate(branch.pattern) if t in first and first[t] != i),
            tuple(first[term] for term in branch.not_literal),
            tuple(tuple(first[t] if t in first else self._native(t) for t in head) for head in branch.heads),
            is_existence=not any(term in first for head in branch.heads for term in head),
        )


class _Plan:
    """The look-ups that answer an atom. Many look-ups with the same subject become one listing of its
    triples.
    """

    def __init__(self, reader: TripleSource, subject: Any, lookups: Sequence[_Lookup]) -> None:
        self._reader = reader
        self._subject = subject
        self._single: list[_Lookup] = []
        self._listed: dict[tuple[Any, Any], list[_Lookup]] = {}
        is_listed = sum(map(self._is_of_subject, lookups)) >= _MANY
        for lookup in lookups:
            if is_listed and lookup.pattern and self._is_of_subject(lookup):
                self._listed.setdefault(lookup.pattern[1:], []).append(lookup)
            else:
                self._single.append(lookup)

    def _is_of_subject(self, lookup: _Lookup) -> bool:
        """Return True if a look-up has the subject of the plan and a property that is already known."""
        if self._subject is None or lookup.pattern is None or lookup.pattern[0] != self._subject:
            return False
        _, p, o = lookup.pattern
        # `_listed` is keyed when the plan is made, but given values come with each row
        return p is not None and not isinstance(p, _Given) and not isinstance(o, _Given)

    def rows(self, values: _Row) -> Iterator[_Row]:
        """Return the answers, with repetitions."""
        for lookup in self._single:
            yield from self._looked_up(lookup, values)
        if self._listed:
            for triple in self._triples((self._subject, None, None), values):
                _, p, o = triple
                for lookup in (*self._listed.get((p, None), ()), *self._listed.get((p, o), ())):
                    yield from lookup.rows(triple, self._reader.is_literal)

    def _looked_up(self, lookup: _Lookup, values: _Row) -> Iterator[_Row]:
        if lookup.pattern is None:
            yield from lookup.heads
            return
        for triple in self._triples(lookup.pattern, values):
            rows = list(lookup.rows(triple, self._reader.is_literal))
            yield from rows
            if rows and lookup.is_existence:
                return

    def _triples(self, pattern: _Triple, values: _Row) -> Iterator[_Triple]:
        s, p, o = (values[term.place] if isinstance(term, _Given) else term for term in pattern)
        return self._reader.triples((s, p, o))
