"""Units of work: the guides of a rule, or a rule in which what its guides bind are constants."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rdflive.entail.entailment import IdTriple
from rdflive.entail.labels import Labels
from rdflive.entail.rules.algebra import Algebra
from rdflive.entail.rules.bound import BoundRule, Places, Values
from rdflive.entail.rules.joins import Join, Reading
from rdflive.entail.rules.keys import Key

__all__ = ["Shape", "Trigger", "Unit", "is_transitive"]


class Shape:
    """The joins that all units of a rule share."""

    __slots__ = ("backward", "base", "body", "counted", "forward", "heads", "rule", "whole")

    def __init__(
        self,
        rule: BoundRule,
        known: int,
        labels: Labels,
        algebra: Algebra,
        *,
        guide: bool = False,
        base: Labels | None = None,
    ) -> None:
        self.rule = rule
        self.body: tuple[Places, ...] = rule.guides if guide else (*rule.guides, *rule.reads)
        self.heads = () if guide else rule.heads
        # a unit of a rule with guides is made after their conditions were tested
        tests = rule.guide_tests if guide else rule.tests if rule.guides else (*rule.guide_tests, *rule.tests)
        self.base = base is not None
        """True if the first pattern is matched with explicit triples only, see `Demand._base`."""
        plain: list[Reading] = [(pattern, labels) for pattern in self.body]
        read = plain if base is None else [(self.body[0], base), *plain[1:]]

        def join(first: Places | None, rest: list[Reading]) -> Join:
            return Join(rule, known, first, rest, labels, algebra, tests=tests, heads=self.heads)

        def back(rest: list[Reading]) -> tuple[Join, ...]:
            return tuple(
                Join(rule, known, None, rest, labels, algebra, tests=tests, conclusion=head)
                for head in self.heads
            )

        self.whole = join(None, read)
        self.forward = tuple(
            join(pattern, read[:number] + read[number + 1 :]) for number, pattern in enumerate(self.body)
        )
        """Per pattern, from a triple that matches it to the conclusions."""
        self.backward = back(read)
        """Per conclusion, from a triple back to the premises that give it."""
        self.counted = self.backward if base is None else back(plain)
        """The same with all derivations, those left out by `base` too."""


class Unit:
    """A rule at work, or its guides: a shape together with the values that it knows."""

    __slots__ = ("active", "backward", "fixed", "forward", "heads", "keys", "shape")

    def __init__(self, shape: Shape, fixed: Values) -> None:
        self.shape = shape
        self.fixed = fixed
        self.keys: list[Key] = shape.rule.keys(shape.body, fixed)
        self.heads: list[Key] = shape.rule.keys((head.places for head in shape.heads), fixed)
        self.forward = [
            Trigger(key, self, join, base=shape.base and not number)
            for number, (key, join) in enumerate(zip(self.keys, shape.forward, strict=True))
        ]
        self.backward = [
            Trigger(key, self, join, base=False) for key, join in zip(self.heads, shape.backward, strict=True)
        ]
        self.active = False
        """True while it derives."""

    def premises(self) -> Iterable[IdTriple]:
        """List the triples that its guides matched, each once."""
        values = self.fixed
        return dict.fromkeys((values[s], values[p], values[o]) for s, p, o in self.shape.rule.guides)


@dataclass(frozen=True, slots=True, eq=False)
class Trigger:
    """What a unit does with a triple that matches one of its patterns, or one of its conclusions."""

    key: Key
    unit: Unit
    join: Join
    base: bool
    """True if only explicit triples count."""


def is_transitive(rule: BoundRule) -> bool:
    """Tell whether a rule is `?x p ?y . ?y p ?z => ?x p ?z` and nothing more."""
    if rule.guides or rule.tests or rule.guide_tests or len(rule.reads) != 2 or len(rule.heads) != 1:
        return False
    (x, p, y), (middle, q, z) = rule.reads
    variables = {x, y, z}
    # positions in a rule begin with its constants: p is one of them, and x, y and z are variables
    return (
        rule.heads[0] == ((x, p, z), None)
        and p == q
        and y == middle
        and len(variables) == 3
        and min(variables) >= len(rule.constants) > p
    )
