"""The rules of Goasdoué et al., Figure 12, their fixpoint, and the union that answers one atom."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, TypeAlias

from rdflib import RDF, RDFS, BNode, Literal

from rdflive.entail.rdfs_rules import STEPS, RuleStep
from rdflive.entail.reformulation.partial import Atom, Fresh, PartialQuery, is_variable
from rdflive.entail.reformulation.schema import KnownSchema
from rdflive.query.bgp import Variable

__all__ = ["ANSWERING", "RULES", "Branch", "Rule", "branches", "rounds", "variables_of"]

Rule: TypeAlias = Callable[[KnownSchema, PartialQuery, int], Iterator[PartialQuery | None]]
"""Returns the queries that one rule makes from one atom of a query; None for a query that can match nothing.
"""


def _property(values: Callable[[KnownSchema], Iterable[Any]]) -> Rule:
    """Make a rule that instantiates a variable in the position of a property (5 to 8)."""

    def rule(schema: KnownSchema, query: PartialQuery, place: int) -> Iterator[PartialQuery | None]:
        variable = query.body[place][1]
        if is_variable(variable):
            yield from (query.bind(variable, value) for value in values(schema))

    return rule


def _class(values: Callable[[KnownSchema], Iterable[Any]]) -> Rule:
    """Make a rule that instantiates a variable in the position of a class (9 to 13)."""

    def rule(schema: KnownSchema, query: PartialQuery, place: int) -> Iterator[PartialQuery | None]:
        _, p, variable = query.body[place]
        if p == RDF.type and is_variable(variable):
            yield from (query.bind(variable, value) for value in values(schema))

    return rule


def _back(step: RuleStep) -> Rule:
    """Make a rule that replaces an atom by one that entails it (14 to 17)."""

    def rule(schema: KnownSchema, query: PartialQuery, place: int) -> Iterator[PartialQuery | None]:
        premises = step.premises(query.body[place], schema.below[step.word], RDF.type, Fresh(0))
        yield from (query.replace(place, premise) for premise in premises)

    return rule


def _closed(schema: KnownSchema, query: PartialQuery, place: int) -> Iterator[PartialQuery | None]:
    """Answer an atom on the closed schema (Figure 6); Goasdoué et al. leave queries over the schema open."""
    atom: Atom = query.body[place]
    for triple in schema.entailed(atom):
        yield query.drop(place, triple)


_NUMBERS: Final = {"rdfs9": 14, "rdfs2": 15, "rdfs3": 16, "rdfs7": 17}

RULES: Final[Mapping[int | str, Rule]] = {
    5: _property(lambda _: (RDF.type,)),
    6: _property(lambda schema: schema.used.properties),
    7: _property(lambda schema: schema.below[RDFS.subPropertyOf]),
    8: _property(lambda schema: schema.subjects(RDFS.subPropertyOf)),
    9: _class(lambda schema: schema.used.classes),
    10: _class(lambda schema: schema.below[RDFS.subClassOf]),
    11: _class(lambda schema: schema.subjects(RDFS.subClassOf)),
    12: _class(lambda schema: schema.below[RDFS.domain]),
    13: _class(lambda schema: schema.below[RDFS.range]),
    **{_NUMBERS[step.rule]: _back(step) for step in STEPS},
    "Figure 6": _closed,
}
"""The rules 5 to 17 by their numbers, and one for the schema."""

ANSWERING: Final = tuple(rule for number, rule in RULES.items() if number not in (6, 8, 9, 11))
"""The rules that can add answers.

A term that only the other rules instantiate a variable with entails nothing: it has no subproperty or
subclass, no domain and no range. The instance that they make matches no triple that the variable does not
match.
"""


def rounds(
    schema: KnownSchema,
    query: PartialQuery,
    rules: Iterable[Rule] = tuple(RULES.values()),
    *,
    most: int | None = None,
) -> Iterator[tuple[PartialQuery, ...]]:
    """Apply rules until a fixpoint; yield the members that each round adds, the query itself first.

    It stops as soon as there are more than `most` members, even within a round.
    """
    rules = tuple(rules)
    seen = {query}

    def added(level: tuple[PartialQuery, ...]) -> Iterator[PartialQuery]:
        for member in level:
            for new in _applied(schema, member, rules):
                if new not in seen:
                    seen.add(new)
                    yield new

    level: tuple[PartialQuery, ...] = (query,)
    while level:
        yield level
        # one more than `most`, so that the caller can detect that the limit is exceeded
        left = None if most is None else max(most + 1 - len(seen), 0)
        level = tuple(islice(added(level), left))


def _applied(schema: KnownSchema, query: PartialQuery, rules: tuple[Rule, ...]) -> Iterator[PartialQuery]:
    for place in range(len(query.body)):
        for rule in rules:
            yield from (new for new in rule(schema, query, place) if new is not None)


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
