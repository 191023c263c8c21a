"""The table of supported datatypes, with their lexical forms and value spaces."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache, partial
from math import isfinite
from typing import Any, Final, NamedTuple, TypeAlias

from rdflib import XSD, Literal

from rdflive.model import DirectionalString
from rdflive.values.moments import MOMENTS, Duration, Moment, read_duration
from rdflive.values.numbers import MOST_DIGITS, Number, to_single

__all__ = [
    "DATATYPES",
    "INTEGERS",
    "RDFLIB_FORMS",
    "Datatype",
    "Value",
    "is_well_formed",
    "number",
    "tag_of",
    "typed_value",
    "value_in",
    "value_of",
]

Value: TypeAlias = tuple[str, Any]
"""A value space and a value in it; values of different spaces are neither equal nor ordered."""


class Datatype(NamedTuple):
    """A supported datatype."""

    space: str
    """The value space of its primitive datatype; all numbers share one."""
    read: Callable[[str], Any]
    """Returns the value of a lexical form; returns None or raises ValueError for an invalid form."""


INTEGERS: Final[Mapping[str, tuple[int | None, int | None]]] = {
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
"""The least and the greatest value of xsd:integer and of each datatype derived from it."""

_DIGITS: Final = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_INTEGER: Final = re.compile("[+-]?[0-9]+").fullmatch
_DECIMAL: Final = re.compile(_DIGITS).fullmatch
RDFLIB_FORMS: Final = frozenset({"inf", "-inf", "nan"})
"""rdflib's spelling of INF, -INF and NaN after parsing."""
_DOUBLE: Final = re.compile(
    rf"{_DIGITS}(?:[eE][+-]?[0-9]+)?|[+-]?INF|NaN|{'|'.join(sorted(RDFLIB_FORMS))}"
).fullmatch


def _read_integer(low: int | None, high: int | None, form: str) -> int | None:
    if _INTEGER(form) is None:  # Python's int() also accepts 1_000 and digits of other scripts
        return None
    value = int(form)
    return None if (low is not None and value < low) or (high is not None and value > high) else value


def _read_decimal(form: str) -> Decimal | None:
    # Python's limit for integers: conversions between the two take quadratic time
    return Decimal(form) if _DECIMAL(form) and len(form) <= MOST_DIGITS else None


def _read_double(form: str) -> float | None:
    return float(form) if _DOUBLE(form) else None


def _read_single(form: str) -> float | None:
    if not _DOUBLE(form):
        return None
    double = float(form)
    # through a decimal, because a double would round twice; values beyond a double's range exceed a single's
    # too, and Python has no decimal with an exponent of twenty digits
    return to_single(Decimal(form) if double and isfinite(double) else double)


def _read_boolean(form: str) -> bool | None:
    return _BOOLEANS.get(form)


_BOOLEANS: Final = {"true": True, "1": True, "false": False, "0": False}


def _read_stamp(form: str) -> Moment | None:
    moment = MOMENTS["dateTime"](form)
    return None if moment is None or moment.zone is None else moment


def _read_months(form: str) -> Duration | None:
    return None if "D" in form or "T" in form else read_duration(form)


def _read_days(form: str) -> Duration | None:
    return None if "Y" in form or "M" in form.partition("T")[0] else read_duration(form)


def _kept(read: Callable[[str], Any]) -> Callable[[str], Any]:
    """Cache the values of recent forms, because a new term is compared with many others."""
    known = lru_cache(maxsize=4096)(read)
    return lambda form: known(form) if len(form) <= _SHORT else read(form)


_SHORT: Final = 64
"""Maximum length of cached forms, so that hostile data cannot fill the memory."""

DATATYPES: Final[Mapping[str, Datatype]] = {
    str(XSD[name]): datatype
    for name, datatype in {
        **{name: Datatype("number", partial(_read_integer, *bounds)) for name, bounds in INTEGERS.items()},
        "decimal": Datatype("number", _read_decimal),
        "float": Datatype("number", _kept(_read_single)),
        "double": Datatype("number", _read_double),
        "string": Datatype("string", str),
        "boolean": Datatype("boolean", _read_boolean),
        **{kind: Datatype(kind, _kept(read)) for kind, read in MOMENTS.items()},
        "dateTimeStamp": Datatype("dateTime", _kept(_read_stamp)),
        "duration": Datatype("duration", _kept(read_duration)),
        "yearMonthDuration": Datatype("duration", _kept(_read_months)),
        "dayTimeDuration": Datatype("duration", _kept(_read_days)),
    }.items()
}
"""The datatypes by their IRIs."""


def value_of(literal: Literal) -> Value | None:
    """Return the space and the value of a literal; None for other datatypes and ill-formed literals.

    The value depends only on the lexical form, so equal terms have equal values. rdflib's own values have
    Python types, which are less precise.

    >>> value_of(Literal("2.50", datatype=XSD.decimal)), value_of(Literal("soon", datatype=XSD.dateTime))
    (('number', Decimal('2.50')), None)
    """
    datatype = literal.datatype
    if datatype is None:
        # each language is a space of its own, so that `<` between two languages is an error
        return (f"lang {tag_of(literal)}" if literal.language else "string"), str(literal)
    return value_in(str(datatype), str(literal))


def value_in(datatype: str, form: str) -> Value | None:
    """Return the space and the value of a lexical form; None for other datatypes and invalid forms."""
    known = DATATYPES.get(datatype)
    if known is None:
        return None
    space, read = known
    try:
        value = read(form)
    except ValueError:  # Python reads no integer of over 4300 digits
        return None
    return None if value is None else (space, value)


def typed_value(term: Any) -> Value | None:
    """Return the space and the value of a literal with a datatype; None for other terms."""
    datatype = term.datatype if isinstance(term, Literal) else None
    return None if datatype is None else value_in(str(datatype), str(term))


def number(term: Any) -> Number | None:
    """Return the number of a numeric literal; None for other terms and ill-formed literals.

    >>> number(Literal("2.50", datatype=XSD.decimal)), number(Literal("2.50"))
    (Decimal('2.50'), None)
    """
    value = typed_value(term)
    return value[1] if value is not None and value[0] == "number" else None


def is_well_formed(literal: Literal) -> bool:
    """True if a literal's form is valid for its datatype, or its datatype is unknown.

    >>> is_well_formed(Literal("300", datatype=XSD.byte)), is_well_formed(Literal("7", datatype=XSD.byte))
    (False, True)
    """
    if literal.datatype is None or str(literal.datatype) in DATATYPES:
        return value_of(literal) is not None
    return literal.ill_typed is not True


def tag_of(literal: Literal) -> str:
    """Return the language in lower case with any base direction; empty without a language."""
    language = (literal.language or "").lower()
    return f"{language}--{literal.direction}" if isinstance(literal, DirectionalString) else language
