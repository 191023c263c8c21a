"""Construct: the triples that a CONSTRUCT template makes from solutions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import blake2b
from typing import Any, Protocol

from rdflive.engine.dictionary import UNBOUND, Dictionary
from rdflive.engine.multiset import Row, Weights
from rdflive.engine.operators.operator import gather, row_at
from rdflive.query.bgp import TriplePattern, Variable

__all__ = ["ConstructOperator"]


class TermInterner(Protocol):
    """The operations on terms that a template uses."""

    def intern(self, term: Any) -> int:
        """Return the id of an rdflib term."""

    def is_triple(self, triple: tuple[int, int, int]) -> bool:
        """Return True if RDF allows the triple."""

    def triple(self, triple: tuple[int, int, int]) -> int:
        """Return the id of a triple as a term."""

    def blank(self, label: str) -> int:
        """Return the id of the blank node with this label."""

    def text(self, number: int) -> str:
        """Write a term so that different terms differ."""


class ConstructOperator:
    """Maps rows to triples, weighted by the number of solutions and template triples that make them.

    A blank node of the template is computed from the solution and the number of its copy. So a delete makes
    the same blank node as the insert, without a record of it. Triples that RDF does not allow, or that have
    an unbound term, are left out (SPARQL 1.1, section 16.2).
    """

    __slots__ = ("_blanks", "_context", "_dictionary", "_own", "_template", "_terms", "_weights")

    def __init__(
        self,
        dictionary: Dictionary,
        columns: Sequence[Variable],
        template: Sequence[TriplePattern],
        terms: TermInterner,
        context: Sequence[Variable] = (),
    ) -> None:
        """Make triples from rows with these columns, each preceded by the values of the context columns."""
        self._dictionary = dictionary
        self._terms = terms
        self._weights: Weights = {}
        places = {variable: place for place, variable in enumerate(columns)}
        self._context = row_at([places[variable] for variable in context])
        self._own = row_at([place for variable, place in places.items() if variable not in context])

        def part(term: Any) -> tuple[str, Any]:
            if isinstance(term, TriplePattern):
                return "triple", tuple(map(part, term))
            if not isinstance(term, Variable):
                return "constant", term
            # a variable that the pattern never binds has no column, and its triples are left out
            if term.distinguished or term in places:
                return "column", places.get(term)
            return "blank", term.name

        self._template = [tuple(part(term) for term in triple) for triple in template]
        self._blanks = any(
            v not in places and not v.distinguished for triple in template for v in triple.variables
        )

    def update(self, *deltas: Weights) -> Weights:
        """Return the added and removed triples, weighted."""
        (delta,) = deltas
        triples: Weights = {}
        for row, change in delta.items():
            # without blank nodes the copies of a solution make the same triples, so only their number counts
            if not self._blanks:
                for triple in self._triples(row, 0):
                    gather(triples, triple, change)
                continue
            before = self._weights.get(row, 0)
            self._keep(row, before, before + change)
            for copy in range(min(before, before + change), max(before, before + change)):
                for triple in self._triples(row, copy):
                    gather(triples, triple, 1 if change > 0 else -1)
        return triples

    def _keep(self, row: Row, before: int, after: int) -> None:
        if after:
            self._weights[row] = after
            if not before:
                self._dictionary.hold(row)
        else:
            del self._weights[row]
            self._dictionary.drop(row)

    def _triples(self, row: Row, copy: int) -> Iterator[Row]:
        for template in self._template:
            triple = self._triple(template, row, copy)
            if triple is not None:
                yield (*self._context(row), *triple)

    def _triple(self, template: Any, row: Row, copy: int) -> tuple[int, int, int] | None:
        s, p, o = (self._term(kind, value, row, copy) for kind, value in template)
        return (s, p, o) if UNBOUND not in (s, p, o) and self._terms.is_triple((s, p, o)) else None

    def _term(self, kind: str, value: Any, row: Row, copy: int) -> int:
        if kind == "column":
            return UNBOUND if value is None else row[value]
        if kind == "constant":
            return self._terms.intern(value)
        if kind == "triple":
            triple = self._triple(value, row, copy)
            return UNBOUND if triple is None else self._terms.triple(triple)
        # NUL cannot occur in an IRI or a label, so different lists of terms have different texts. The blank
        # node is the same whether its query shares a plan or not.
        text = "\0".join([value, str(copy), *map(self._terms.text, self._own(row))])
        return self._terms.blank(blake2b(text.encode(), digest_size=10).hexdigest())

    def clear(self) -> None:
        """Discard every solution."""
        for row in self._weights:
            self._dictionary.drop(row)
        self._weights.clear()

    def containers(self) -> list[Any]:
        """List the solutions that are counted."""
        return [self._weights]
