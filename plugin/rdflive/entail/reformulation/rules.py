"""The rules of Goasdoué et al., Figure 12, and the fixpoint of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, TypeAlias

from rdflib import RDF, RDFS

from rdflive.entail.rdfs_rules import STEPS, RuleStep
from rdflive.entail.reformulation.partial import Atom, Fresh, PartialQuery, is_variable
from rdflive.entail.reformulation.schema import KnownSchema

__all__ = ["ANSWERING", "RULES", "Rule", "rounds"]

Rule: TypeAlias = Callable[[KnownSchema, PartialQuery, int], Iterator[PartialQuery | None]]
"""Gives what one rule makes of one atom of a query; None where that could match nothing."""


def _property(values: Callable[[KnownSchema], Iterable[Any]]) -> Rule:
    """Make a rule that instantiates a variable in the place of a property (5 to 8)."""

    def rule(schema: KnownSchema, query: PartialQuery, place: int) -> Iterator[PartialQuery | None]:
        variable = query.body[place][1]
        if is_variable(variable):
            yield from (query.bind(variable, value) for value in values(schema))

    return rule


def _class(values: Callable[[KnownSchema], Iterable[Any]]) -> Rule:
    """Make a rule that instantiates a variable in the place of a class (9 to 13)."""

    def rule(schema: KnownSchema, query: PartialQuery, place: int) -> Iterator[PartialQuery | None]:
        _, p, variable = query.body[place]
        if p == RDF.type and is_variable(variable):
            yield from (query.bind(variable, value) for value in values(schema))

    return rule


def _back(step: RuleStep) -> Rule:
    """Make a rule that replaces an atom by one that it follows from (14 to 17)."""

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
"""The rules that lead to answers.

Of what only the others instantiate by, nothing follows: it has nothing below it, no domain and no range.
The instance that they make matches nothing that the variable did not.
"""


def rounds(
    schema: KnownSchema,
    query: PartialQuery,
    rules: Iterable[Rule] = tuple(RULES.values()),
    *,
    most: int | None = None,
) -> Iterator[tuple[PartialQuery, ...]]:
    """Apply rules until nothing is new; give what each round added, the query itself first.

    It ends as soon as there are more than `most` members, be it in the middle of a round.
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
        # one more than `most`, so that the caller can tell that there are more
        left = None if most is None else max(most + 1 - len(seen), 0)
        level = tuple(islice(added(level), left))


def _applied(schema: KnownSchema, query: PartialQuery, rules: tuple[Rule, ...]) -> Iterator[PartialQuery]:
    for place in range(len(query.body)):
        for rule in rules:
            yield from (new for new in rule(schema, query, place) if new is not None)
