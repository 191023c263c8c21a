"""Partially instantiated queries (Goasdoué et al., Section 6.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from rdflib import RDF, RDFS, Literal, URIRef

from rdflive.query.bgp import Variable, to_text

__all__ = ["Atom", "Fresh", "PartialQuery", "is_variable", "literal_text", "term_text"]

Atom: TypeAlias = tuple[Any, Any, Any]
"""A triple of constants, variables and fresh variables. Constants are rdflib terms, whose blank nodes are
those of the data.
"""


@dataclass(frozen=True, slots=True)
class Fresh:
    """A variable that rule 15 or 16 made. It occurs once and is unconstrained."""

    number: int

    def __str__(self) -> str:
        return f"?_z{self.number}"


def is_variable(term: Any) -> bool:
    """Return True if a term of an atom matches any term."""
    return isinstance(term, Variable | Fresh)


@dataclass(frozen=True, slots=True)
class PartialQuery:
    """A member of a reformulation: head and body, both with some variables instantiated.

    Fresh variables are numbered in the order of the body, so members that are equal up to renaming are equal.

    >>> x, made = Variable("x"), URIRef("urn:made")
    >>> print(PartialQuery((x,), ((x, made, Fresh(1)),)))
    q(?x) :- ?x <urn:made> ?_z1
    """

    head: tuple[Any, ...]
    body: tuple[Atom, ...]
    not_literal: frozenset[Any] = frozenset()
    """The variables that were subjects and no longer occur as subjects in the body: they bind no literal."""

    def bind(self, variable: Any, value: Any) -> PartialQuery | None:
        """Instantiate a variable; None if an entailed triple cannot have the term at its position."""
        if isinstance(value, Literal) and self._is_subject(variable):
            return None
        if not isinstance(value, URIRef) and any(variable == p for _, p, _ in self.body):
            return None
        body = [tuple(value if term == variable else term for term in atom) for atom in self.body]
        return _numbered((value if t == variable else t for t in self.head), body, self.not_literal)

    def replace(self, place: int, atom: Atom) -> PartialQuery | None:
        """Replace one atom by another; the subject of the replaced atom must still not be a literal."""
        subject = self.body[place][0]
        if isinstance(subject, Literal):
            return None
        body = (*self.body[:place], atom, *self.body[place + 1 :])
        return _numbered(self.head, body, self.not_literal | {subject})

    def drop(self, place: int, triple: Atom) -> PartialQuery | None:
        """Remove an atom that matches a triple of the schema's closure, and instantiate its variables."""
        query: PartialQuery | None = self
        for position in range(3):
            if query is None:
                return None
            term = query.body[place][position]
            if is_variable(term):
                query = query.bind(term, triple[position])
            elif term != triple[position]:
                return None
        if query is None:
            return None
        return _numbered(query.head, (*query.body[:place], *query.body[place + 1 :]), query.not_literal)

    def _is_subject(self, variable: Any) -> bool:
        return variable in self.not_literal or any(variable == s for s, _, _ in self.body)

    def __str__(self) -> str:
        atoms = [" ".join(map(term_text, atom)) for atom in self.body]
        atoms += [f"{term} is no literal" for term in sorted(self.not_literal, key=str)]
        return f"q({', '.join(map(term_text, self.head))}) :- {', '.join(atoms)}"


def _numbered(head: Iterable[Any], body: Iterable[Any], guarded: frozenset[Any]) -> PartialQuery:
    """Number fresh variables in order, and keep the guards that the body does not already entail."""
    numbers: Iterator[int] = iter(range(1, 2**31))
    atoms: list[Atom] = []
    guards: set[Any] = set()
    for atom in body:
        renamed = [Fresh(next(numbers)) if isinstance(term, Fresh) else term for term in atom]
        guards.update(new for old, new in zip(atom, renamed, strict=True) if old in guarded)
        atoms.append((renamed[0], renamed[1], renamed[2]))
    subjects = {s for s, _, _ in atoms}
    # a subject of the body is never a literal; a redundant guard would make equal members differ
    kept = frozenset(term for term in guards if is_variable(term) and term not in subjects)
    return PartialQuery(tuple(head), tuple(atoms), kept)


_SHORT: Final = {RDF.type: "a"} | {
    term: f"rdfs:{term.removeprefix(str(RDFS))}"
    for term in (RDFS.subClassOf, RDFS.subPropertyOf, RDFS.domain, RDFS.range)
}

_ESCAPES: Final = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t"})
"""The characters that a SPARQL string must escape, and the tab, which is invisible in print."""


def term_text(term: Any) -> str:
    """Write a term as Goasdoué et al. do: a blank node of the query is a variable, a blank node of the data
    is not.
    """
    if isinstance(term, Variable) and not term.distinguished:
        return f"?_{term.name}"
    if isinstance(term, URIRef):
        return _SHORT.get(term) or f"<{term}>"
    return literal_text(term) if isinstance(term, Literal) else to_text(term)


def literal_text(term: Literal) -> str:
    """Write a literal on one line; `n3()` writes line breaks unescaped in long quotes.

    >>> print(literal_text(Literal("one\\ntwo", lang="en")))
    "one\\ntwo"@en
    """
    text = f'"{str(term).translate(_ESCAPES)}"'
    if term.language:
        return f"{text}@{term.language}"
    return text if term.datatype is None else f"{text}^^<{term.datatype}>"
