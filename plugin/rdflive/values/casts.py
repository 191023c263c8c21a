"""Casts (SPARQL, Section 17.5), and XPath's other casts between XML Schema datatypes.

None, or any exception, stands for an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_DOWN, Decimal
from functools import partial
from typing import Any, Final

from rdflib.namespace import XSD
from rdflib.term import Literal, Node, URIRef

from rdflive.values import (
    DATATYPES,
    INTEGERS,
    Duration,
    Moment,
    duration_literal,
    number_literal,
    text,
    typed,
    value_of,
)
from rdflive.values.datatypes import RDFLIB_FORMS
from rdflive.values.moments import MOMENTS, write_moment
from rdflive.values.numbers import number_text, shortest_text, to_double, to_single

__all__ = ["CASTS"]

_BLANKS: Final = " \t\r\n"
"""White space that XML Schema ignores around values, except strings."""


def _read(datatype: str, term: Node) -> Any:
    """Return the value of a string as a lexical form of a datatype; None if it is invalid."""
    form = (text(term) or "").strip(_BLANKS)
    return None if form in RDFLIB_FORMS else DATATYPES[datatype].read(form)


def _number(datatype: str, term: Node) -> Any:
    """Return the numeric value of a number, a boolean or a string."""
    value = value_of(term) if isinstance(term, Literal) else None
    if value is not None and value[0] in ("number", "boolean"):
        return value[1]
    return _read(datatype, term)


def _to_integer(datatype: str, term: Node) -> Node | None:
    """Cast to xsd:integer or a derived datatype; fractions are truncated."""
    value = _number(datatype, term)
    if value is None:
        return None
    # NaN and infinities raise, which is an error
    if isinstance(value, Decimal):  # by way of an int only in quadratic time
        whole = value.to_integral_value(ROUND_DOWN)
        lexical = f"{whole or whole.copy_abs():f}"
    else:
        lexical = str(math.trunc(value))
    return None if DATATYPES[datatype].read(lexical) is None else typed(lexical, datatype)


def _to_decimal(term: Node) -> Node | None:
    """Cast to xsd:decimal; a string may have no exponent."""
    value = _number(_DECIMAL, term)
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return None
    # by the double's shortest form: 0.1e0 becomes 0.1, not 0.1000000000000000055...
    return number_literal(Decimal(shortest_text(value)) if isinstance(value, float) else Decimal(value))


def _to_double(term: Node) -> Node | None:
    value = _number(_DOUBLE, term)
    return None if value is None else number_literal(to_double(value))


def _to_single(term: Node) -> Node | None:
    value = _number(_FLOAT, term)
    return None if value is None else number_literal(to_single(value))


def _to_boolean(term: Node) -> Node | None:
    """Cast to xsd:boolean; zero and NaN are false."""
    value = _number(_BOOLEAN, term)
    return None if value is None else Literal(bool(value) and value == value)


def _to_string(term: Node) -> Node | None:
    """Cast to xsd:string, with values in XPath's canonical form."""
    if not isinstance(term, Literal | URIRef):
        return None
    return Literal(_characters(term), datatype=XSD.string)


def _characters(term: Literal | URIRef) -> str:
    value = value_of(term) if isinstance(term, Literal) else None
    if value is None or isinstance(value[1], str):
        return str(term)
    space, content = value
    if space == "number":
        return number_text(content)
    if space == "boolean":
        return "true" if content else "false"
    if isinstance(content, Duration):
        return str(duration_literal(str(term.datatype), content))  # type: ignore[union-attr]
    return write_moment(space, content)


def _to_moment(kind: str, datatype: str, term: Node) -> Node | None:
    """Cast a string, a moment of the same kind, or a more specific moment, to a kind of moment."""
    space, moment = (value_of(term) if isinstance(term, Literal) else None) or ("", None)
    if not isinstance(moment, Moment):
        moment = _read(datatype, term)
    elif space != kind and space not in _MORE_SPECIFIC.get(kind, ()):
        return None
    if moment is None:
        return None
    form = write_moment(kind, moment)
    # an xsd:dateTimeStamp needs a time zone
    return None if DATATYPES[datatype].read(form) is None else typed(form, datatype)


_MORE_SPECIFIC: Final[dict[str, tuple[str, ...]]] = {
    "dateTime": ("date",),  # its first instant
    "time": ("dateTime",),
    **dict.fromkeys(("date", "gYear", "gYearMonth", "gMonthDay", "gMonth", "gDay"), ("dateTime", "date")),
}


def _to_duration(part: Callable[[Duration], Duration], datatype: str, term: Node) -> Node | None:
    """Cast to a kind of duration, which keeps only its part of another duration."""
    value = value_of(term) if isinstance(term, Literal) else None
    duration = value[1] if value is not None and isinstance(value[1], Duration) else _read(datatype, term)
    return None if duration is None else duration_literal(datatype, part(duration))


_BOOLEAN, _DECIMAL, _DOUBLE, _FLOAT = (str(XSD[name]) for name in ("boolean", "decimal", "double", "float"))
_DURATIONS: Final[dict[str, Callable[[Duration], Duration]]] = {
    "duration": lambda duration: duration,
    "yearMonthDuration": lambda duration: Duration(duration.months, 0),
    "dayTimeDuration": lambda duration: Duration(0, duration.seconds),
}

CASTS: Final[dict[URIRef, Callable[[Node], Node | None]]] = {
    **{XSD[name]: partial(_to_integer, str(XSD[name])) for name in INTEGERS},
    XSD.decimal: _to_decimal,
    XSD.double: _to_double,
    XSD.float: _to_single,
    XSD.boolean: _to_boolean,
    XSD.string: _to_string,
    **{XSD[kind]: partial(_to_moment, kind, str(XSD[kind])) for kind in MOMENTS},
    XSD.dateTimeStamp: partial(_to_moment, "dateTime", str(XSD.dateTimeStamp)),
    **{XSD[name]: partial(_to_duration, part, str(XSD[name])) for name, part in _DURATIONS.items()},
}
"""The cast function of each target datatype."""
