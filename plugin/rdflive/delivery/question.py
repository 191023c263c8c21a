"""What is asked of a graph: everything that decides the answer, and nothing about who gets it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from rdflib.term import Node

from rdflive.entail.entailment import Regime
from rdflive.query.parse import parse_query
from rdflive.query.plan import Plan, make_plan
from rdflive.time.clock import SYSTEM_CLOCK, Clock
from rdflive.time.windowed import Windowed

__all__ = ["Question"]


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
