"""What a subscription asks of a graph: all that decides the answer, and nothing about the subscriber."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from rdflib.term import Node

from rdflive.entail.entailment import Regime
from rdflive.errors import PlanError
from rdflive.query.parse import parse_query
from rdflive.query.plan import Plan, make_plan
from rdflive.time.clock import SYSTEM_CLOCK, Clock
from rdflive.time.windowed import Windowed

__all__ = ["Question", "check_key", "read_key"]


def read_key(key: Any) -> tuple[str, ...]:
    """Read what was given as `key=`: names of variables; raises TypeError or ValueError.

    >>> read_key(("?train", "day"))
    ('train', 'day')
    """
    if key is None:
        return ()
    if isinstance(key, str) or not isinstance(key, Iterable):
        raise TypeError(f"key is a tuple of variables, as key=('train',), got {key!r}")
    names = tuple(key)
    if not names or not all(isinstance(name, str) for name in names):
        raise ValueError(f"key needs the names of one variable or more, as key=('train',), got {key!r}")
    # a Variable of rdflib has not the hash of its text
    return tuple(dict.fromkeys(str(name).removeprefix("?") for name in names))


def check_key(key: tuple[str, ...], form: str, names: tuple[str, ...]) -> None:
    """Raise `PlanError` for a key of which the query does not show a variable."""
    if key and form != "SELECT":
        raise PlanError(f"key={key!r} is for SELECT queries: {form} has no variables to pair rows by")
    for name in key:
        if name not in names:
            shown = ", ".join(f"?{other}" for other in names)
            raise PlanError(f"the key has ?{name}, which SELECT does not show; it shows: {shown}")


@dataclass(frozen=True, slots=True)
class Question:
    """A query with what it is answered over. Those who ask for other terms of a family may share it."""

    text: str
    plan: Plan
    regime: Regime | None = None
    """What the graph entails."""
    windowed: Windowed | None = None
    """The windows that are looked at, and what is reported of them."""
    provenance: bool = False
    """Whether each solution tells where it came from."""
    prefixes: Callable[[], Mapping[str, str]] = dict
    """Gives the prefixes that serve in the text."""
    key: tuple[str, ...] = ()
    """The variables whose rows are paired when they change."""
    clock: Clock = SYSTEM_CLOCK
    """What NOW() shows."""
    is_own: bool = False
    """Whether rdflive asks it itself, so that nobody is told what of it the data do not hold."""

    def parameters(self, terms: tuple[Node, ...]) -> dict[str, Node]:
        """Give the terms of the parameters that are variables of the query, by their names."""
        return {name: terms[place] for name, place in self.plan.bound}

    def readable(self, terms: tuple[Node, ...]) -> Plan:
        """Give the plan of the query alone, with its terms where they were written."""
        if not self.plan.parameters:
            return self.plan
        bindings = {**self.plan.query.preset, **self.parameters(terms)}
        has_clock = bool(self.plan.clocked)
        parsed = parse_query(self.text, init_ns=self.prefixes(), init_bindings=bindings, clock=has_clock)
        return make_plan(parsed, self.plan.algorithm)
