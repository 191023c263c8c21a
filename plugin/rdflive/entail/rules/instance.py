"""Readers of facts: the guides of a rule, whose matches make instances, and the instances, which derive."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from operator import itemgetter

from rdflive.engine.kernel import SegmentState
from rdflive.entail.entailment import IdTriple
from rdflive.entail.rules.bound import BoundRule, Places, Values
from rdflive.entail.rules.keys import Key

__all__ = ["Instance", "Reader"]


class Reader:
    """Reads some patterns of a rule: the guides or, as an `Instance`, the others.

    A single pattern is matched triple by triple; several are joined by a kernel.
    """

    __slots__ = ("fixed", "instances", "keys", "patterns", "row", "rule", "state")

    def __init__(self, rule: BoundRule, fixed: Values, patterns: tuple[Places, ...]) -> None:
        self.rule = rule
        self.fixed = fixed
        """The values that are known from the start."""
        self.patterns = patterns
        self.keys: tuple[Key, ...] = tuple(dict.fromkeys(rule.keys(patterns, fixed)))
        self.state: SegmentState | None = None
        """The segment in the kernel, if there are several patterns."""
        self.instances: dict[Values, Instance] = {}
        """The instances that matches of the guides made, by row."""
        self.row = _reading(patterns[0], len(fixed)) if len(patterns) == 1 else None
        """Gives what a triple that matches the key of the only pattern binds; None for repeated variables."""


def _reading(pattern: Places, first: int) -> Callable[[IdTriple], Values | None]:
    """Make the function that gives what a triple binds in a pattern whose key it matches, from value `first`
    on.
    """
    # negative numbers stand for values that the key has compared already
    numbers = [place - first for place in pattern]
    picks = {number: place for place, number in enumerate(numbers) if number >= 0}
    same = [(place, picks[number]) for place, number in enumerate(numbers) if number >= 0]
    same = [(one, other) for one, other in same if one != other]
    places = tuple(picks[number] for number in sorted(picks))
    if not same:
        return _picker(places)

    def read(triple: IdTriple) -> Values | None:
        if any(triple[one] != triple[other] for one, other in same):
            return None
        return tuple([triple[place] for place in places])

    return read


@cache
def _picker(places: tuple[int, ...]) -> Callable[[IdTriple], Values | None]:
    if len(places) > 1:
        return itemgetter(*places)
    if not places:
        return lambda _: ()
    only = places[0]
    return lambda triple: (triple[only],)


class Instance(Reader):
    """A rule in which what the guides bind are constants; each match of its other patterns is a
    derivation.
    """

    __slots__ = ("active", "heads", "level")

    def __init__(self, rule: BoundRule, row: Values, level: int) -> None:
        super().__init__(rule, rule.constants + row, rule.reads)
        self.heads = rule.head_keys(self.fixed)
        self.level = level
        """The highest level of the premises that the guides matched, -1 without guides."""
        self.active = False
        """True while it derives, because somebody asks for its conclusions."""
