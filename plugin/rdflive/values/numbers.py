"""Promotion, arithmetic, rounding and text of numbers as in XPath.

An xsd:integer or a derived type is an int, an xsd:decimal a Decimal, an xsd:double a float, and an xsd:float
a `Single`.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from decimal import (
    MAX_EMAX,
    MAX_PREC,
    MIN_EMIN,
    ROUND_CEILING,
    ROUND_FLOOR,
    ROUND_HALF_DOWN,
    ROUND_HALF_EVEN,
    ROUND_HALF_UP,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
    localcontext,
)
from fractions import Fraction
from functools import wraps
from operator import add, mul, sub
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar

__all__ = [
    "DECIMALS", "EXACT", "MOST_DIGITS", "Number", "Single", "calculate", "ceil", "floor", "in_fixed_context",
    "magnitude", "negated", "number_order", "number_text", "promoted", "round_half_up", "shortest_text",
    "to_double", "to_single",
]  # fmt: skip


class Single(float):
    """An xsd:float: a Python float that fits single precision."""

    __slots__ = ()


Number: TypeAlias = int | Decimal | float

DECIMALS: Final = Context(
    prec=28,
    rounding=ROUND_HALF_EVEN,
    Emin=MIN_EMIN,
    Emax=MAX_EMAX,
    capitals=1,
    clamp=0,
    flags=[],
    traps=[InvalidOperation, DivisionByZero, Overflow],
)
"""The context of divisions and user functions: a thread's own context could change a deleted value."""

EXACT: Final = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[InvalidOperation])
"""Adds and multiplies decimals without rounding; it must not divide."""

MOST_DIGITS: Final = 4_300
"""Maximum digits of an integer or decimal: beyond them a literal has no value, and a computation is an error.

It is Python's limit for integers as text, which it converts in quadratic time.
"""

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def in_fixed_context(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Return a function that calculates in the context `DECIMALS`, independent of the thread's context."""

    @wraps(function)
    def fixed(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        with localcontext(DECIMALS):
            return function(*args, **kwargs)

    return fixed


def to_double(value: Number | Fraction) -> float:
    """Round a number to double precision; too large numbers become infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def to_single(value: Number | Fraction) -> Single:
    """Round a number to single precision, once.

    >>> to_single(16777217), to_single(Decimal("0.1")) == 0.1, to_single(1e39)
    (16777216.0, False, inf)
    """
    if type(value) is Single:
        return value
    double = to_double(value)
    if not math.isfinite(double):
        return Single(double)
    if double != value:
        # round to the adjacent double with an odd last bit (round to odd): a later rounding to single
        # precision then sees a tie only if the value is one
        (bits,) = _LONG.unpack(_DOUBLE.pack(double))
        if not bits & 1:
            # as decimals: a thread's context may forbid comparing a decimal with a float
            limit = Decimal.from_float(double) if isinstance(value, Decimal) else double
            double = math.nextafter(double, math.inf if value > limit else -math.inf)
    try:
        return Single(_SINGLE.unpack(_SINGLE.pack(double))[0])
    except OverflowError:
        return Single(math.copysign(math.inf, double))


_LONG, _DOUBLE, _SINGLE = struct.Struct("<q"), struct.Struct("<d"), struct.Struct("<f")


def promoted(one: Number, other: Number) -> tuple[Any, Any]:
    """Return two numbers in the narrowest type to which both can be promoted (XPath 3.1, B.1).

    >>> promoted(1, Decimal("0.5")), promoted(Decimal("0.1"), 1.0), type(promoted(to_single(1), 2)[1])
    ((Decimal('1'), Decimal('0.5')), (0.1, 1.0), <class 'rdflive.values.numbers.Single'>)
    """
    for number, partner in ((one, other), (other, one)):
        if isinstance(number, float):
            is_double = type(number) is float or type(partner) is float
            to = to_double if is_double else to_single
            return to(one), to(other)
    if isinstance(one, Decimal) or isinstance(other, Decimal):
        return Decimal(one), Decimal(other)
    return one, other


def number_order(one: Number, other: Number) -> int | None:
    """Return the sign of the difference of two numbers; None if one is NaN."""
    if isinstance(one, float) or isinstance(other, float):
        one, other = promoted(one, other)
        if one != one or other != other:
            return None
    return (one > other) - (one < other)


def calculate(operator: str, one: Number, other: Number) -> Number:
    """Apply `+`, `-`, `*` or `/`; the quotient of two integers is a decimal of 28 digits.

    Raises `ArithmeticError` for a decimal division by zero, or a decimal with too many digits.
    """
    one, other = promoted(one, other)
    if isinstance(one, float):
        result = _STEPS[operator](one, other)
        return to_single(result) if type(one) is Single else result
    if isinstance(one, int) and operator != "/":
        return int(_STEPS[operator](one, other))
    if operator == "/":
        return DECIMALS.add(DECIMALS.divide(Decimal(one), Decimal(other)), 0)  # zero has no sign
    result = EXACT.add(_EXACT_STEPS[operator](one, other), 0)
    if len(result.as_tuple().digits) > MOST_DIGITS:
        raise Overflow(f"more than {MOST_DIGITS} digits")
    return result


def _divide(one: float, other: float) -> float:
    """Divide as in IEEE 754; division by zero returns an infinity or NaN."""
    if other:
        return one / other
    if math.isnan(other) or math.isnan(one) or not one:
        return math.nan
    return math.copysign(math.inf, one) * math.copysign(1.0, other)


_EXACT_STEPS: Final[dict[str, Callable[[Any, Any], Decimal]]] = {
    "+": EXACT.add,
    "-": EXACT.subtract,
    "*": EXACT.multiply,
}
_STEPS: Final[dict[str, Callable[[Any, Any], Any]]] = {"+": add, "-": sub, "*": mul, "/": _divide}


def negated(value: Number) -> Number:
    """Return the negated number without rounding; a decimal zero has no sign."""
    if isinstance(value, Decimal):
        return value.copy_negate() if value else value.copy_abs()
    return _alike(-value, value)


def magnitude(value: Number) -> Number:
    """Return the absolute value."""
    return value.copy_abs() if isinstance(value, Decimal) else _alike(abs(value), value)


def _alike(value: Any, model: Number) -> Number:
    """Return a computed float with the type of its operand."""
    return Single(value) if type(model) is Single else value


def _to_whole(
    rounding: Callable[[float], int], of_decimal: Callable[[Decimal], str]
) -> Callable[[Number], Number]:
    """Return a rounding function that keeps the type; NaN and infinities stay unchanged.

    Decimals are rounded as decimals: Python converts long integers in quadratic time.
    """

    def function(value: Number) -> Number:
        if isinstance(value, float):
            # the sign of zero stays: CEIL(-0.5e0) is -0 (XPath Functions 3.1, 4.4)
            whole = float(rounding(value)) if math.isfinite(value) else value
            return _alike(whole or math.copysign(whole, value), value)
        return value.to_integral_value(of_decimal(value)) if isinstance(value, Decimal) else value

    return function


def _half_up(value: Decimal) -> str:
    return ROUND_HALF_UP if value > 0 else ROUND_HALF_DOWN


def _to_nearest(value: float) -> int:
    # exact, because 0.49999999999999994 + 0.5 is 1.0 in floats
    exact = Decimal.from_float(value)
    return int(exact.to_integral_value(_half_up(exact)))


ceil: Final = _to_whole(math.ceil, lambda _: ROUND_CEILING)
floor: Final = _to_whole(math.floor, lambda _: ROUND_FLOOR)
round_half_up: Final = _to_whole(_to_nearest, _half_up)
"""Round halves towards positive infinity (fn:round)."""


def number_text(value: Number) -> str:
    """Return a number as XPath casts it to a string (XPath Functions 3.1, 19.1.2).

    >>> [number_text(value) for value in (7, Decimal("1.50"), 0.1, 1e6, to_single(Decimal("0.1")), -0.0)]
    ['7', '1.5', '0.1', '1.0E6', '0.1', '-0']
    """
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal):
        return _trimmed(f"{value:f}") if value else "0"  # decimals have no negative zero
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "INF" if value > 0 else "-INF"
    if not value:
        return "-0" if math.copysign(1, value) < 0 else "0"
    shortest = Decimal(shortest_text(value))
    if 1e-6 <= abs(value) < 1e6:
        return _trimmed(f"{shortest:f}")
    mantissa, exponent = f"{shortest:E}".split("E")
    return f"{_trimmed(mantissa, '.0')}E{int(exponent)}"


def _trimmed(digits: str, rest: str = "") -> str:
    if "." not in digits:
        return digits + rest
    trimmed = digits.rstrip("0").rstrip(".")
    return trimmed if "." in trimmed else trimmed + rest


def shortest_text(value: float) -> str:
    """Return a finite float or double with the fewest digits that read back to it.

    >>> shortest_text(0.1), shortest_text(to_single(Decimal("0.1")))
    ('0.1', '0.1')
    """
    if type(value) is not Single:
        return repr(value)
    for digits in range(1, 9):
        text = f"{float(value):.{digits}g}"
        if to_single(Decimal(text)) == value:
            return repr(float(text))
    return repr(float(f"{float(value):.9g}"))
