"""The union that answers one atom of a query: the patterns of its members, and the answers of each match."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rdflib import BNode, Literal

from rdflive.entail.reformulation.partial import Atom, PartialQuery
from rdflive.entail.reformulation.rules import ANSWERING, rounds
from rdflive.entail.reformulation.schema import KnownSchema
from rdflive.query.bgp import Variable

__all__ = ["Branch", "branches", "variables_of"]


@dataclass(frozen=True, slots=True)
class Branch:
    """The members of a union that match the same triples.

    Each head stands for one member. It has, per variable of the atom, the variable, found in the pattern, or
    the constant that a rule instantiated it with. All heads of one pattern have constants in the same
    positions.
    """

    pattern: Atom | None
    """The pattern to match; None if the closed schema has answered the atom."""
    not_literal: frozenset[Any]
    heads: tuple[tuple[Any, ...], ...]


def variables_of(*atoms: Atom) -> tuple[Variable, ...]:
    """List the distinct variables of atoms, in order.

    >>> variables_of((Variable("x"), "p", Variable("y")), (Variable("y"), "p", "a"))
    (Variable(name='x', distinguished=True), Variable(name='y', distinguished=True))
    """
    return tuple(dict.fromkeys(term for atom in atoms for term in atom if isinstance(term, Variable)))


def branches(schema: KnownSchema, atom: Atom) -> tuple[Branch, ...]:
    """Reformulate one atom, without members that can add no match."""
    query = PartialQuery(variables_of(atom), (atom,))
    found: dict[tuple[Any, ...], list[tuple[Any, ...]]] = {}
    for members in rounds(schema, query, ANSWERING):
        for member in members:
            if _adds(member, query):
                pattern = member.body[0] if member.body else None
                found.setdefault((pattern, member.not_literal), []).append(member.head)
    return tuple(Branch(pattern, guards, tuple(heads)) for (pattern, guards), heads in found.items())


def _adds(member: PartialQuery, query: PartialQuery) -> bool:
    """Return True if a member may match a triple that the query itself does not."""
    if not member.body:
        return True
    ((s, p, _),) = member.body
    if isinstance(s, Literal) or isinstance(p, BNode | Literal):
        return False  # rules may produce properties that are not IRIs, but no triple has one
    return member == query or not _is_instance(member, query)


def _is_instance(member: PartialQuery, query: PartialQuery) -> bool:
    """Return True if a member only instantiates variables."""
    values = dict(zip(query.head, member.head, strict=True))
    return member.body == (tuple(values.get(term, term) for term in query.body[0]),)
