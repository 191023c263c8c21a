"""A question: everything that decides the answer of a subscription, and nothing about the subscriber."""

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
    """Return the names of the variables in a `key=` argument; raises TypeError or ValueError.

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
    # text, because a Variable of rdflib has another hash than its text
    return tuple(dict.fromkeys(str(name).removeprefix("?") for name in names))


def check_key(key: tuple[str, ...], form: str, names: tuple[str, ...]) -> None:
    """Raise `PlanError` for a key with a variable that the query does not show."""
    if key and form != "SELECT":
        raise PlanError(f"key={key!r} is for SELECT queries: {form} has no variables to pair rows by")
    for name in key:
        if name not in names:
            shown = ", ".join(f"?{other}" for other in names)
            raise PlanError(f"the key has ?{name}, which SELECT does not show; it shows: {shown}")


@dataclass(frozen=True, slots=True)
class Question:
    """A query with everything that its answer depends on. The members of a family share one question."""

    text: str
    plan: Plan
    regime: Regime | None = None
    """The entailment regime of the graph."""
    windowed: Windowed | None = None
    """The windows over streams, and the kind of their reports."""
    provenance: bool = False
    """True if each solution has an origin."""
    prefixes: Callable[[], Mapping[str, str]] = dict
    """Returns the prefixes that the text may use."""
    key: tuple[str, ...] = ()
    """The variables that identify a row, to pair its old and new version."""
    clock: Clock = SYSTEM_CLOCK
    """The clock of NOW()."""
    is_own: bool = False
    """True for internal queries, which produce no missing-name warnings."""

    def parameters(self, terms: tuple[Node, ...]) -> dict[str, Node]:
        """Return the terms of the parameters that are variables of the query, by name."""
        return {name: terms[place] for name, place in self.plan.bound}

    def readable(self, terms: tuple[Node, ...]) -> Plan:
        """Return the plan of this query alone, with the terms in the place of the parameters."""
        if not self.plan.parameters:
            return self.plan
        bindings = {**self.plan.query.preset, **self.parameters(terms)}
        has_clock = bool(self.plan.clocked)
        parsed = parse_query(self.text, init_ns=self.prefixes(), init_bindings=bindings, clock=has_clock)
        return make_plan(parsed, self.plan.algorithm)
