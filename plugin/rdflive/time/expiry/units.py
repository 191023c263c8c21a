"""Units of work: the guides of a rule, or a rule in which what its guides bind are constants."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rdflive.entail.entailment import IdTriple
from rdflive.entail.rules.bound import BoundRule, Places, Test, Values
from rdflive.entail.rules.keys import Key
from rdflive.time.expiry.joins import Conclusion, Plan, Source
from rdflive.time.labels import Labels

__all__ = ["Shape", "Trigger", "Unit", "is_transitive"]


class Shape:
    """The plans that all units of a rule share."""

    __slots__ = ("backward", "base", "body", "forward", "heads", "known", "rule", "whole")

    def __init__(
        self,
        rule: BoundRule,
        known: int,
        labels: Labels,
        *,
        guide: bool = False,
        base: Labels | None = None,
    ) -> None:
        self.rule = rule
        self.known = known
        """How many of the rule's values a unit knows from the start."""
        self.body: tuple[Places, ...] = rule.guides if guide else (*rule.guides, *rule.reads)
        self.heads: tuple[Conclusion, ...] = () if guide else rule.heads
        # a unit of a rule with guides is made after their conditions were tested
        tests = rule.guide_tests if guide else rule.tests if rule.guides else (*rule.guide_tests, *rule.tests)
        self.base = base is not None
        """True if the first pattern is matched with explicit triples only, see `Demand._base`."""
        sources: list[Source] = [(pattern, labels) for pattern in self.body]
        if base is not None:
            sources[0] = self.body[0], base

        def plan(first: Places | None, rest: Sequence[Source]) -> Plan:
            return Plan(rule, known, first, rest, self.heads, tests)

        def back(head: Places, test: Test | None) -> Plan:
            return Plan(rule, known, head, sources, (), tests if test is None else (*tests, test))

        self.whole = plan(None, sources)
        self.forward = tuple(
            plan(pattern, sources[:number] + sources[number + 1 :])
            for number, pattern in enumerate(self.body)
        )
        """Per pattern, the plan from a triple that matches it to the conclusions."""
        self.backward = tuple(back(head, test) for head, test in self.heads)
        """Per conclusion, the plan from a triple back to the premises that give it."""


class Unit:
    """A rule at work, or its guides: a shape together with the values that it knows."""

    __slots__ = ("active", "backward", "fixed", "forward", "heads", "keys", "shape", "whole")

    def __init__(self, shape: Shape, fixed: Values) -> None:
        self.shape = shape
        self.fixed = fixed
        self.keys: list[Key] = shape.rule.keys(shape.body, fixed)
        self.heads: list[Key] = shape.rule.keys((head for head, _ in shape.heads), fixed)
        self.forward = [
            Trigger(key, self, plan, base=shape.base and not number)
            for number, (key, plan) in enumerate(zip(self.keys, shape.forward, strict=True))
        ]
        self.backward = [
            Trigger(key, self, plan, base=False) for key, plan in zip(self.heads, shape.backward, strict=True)
        ]
        self.whole = Trigger(Key(0, 0, 0), self, shape.whole, base=False)
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
    plan: Plan
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
