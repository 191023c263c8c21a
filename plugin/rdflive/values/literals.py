"""Literals of values: how computed values and literals of other sources are spelt."""

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
    """Write a computed number as xsd:integer, decimal, float or double, with the digits that rdflib gives it.

    Raises ValueError for an integer of over 4300 digits, which Python does not write.

    >>> str(number_literal(Decimal("1.50"))), str(number_literal(float("inf"))), str(number_literal(1e21))
    ('1.50', 'INF', '1e+21')
    """
    if isinstance(value, int):
        return Literal(value)
    if isinstance(value, Decimal):
        # as Python writes it, but without an exponent, which no xsd:decimal has; zero has no sign
        return exact_literal(f"{value or value.copy_abs():f}", datatype=_DECIMAL)
    form = shortest_text(value) if math.isfinite(value) else number_text(value)
    return exact_literal(form, datatype=_FLOAT if type(value) is Single else _DOUBLE)


def moment_literal(kind: str, moment: Moment) -> Literal:
    """Write a moment in its canonical form, or as rdflib spells the same.

    >>> moment_literal("dateTime", Moment(0, 0)).n3()
    '"1970-01-01T00:00:00+00:00"^^<http://www.w3.org/2001/XMLSchema#dateTime>'
    """
    return typed(write_moment(kind, moment), str(XSD[kind]))


def duration_literal(datatype: str, duration: Duration) -> Literal:
    """Write a duration in its canonical form; one of no months is P0M as an xsd:yearMonthDuration.

    >>> str(duration_literal(XSD.dayTimeDuration, Duration(0, 90)))
    'PT1M30S'
    """
    form = "P0M" if datatype == _MONTHS and not duration.months else write_duration(duration)
    return exact_literal(form, datatype=datatype)


def typed(lexical: str, datatype: str) -> Literal:
    """Give a text a datatype, spelt as rdflib's own terms are."""
    made: Literal = normal(exact_literal(lexical, datatype=datatype))
    return made


def normal(term: Any) -> Any:
    """Spell a term as rdflib's parsers do, which is how its own stores hold it.

    A spelling of rdflib that is another value is not taken: it cuts the digits of a second behind the sixth
    and leaves out the time zone of a date. Nor is `inf` taken for INF, for it is no form of a double.
    Ill-formed literals stay as they are: rdflib reads `1_000` as 1000, and any ill-formed boolean as false.

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
    """Spell a term as rdflib's parsers do, even if it is another value then; an ill-formed literal as it is.

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
    except ValueError:  # it does not write -P1M1D
        return term
