"""Joins of the patterns of a rule, one look-up after the other, planned once per rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, TypeAlias

from rdflive.entail.entailment import IdTriple
from rdflive.entail.rules.bound import BoundRule, Places, Test, Values
from rdflive.time.labels import Labels

__all__ = ["Conclusion", "Plan", "Row", "Source", "is_unequal"]

Row: TypeAlias = tuple[int, ...]
"""The ids that a rule knows, followed by the ids of the matched triples, in the order of matching."""
Source: TypeAlias = tuple[Places, Labels]
"""A pattern, and the triples that it is matched with."""
Conclusion: TypeAlias = tuple[Places, Test | None]
"""A head of a rule, and the test whether it is a triple of RDF."""
Finder: TypeAlias = Callable[[Row], Iterable[IdTriple]]
Quick: TypeAlias = tuple[Finder, dict[IdTriple, int], Callable[[Row], IdTriple], Callable[[Row], bool] | None]


@dataclass(frozen=True, slots=True)
class Search:
    """How one premise is looked up."""

    find: Finder
    table: dict[IdTriple, int]
    same: tuple[tuple[int, int], ...]
    """Pairs of positions of a triple that must be equal, because a variable occurs twice."""


class Plan:
    """How patterns of a rule are matched, beginning with a triple or with what the rule knows.

    The next pattern is always the one with the most known positions.
    """

    __slots__ = ("_values", "heads", "quick", "same", "steps", "tests")

    def __init__(
        self,
        rule: BoundRule,
        known: int,
        first: Places | None,
        rest: Iterable[Source],
        heads: Iterable[Conclusion],
        tests: tuple[Test, ...],
    ) -> None:
        where = {place: place for place in range(known)}
        self.same: tuple[tuple[int, int], ...] = ()
        """Pairs of positions that must be equal in the first triple, which already has the ids of the
        pattern.
        """
        width = known
        if first is not None:
            self.same = _repeated(first, where)
            width = _follow(first, where, width)
        steps = []
        left = list(rest)
        while left:
            pattern, labels = left.pop(_next(left, where))
            steps.append(Search(_finder(pattern, where, labels), labels.table, _repeated(pattern, where)))
            width = _follow(pattern, where, width)
        self.steps = tuple(steps)
        self.tests = tests
        count = len(rule.constants) + len(rule.variables)
        self._values: Callable[[Row], Values] = _picker([where.get(place, 0) for place in range(count)])
        self.heads = tuple((_picker([where[place] for place in head]), test) for head, test in heads)
        """The functions that make the conclusions of a match, with their tests."""
        self.quick: Quick | None = None
        """The only look-up of a plan with one conclusion, with what makes and tests the conclusion.

        Such plans are the most common ones, so they get by without generators.
        """
        if len(steps) == 1 == len(self.heads) and not tests and not steps[0].same:
            self.quick = steps[0].find, steps[0].table, self.heads[0][0], self._check(self.heads[0][1])

    def rows(self, row: Row, label: int) -> Iterator[tuple[Row, int]]:
        """List the matches, each with the lowest label of its triples and `label`, that of the start."""
        for match, least in _walk(self.steps, row, label):
            if not self.tests or self._passes(match):
                yield match, least

    def conclusions(self, row: Row, label: int) -> Iterator[tuple[IdTriple, int]]:
        """List the conclusions of the matches, each with the label that the match gives it."""
        if self.quick is not None:
            find, table, conclude, check = self.quick
            for triple in find(row):
                below, match = table[triple], row + triple
                if check is None or check(match):
                    yield conclude(match), below if below < label else label
            return
        for match, least in self.rows(row, label):
            for pick, test in self.heads:
                if test is None or test(self._values(match)):
                    yield pick(match), least

    def values(self, row: Row) -> Values:
        """Give what a match binds, in the rule's order; only the ids that the plan knows are meaningful."""
        return self._values(row)

    def _check(self, test: Test | None) -> Callable[[Row], bool] | None:
        values = self._values
        return None if test is None else lambda row: test(values(row))

    def _passes(self, row: Row) -> bool:
        values = self._values(row)
        return all(test(values) for test in self.tests)


def _walk(steps: Sequence[Search], row: Row, label: int) -> Iterator[tuple[Row, int]]:
    if not steps:
        yield row, label
        return
    step, rest = steps[0], steps[1:]
    for triple in step.find(row):
        # The index compared known values only, not a variable that occurs twice in the pattern.
        if step.same and is_unequal(triple, step.same):
            continue
        below = step.table[triple]
        yield from _walk(rest, row + triple, below if below < label else label)


def is_unequal(triple: IdTriple, same: tuple[tuple[int, int], ...]) -> bool:
    """Tell whether a triple has different ids at positions that must be equal."""
    return any(triple[one] != triple[other] for one, other in same)


def _next(left: Sequence[Source], where: dict[int, int]) -> int:
    """Choose the pattern with the most known of subject and object; then one with a known predicate."""

    def known(number: int) -> tuple[int, bool]:
        s, p, o = left[number][0]
        return (s in where) + (o in where), p in where

    return max(range(len(left)), key=known)


def _follow(pattern: Places, where: dict[int, int], width: int) -> int:
    """Note the columns of a triple that is appended to a row; gives the new width of the row."""
    for place, value in enumerate(pattern):
        where.setdefault(value, width + place)
    return width + 3


def _repeated(pattern: Places, where: dict[int, int]) -> tuple[tuple[int, int], ...]:
    return tuple(
        (one, other)
        for other, value in enumerate(pattern)
        for one in range(other)
        if pattern[one] == value and value not in where
    )


def _finder(pattern: Places, where: dict[int, int], labels: Labels) -> Finder:
    """Make the function that looks up the triples that agree with a row."""
    table = labels.table
    known = tuple(place for place, value in enumerate(pattern) if value in where)
    if not known:
        return lambda _: table
    pick = _picker([where[pattern[place]] for place in known])
    if len(known) == 3:
        return lambda row: (triple,) if (triple := pick(row)) in table else ()
    # bound once for all look-ups, as `Labels` changes its indexes in place
    found = labels.by(known).get
    if len(known) == 1:
        only = where[pattern[known[0]]]
        return lambda row: found(row[only], ())
    return lambda row: found(pick(row), ())


def _picker(places: Sequence[int]) -> Callable[[Row], Any]:
    if len(places) > 1:
        return itemgetter(*places)
    return lambda row: tuple([row[place] for place in places])
