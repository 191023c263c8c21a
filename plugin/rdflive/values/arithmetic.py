"""SPARQL's arithmetic: the operators of Section 17.3, and those of XPath for moments and durations.

None, or any exception, stands for an error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rdflib.namespace import XSD
from rdflib.term import Literal, Node

from rdflive.values import (
    Duration,
    Moment,
    duration_literal,
    moment_literal,
    moments,
    number_literal,
    numbers,
    value_of,
)

__all__ = ["NUMBER_FUNCTIONS", "calculate", "minus", "plus"]


def calculate(operator: str, one: Node, other: Node) -> Node | None:
    """Apply `+`, `-`, `*` or `/` to two numbers; `+` and `-` to moments and durations too."""
    if not isinstance(one, Literal) or not isinstance(other, Literal):
        return None
    left, right = value_of(one), value_of(other)
    if left is None or right is None:
        return None
    (space, value), (other_space, other_value) = left, right
    if space == other_space == "number":
        return number_literal(numbers.calculate(operator, value, other_value))
    if operator not in "+-":
        return None
    if operator == "+" and isinstance(value, Duration) and isinstance(other_value, Moment):
        space, value, other_value = other_space, other_value, value
    if isinstance(other_value, Duration):
        change = other_value if operator == "+" else moments.opposite(other_value)
        if isinstance(value, Moment):
            moved = moments.add(space, value, change)
            return None if moved is None else moment_literal(space, moved)
        if isinstance(value, Duration):
            total = moments.total(value, change)
            kind = one.datatype if one.datatype == other.datatype else XSD.duration
            return None if total is None else duration_literal(str(kind), total)
    elif operator == "-" and isinstance(value, Moment) and space == other_space:
        span = moments.difference(space, value, other_value)
        return None if span is None else duration_literal(str(XSD.dayTimeDuration), span)
    return None


def _kept(
    of_number: Callable[[Any], Any], of_duration: Callable[[Duration], Duration] | None = None
) -> Callable[[Node], Node | None]:
    """Return a function that keeps the type of a number or duration; derived integers become xsd:integer."""

    def function(term: Node) -> Node | None:
        value = value_of(term) if isinstance(term, Literal) else None
        if value is None:
            return None
        if value[0] == "number":
            return number_literal(of_number(value[1]))
        if of_duration is None or not isinstance(value[1], Duration):
            return None
        return duration_literal(str(term.datatype), of_duration(value[1]))  # type: ignore[attr-defined]

    return function


minus: Final = _kept(numbers.negated, moments.opposite)
plus: Final = _kept(lambda value: value, lambda duration: duration)
NUMBER_FUNCTIONS: Final[dict[str, Callable[[Node], Node | None]]] = {
    "Builtin_ABS": _kept(numbers.magnitude),
    "Builtin_CEIL": _kept(numbers.ceil),
    "Builtin_FLOOR": _kept(numbers.floor),
    "Builtin_ROUND": _kept(numbers.round_half_up),
}
"""Functions of numbers by node name."""
