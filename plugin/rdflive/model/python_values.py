"""Values of Python that terms stand for."""

from __future__ import annotations

import re
from datetime import datetime, time, timedelta
from typing import Any, Final

from rdflib import Literal
from rdflib.xsd_datetime import Duration

from rdflive.model.terms import Term

__all__ = ["python_value"]

_TIMES: Final = (datetime, time, timedelta, Duration)
_FINER: Final = re.compile(r"\.[0-9]{6}[0-9]*[1-9]")
"""Digits behind the microsecond, which rdflib cuts off."""


def python_value(term: Term | None) -> Any:
    """Give the value of a literal, the text of any other term, and None for None.

    A literal without a value of its own (of an unknown datatype, or ill-typed) is its text, and so is a time
    that Python's types do not hold: beyond the years 1 to 9999, or behind the microsecond.

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
        term = Literal(term.value, datatype=term.datatype.value)
    if isinstance(term, Literal):
        value = term.toPython()
        is_cut = isinstance(value, _TIMES) and _FINER.search(term) is not None
        return str(term) if is_cut or isinstance(value, Literal) else value
    return term if type(term) is str else str(getattr(term, "value", term))
