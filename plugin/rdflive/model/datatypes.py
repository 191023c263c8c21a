"""Which literals are well-formed: the lexical forms and ranges of XSD 1.1."""

from __future__ import annotations

import re
from calendar import isleap
from collections.abc import Mapping
from math import inf
from typing import Final

from rdflib import XSD, Literal, URIRef

__all__ = ["INTEGERS", "SPELLINGS", "is_well_formed"]

INTEGERS: Final[Mapping[URIRef, tuple[float, float]]] = {
    XSD.integer: (-inf, inf),
    XSD.nonNegativeInteger: (0, inf),
    XSD.positiveInteger: (1, inf),
    XSD.nonPositiveInteger: (-inf, 0),
    XSD.negativeInteger: (-inf, -1),
    XSD.long: (-(1 << 63), (1 << 63) - 1),
    XSD.int: (-(1 << 31), (1 << 31) - 1),
    XSD.short: (-(1 << 15), (1 << 15) - 1),
    XSD.byte: (-(1 << 7), (1 << 7) - 1),
    XSD.unsignedLong: (0, (1 << 64) - 1),
    XSD.unsignedInt: (0, (1 << 32) - 1),
    XSD.unsignedShort: (0, (1 << 16) - 1),
    XSD.unsignedByte: (0, (1 << 8) - 1),
}
"""The least and the greatest value of each type of integers."""
_INTEGER: Final = re.compile("[+-]?[0-9]+")
_DECIMAL: Final = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_DOUBLE: Final = re.compile(rf"{_DECIMAL}(?:[Ee][+-]?[0-9]+)?|[+-]?INF|NaN")
_DATE: Final = r"-?(?:[1-9][0-9]{3,}|0[0-9]{3})-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_CLOCK: Final = r"(?:(?:[01][0-9]|2[0-3])(?::[0-5][0-9]){2}(?:\.[0-9]+)?|24:00:00(?:\.0+)?)"
_ZONE: Final = r"(?:Z|[+-](?:(?:0[0-9]|1[0-3]):[0-5][0-9]|14:00))"
SPELLINGS: Final[Mapping[URIRef, re.Pattern[str]]] = {
    **dict.fromkeys(INTEGERS, _INTEGER),
    XSD.decimal: re.compile(_DECIMAL),
    XSD.double: _DOUBLE,
    XSD.float: _DOUBLE,
    XSD.boolean: re.compile("true|false|1|0"),
    XSD.date: re.compile(f"{_DATE}{_ZONE}?"),
    XSD.time: re.compile(f"{_CLOCK}{_ZONE}?"),
    XSD.dateTime: re.compile(f"{_DATE}T{_CLOCK}{_ZONE}?"),
    XSD.dateTimeStamp: re.compile(f"{_DATE}T{_CLOCK}{_ZONE}"),
}
"""The lexical forms of each type, as XSD 1.1 has them."""
_DAYS: Final = (XSD.date, XSD.dateTime, XSD.dateTimeStamp)
_LENGTHS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def is_well_formed(literal: Literal) -> bool:
    """Tell whether a literal has a form of its datatype; one of a datatype that is not known has.

    >>> is_well_formed(Literal("300", datatype=XSD.byte)), is_well_formed(Literal("7", datatype=XSD.byte))
    (False, True)
    """
    kind = literal.datatype
    if kind is None:
        return True
    form = SPELLINGS.get(kind)
    if form is None:
        return literal.ill_typed is not True
    lexical = str(literal)
    if not form.fullmatch(lexical):
        return False
    if kind in INTEGERS:
        least, most = INTEGERS[kind]
        return least <= int(lexical) <= most
    return kind not in _DAYS or _is_day(lexical)


def _is_day(lexical: str) -> bool:
    """Tell whether a month has a day; the years of a date may be any, also those that Python has not."""
    year, month, day = lexical.removeprefix("-").partition("T")[0].split("-")[:3]
    is_leap = isleap(int(year) * (-1 if lexical.startswith("-") else 1))
    return int(day[:2]) <= (29 if month == "02" and is_leap else _LENGTHS[int(month) - 1])
