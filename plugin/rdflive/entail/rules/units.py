"""Units of work: the guides of a rule, or a rule in which the variables of its guides are constants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rdflive.entail.entailment import IdTriple
from rdflive.entail.rules.algebra import Algebra
from rdflive.entail.rules.bound import BoundComparison, BoundRule, Places, Values
from rdflive.entail.rules.joins import Facts, PatternJoin, Reading
from rdflive.entail.rules.keys import Key

__all__ = ["Search", "Trigger", "Unit", "UnitShape", "is_transitive"]

_FEW: Final = 3
"""Up to this number, units search for premises of a conclusion one by one."""


class UnitShape:
    """The joins that all units of a rule share."""

    __slots__ = ("backward", "base", "body", "counted", "forward", "heads", "open", "rule", "whole")

    def __init__(
        self,
        rule: BoundRule,
        known: int,
        facts: Facts,
        algebra: Algebra,
        *,
        guide: bool = False,
        base: bool = False,
    ) -> None:
        self.rule = rule
        self.body: tuple[Places, ...] = rule.guides if guide else (*rule.guides, *rule.reads)
        self.heads = () if guide else rule.heads
        # the guides' conditions were tested before a unit of a rule with guides was made
        tests = rule.guide_tests if guide else rule.tests if rule.guides else (*rule.guide_tests, *rule.tests)
        self.base = base
        """True if the first pattern matches explicit triples only, see `RuleDemand._base`."""
        plain: list[Reading] = [(pattern, facts.labels) for pattern in self.body]
        read = [(self.body[0], facts.explicit), *plain[1:]] if base else plain

        def join(first: Places | None, rest: list[Reading]) -> PatternJoin:
            return PatternJoin(rule, known, first, rest, facts, algebra, tests=tests, heads=self.heads)

        def back(
            rest: list[Reading], known: int, tests: Sequence[BoundComparison]
        ) -> tuple[PatternJoin, ...]:
            return tuple(
                PatternJoin(rule, known, None, rest, facts, algebra, tests=tests, conclusion=head)
                for head in self.heads
            )

        self.whole = join(None, read)
        self.forward = tuple(
            join(pattern, read[:number] + read[number + 1 :]) for number, pattern in enumerate(self.body)
        )
        """Per pattern, from a triple that matches it to the conclusions."""
        self.backward = back(read, known, tests)
        """Per conclusion, from a triple back to the premises that give it."""
        every = (*rule.guide_tests, *rule.tests)
        self.open = back(read, len(rule.constants), every)
        """The same for all units of the rule together."""
        self.counted = back(plain, len(rule.constants), every) if base else self.open
        """The same with the derivations that `base` leaves out."""


class Unit:
    """A working rule, or its guides: a shape together with its known values."""

    __slots__ = ("active", "fixed", "forward", "heads", "keys", "shape")

    def __init__(self, shape: UnitShape, fixed: Values) -> None:
        self.shape = shape
        self.fixed = fixed
        self.keys: list[Key] = shape.rule.keys(shape.body, fixed)
        self.heads: list[Key] = shape.rule.keys((head.places for head in shape.heads), fixed)
        self.forward = [
            Trigger(key, self, join, base=shape.base and not number)
            for number, (key, join) in enumerate(zip(self.keys, shape.forward, strict=True))
        ]
        self.active = False
        """True while it derives."""

    @property
    def row(self) -> Values:
        """The values of its guides' variables."""
        return self.fixed[len(self.shape.rule.constants) :]

    def premises(self) -> Iterable[IdTriple]:
        """List the distinct triples that its guides matched; none if they bind nothing."""
        values = self.fixed
        if not self.shape.rule.guided:
            return ()
        return dict.fromkeys((values[s], values[p], values[o]) for s, p, o in self.shape.rule.guides)


@dataclass(frozen=True, slots=True, eq=False)
class Trigger:
    """The join that a unit runs for a triple that matches one of its patterns."""

    key: Key
    unit: Unit
    join: PatternJoin
    base: bool
    """True if the join is for explicit triples only."""


class Search:
    """Finds the derivations of facts that match one key, by the units of one rule.

    A class may have thousands of subclasses, and a unit for each. A resource has few classes, so with many
    units the rule is joined as a whole.
    """

    __slots__ = ("_number", "_shape", "units")

    def __init__(self, shape: UnitShape, number: int) -> None:
        self._shape = shape
        self._number = number
        """The position of the conclusion in the rule."""
        self.units: dict[Values, Unit] = {}
        """The units by the values of their guides' variables."""

    def best(self, triples: tuple[IdTriple], enough: int) -> int | None:
        """Return the best label of the derivations, or the first that is enough; None if there are none."""
        units, shape = self.units, self._shape
        if len(units) > _FEW:
            return shape.open[self._number].best(shape.rule.constants, triples, enough, units)
        best: int | None = None
        join = shape.backward[self._number].best
        for unit in units.values():
            found = join(unit.fixed, triples, enough, units)
            if found is not None and (best is None or best < found):
                best = found
                if best >= enough:
                    break
        return best

    def derivations(self, triple: IdTriple, *, counted: bool) -> Iterator[tuple[BoundRule, Values, int]]:
        """List the derivations of a fact: the rule, its values, and the label."""
        shape = self._shape
        join = (shape.counted if counted else shape.open)[self._number]
        for values, label in join.matches(shape.rule.constants, (triple,), self.units):
            yield shape.rule, values, label


def is_transitive(rule: BoundRule) -> bool:
    """Return True if a rule is `?x p ?y . ?y p ?z => ?x p ?z`, possibly with conditions that terms differ."""
    if rule.guides or len(rule.reads) != 2 or len(rule.heads) != 1:
        return False
    (x, p, y), (middle, q, z) = rule.reads
    variables = {x, y, z}
    tests = (*rule.guide_tests, *rule.tests)
    # positions in a rule begin with its constants: p is one of them, and x, y and z are variables
    return (
        rule.heads[0] == ((x, p, z), None)
        and p == q
        and y == middle
        and len(variables) == 3
        and min(variables) >= len(rule.constants) > p
        and all(t.operator == "is not" and {t.left, t.right} in ({x, y}, {y, z}) for t in tests)
    )
