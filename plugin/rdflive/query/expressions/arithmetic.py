"""SPARQL's arithmetic: operators of Section 17.3 with XPath's type promotion.

None stands for an error; so does whatever Python raises.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_HALF_DOWN, ROUND_HALF_UP, Decimal
from typing import Any, Final

from rdflib.namespace import XSD
from rdflib.plugins.sparql import operators
from rdflib.plugins.sparql.parserutils import Expr
from rdflib.term import Literal, Node

from rdflive.query.expressions.numbers import DECIMALS, Number, in_fixed_context, number, to_float
from rdflive.query.expressions.values import known, read_again

__all__ = ["calculate", "ceil", "floor", "magnitude", "minus", "plus", "round_", "rounded"]


def calculate(operator: str, one: Node, other: Node) -> Node | None:
    """Apply `+`, `-`, `*` or `/`; moments and durations are added as rdflib does it."""
    left, right = number(one), number(other)
    if left is None or right is None:
        return _calculate_time(operator, one, other) if operator in "+-" else None
    # xsd:float and xsd:double are both floats of Python; the wider of the datatypes is that of the result
    if isinstance(left, float) or isinstance(right, float):
        datatypes = {term.datatype for term in (one, other) if isinstance(term, Literal)}
        datatype = XSD.double if XSD.double in datatypes else XSD.float
        return Literal(_STEPS[operator](to_float(left), to_float(right)), datatype=datatype)
    if operator != "/" and isinstance(left, int) and isinstance(right, int):
        return Literal(_STEPS[operator](left, right))
    return Literal(DECIMALS.add(_DECIMAL_STEPS[operator](left, right), 0))  # zero has no sign


@in_fixed_context
def _calculate_time(operator: str, one: Node, other: Node) -> Node | None:
    if not isinstance(one, Literal) or (known(one) or "?")[0] not in _TIMES:
        return None
    if not isinstance(other, Literal) or known(other) is None:
        return None
    sum_ = Expr("AdditiveExpression", None, expr=read_again(one), other=[read_again(other)], op=[operator])
    context: Any = None  # rdflib's function does not use it
    result = operators.AdditiveExpression(sum_, context)
    return result if isinstance(result, Literal) else None


_TIMES: Final = frozenset({"dateTime", "date", "time", "duration"})


def _divide(one: float, other: float) -> float:
    """Divide as IEEE 754 does: by zero gives an infinity, or NaN."""
    if other:
        return one / other
    if math.isnan(other) or math.isnan(one) or not one:
        return math.nan
    return math.copysign(math.inf, one) * math.copysign(1.0, other)


_DECIMAL_STEPS: Final[dict[str, Callable[[Any, Any], Decimal]]] = {
    "+": DECIMALS.add,
    "-": DECIMALS.subtract,
    "*": DECIMALS.multiply,
    "/": DECIMALS.divide,
}
_STEPS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "+": lambda one, other: one + other,
    "-": lambda one, other: one - other,
    "*": lambda one, other: one * other,
    "/": _divide,
}


def _kept(change: Callable[[Any], Any]) -> Callable[[Node], Node | None]:
    """Make a function of one number that keeps its type; a derived integer becomes xsd:integer."""

    def function(term: Node) -> Node | None:
        value = number(term)
        if value is None:
            return None
        return Literal(change(value), datatype=term.datatype if isinstance(value, float) else None)  # type: ignore[attr-defined]  # number() took it for a literal

    return function


def _negated(value: Number) -> Number:
    """Change the sign, of a decimal without rounding it; a decimal zero has none."""
    if isinstance(value, Decimal):
        return value.copy_negate() if value else value.copy_abs()
    return -value


plus = _kept(lambda value: value)
minus = _kept(_negated)
magnitude = _kept(lambda value: value.copy_abs() if isinstance(value, Decimal) else abs(value))


def _to_whole(rounding: Callable[[Any], int]) -> Callable[[Node], Node | None]:
    """Make a rounding function, which keeps the datatype; NaN and infinities stay what they are."""

    def function(term: Node) -> Node | None:
        value = number(term)
        if value is None or not isinstance(term, Literal):
            return None
        if isinstance(value, float) and not math.isfinite(value):
            return term
        return Literal(rounding(value), datatype=term.datatype)

    return function


def rounded(value: Number) -> int:
    """Round to a whole number, halves towards positive infinity (fn:round)."""
    if isinstance(value, int):
        return value
    # exact, because 0.49999999999999994 + 0.5 is 1.0 in floats, and would be rounded to 1
    exact = Decimal.from_float(value) if isinstance(value, float) else value
    return int(exact.to_integral_value(ROUND_HALF_UP if exact > 0 else ROUND_HALF_DOWN))


ceil: Final = _to_whole(math.ceil)
floor: Final = _to_whole(math.floor)
round_: Final = _to_whole(rounded)
