"""The numbers that literals stand for, by their lexical forms, and the context they are calculated in."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import (
    MAX_EMAX,
    MIN_EMIN,
    ROUND_HALF_EVEN,
    Context,
    Decimal,
    DivisionByZero,
    InvalidOperation,
    Overflow,
    localcontext,
)
from functools import partial, wraps
from typing import Final, ParamSpec, TypeAlias, TypeVar

from rdflib.namespace import XSD
from rdflib.term import Literal, Node

__all__ = [
    "DECIMAL",
    "DECIMALS",
    "DOUBLE",
    "INTEGER",
    "NUMERIC",
    "Number",
    "in_fixed_context",
    "number",
    "to_float",
]

Number: TypeAlias = int | Decimal | float
_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

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
"""The context of all decimal arithmetic: that of a thread would make a deletion compute another value."""


def in_fixed_context(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Make a function calculate with decimals as `DECIMALS` does, whatever the thread's context is."""

    @wraps(function)
    def fixed(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        with localcontext(DECIMALS):
            return function(*args, **kwargs)

    return fixed


_BLANKS: Final = r"[ \t\r\n]*"  # XML Schema collapses white space before it reads a number
_DIGITS: Final = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
INTEGER: Final = re.compile(rf"{_BLANKS}[+-]?[0-9]+{_BLANKS}")
DECIMAL: Final = re.compile(_BLANKS + _DIGITS + _BLANKS)
DOUBLE: Final = re.compile(rf"{_BLANKS}(?:{_DIGITS}(?:[eE][+-]?[0-9]+)?|[+-]?INF|NaN){_BLANKS}")
_RDFLIB_DOUBLE: Final = re.compile(rf"{DOUBLE.pattern}|-?inf|nan")  # how rdflib spells Python's

_RANGES: Final[dict[str, tuple[int | None, int | None]]] = {
    "integer": (None, None),
    "nonPositiveInteger": (None, 0),
    "negativeInteger": (None, -1),
    "long": (-(2**63), 2**63 - 1),
    "int": (-(2**31), 2**31 - 1),
    "short": (-(2**15), 2**15 - 1),
    "byte": (-(2**7), 2**7 - 1),
    "nonNegativeInteger": (0, None),
    "unsignedLong": (0, 2**64 - 1),
    "unsignedInt": (0, 2**32 - 1),
    "unsignedShort": (0, 2**16 - 1),
    "unsignedByte": (0, 2**8 - 1),
    "positiveInteger": (1, None),
}


def _read_bounded(low: int | None, high: int | None, form: str) -> int | None:
    value = int(form)
    return None if (low is not None and value < low) or (high is not None and value > high) else value


_READERS: Final[dict[str, tuple[re.Pattern[str], Callable[[str], Number | None]]]] = {
    **{str(XSD[name]): (INTEGER, partial(_read_bounded, *range_)) for name, range_ in _RANGES.items()},
    str(XSD.integer): (INTEGER, int),
    str(XSD.decimal): (DECIMAL, Decimal),
    str(XSD.float): (_RDFLIB_DOUBLE, float),
    str(XSD.double): (_RDFLIB_DOUBLE, float),
}
NUMERIC: Final = frozenset(_READERS)
"""The IRIs of the numeric datatypes, as strings."""


def number(term: Node | None) -> Number | None:
    """Give the number that a literal stands for; None for other terms and for ill-formed ones.

    Only the lexical form counts, so that equal terms are equal numbers: rdflib's values come from
    Python's own readers, which know more forms than XML Schema does.

    >>> number(Literal("2.50", datatype=XSD.decimal)), number(Literal("2.50"))
    (Decimal('2.50'), None)
    >>> number(Literal("1_000", datatype=XSD.integer, normalize=False))
    """
    if not isinstance(term, Literal) or term.datatype is None:
        return None
    form_and_reader = _READERS.get(str(term.datatype))
    if form_and_reader is None:
        return None
    form, read = form_and_reader
    # first, because Python's int() and Decimal() also take 1_000 and digits of other scripts
    if form.fullmatch(term) is None:
        return None
    try:
        return read(term)
    except ValueError:
        return None  # Python reads no integer of over 4300 digits


def to_float(value: Number) -> float:
    """Promote a number to a double; what is too large is infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
