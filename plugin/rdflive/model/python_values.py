"""Python values of terms."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

from rdflib import Literal
from rdflib.xsd_datetime import Duration

from rdflive.model.terms import Term, exact_literal

__all__ = ["python_value"]

_DIGITS: Final = "([0-9]+([.][0-9]*)?|[.][0-9]+)"
_DATE: Final = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK: Final = "[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6}0*)?(Z|[+-][0-9]{2}:[0-9]{2})?"
_LENGTH: Final = "-?P(?=.{1,28}$)[0-9YMD]*(T[0-9HM]*([0-9]+([.][0-9]{1,6}0*)?S)?)?"
_EXACT: Final = {
    kind: re.compile(form)
    for kind, form in (
        (int, "[+-]?[0-9]+"),
        (Decimal, f"[+-]?{_DIGITS}"),
        (float, f"[+-]?({_DIGITS}([eE][+-]?[0-9]+)?|INF|inf)|NaN|nan"),
        (bytes, "[0-9A-Za-z+/ ]*={0,2}"),
        (datetime, f"{_DATE}T{_CLOCK}"),
        (date, _DATE),
        (time, _CLOCK),
        (timedelta, _LENGTH),
        (Duration, _LENGTH),
    )
}
"""The lexical forms that rdflib reads exactly; it also reads invalid forms such as 1_000, drops the time zone
of a date, and truncates after the microsecond.
"""


def python_value(term: Term | None) -> Any:
    """Return the value of a literal, the text of any other term, and None for None.

    A literal of an unknown datatype, or an ill-typed one, becomes its text. So does a time that Python's
    types cannot hold: beyond the years 1 to 9999, finer than a microsecond, or a date with a time zone.

    >>> python_value(Literal("1.50", datatype="http://www.w3.org/2001/XMLSchema#decimal"))
    Decimal('1.50')
    >>> python_value(Literal("soon", datatype="http://www.w3.org/2001/XMLSchema#integer"))
    'soon'
    >>> time = "http://www.w3.org/2001/XMLSchema#dateTime"
    >>> python_value(Literal("2024-05-01T12:00:00.123456789Z", datatype=time, normalize=False))
    '2024-05-01T12:00:00.123456789Z'
    """
    if term is None:
        return None
    if type(term).__name__ == "Literal" and not isinstance(term, Literal):  # pyoxigraph's
        if term.language is not None:
            return term.value
        term = exact_literal(term.value, datatype=term.datatype.value)
    if isinstance(term, Literal):
        value = term.toPython()
        exact = _EXACT.get(type(value))
        is_other = term.ill_typed or (exact is not None and exact.fullmatch(term) is None)
        return str(term) if is_other or isinstance(value, Literal) else value
    return term if type(term) is str else str(getattr(term, "value", term))
