"""Literals of computed values, and the spelling of literals."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any, Final

from rdflib import XSD, Literal

from rdflive.model import exact_literal
from rdflive.model.terms import is_beyond_python
from rdflive.values.datatypes import DATATYPES, RDFLIB_FORMS, value_of
from rdflive.values.moments import Duration, Moment, write_duration, write_moment
from rdflive.values.numbers import Number, Single, number_text, shortest_text

__all__ = ["as_parsed", "duration_literal", "moment_literal", "normal", "number_literal", "typed"]

_DECIMAL: Final = str(XSD.decimal)
_DOUBLE: Final = str(XSD.double)
_FLOAT: Final = str(XSD.float)
_MONTHS: Final = str(XSD.yearMonthDuration)


def number_literal(value: Number) -> Literal:
    """Return a computed number as xsd:integer, decimal, float or double, with rdflib's digits.

    Raises ValueError for an integer of more than 4300 digits, which Python does not write.

    >>> str(number_literal(Decimal("1.50"))), str(number_literal(float("inf"))), str(number_literal(1e21))
    ('1.50', 'INF', '1e+21')
    """
    if isinstance(value, int):
        return Literal(value)
    if isinstance(value, Decimal):
        # Python's digits, but without an exponent, which xsd:decimal lacks; zero has no sign
        return exact_literal(f"{value or value.copy_abs():f}", datatype=_DECIMAL)
    form = shortest_text(value) if math.isfinite(value) else number_text(value)
    return exact_literal(form, datatype=_FLOAT if type(value) is Single else _DOUBLE)


def moment_literal(kind: str, moment: Moment) -> Literal:
    """Return a moment in its canonical form, or in rdflib's spelling of the same value.

    >>> moment_literal("dateTime", Moment(0, 0)).n3()
    '"1970-01-01T00:00:00+00:00"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
    """
    return typed(write_moment(kind, moment), str(XSD[kind]))


def duration_literal(datatype: str, duration: Duration) -> Literal:
    """Return a duration in its canonical form; an xsd:yearMonthDuration of zero is P0M.

    >>> str(duration_literal(XSD.dayTimeDuration, Duration(0, 90)))
    'PT1M30S'
    """
    form = "P0M" if datatype == _MONTHS and not duration.months else write_duration(duration)
    return exact_literal(form, datatype=datatype)


def typed(lexical: str, datatype: str) -> Literal:
    """Return a text with a datatype, in rdflib's spelling."""
    made: Literal = normal(exact_literal(lexical, datatype=datatype))
    return made


def normal(term: Any) -> Any:
    """Return a term in the spelling of rdflib's parsers, which is that of its stores.

    The term stays unchanged if rdflib's spelling has another value: rdflib truncates seconds after the sixth
    digit and drops the time zone of a date. INF also stays, because `inf` is not a valid double. Ill-formed
    literals stay: rdflib reads `1_000` as 1000, and any ill-formed boolean as false.

    >>> second = "2024-05-01T12:00:00.123456789Z"
    >>> normal(exact_literal(second, datatype=XSD.dateTime)) == Literal(second, datatype=XSD.dateTime)
    False
    >>> str(normal(exact_literal("01", datatype=XSD.integer)))
    '1'
    """
    spelt = as_parsed(term)
    if spelt is term:
        return term
    is_other = str(spelt) in RDFLIB_FORMS or value_of(spelt) != value_of(term)
    return term if str(spelt) != str(term) and is_other else spelt


def as_parsed(term: Any) -> Any:
    """Return a term in the spelling of rdflib's parsers, even if the value differs; keep ill-formed literals.

    >>> str(as_parsed(exact_literal("INF", datatype=XSD.double)))
    'inf'
    """
    if not isinstance(term, Literal) or term.datatype is None:
        return term
    if str(term.datatype) in DATATYPES and value_of(term) is None:
        return term
    if is_beyond_python(term, term.datatype):
        return term
    try:
        return Literal(str(term), datatype=term.datatype)
    except ValueError:  # rdflib does not write -P1M1D
        return term
