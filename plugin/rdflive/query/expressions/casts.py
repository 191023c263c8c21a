"""SPARQL's casts (Section 17.5). None stands for an error; so does whatever Python raises."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Final

from rdflib.namespace import XSD
from rdflib.term import Literal, Node, URIRef
from rdflib.xsd_datetime import parse_datetime  # type: ignore[attr-defined]  # rdflib imports it itself

from rdflive.query.expressions.numbers import DECIMAL, DOUBLE, INTEGER, Number, number
from rdflive.query.expressions.values import DATE_TIME, text

__all__ = ["CASTS"]

_BOOLEANS: Final = {"true": True, "1": True, "false": False, "0": False}


def _number(term: Node) -> Number | None:
    """Give the number of a number or a boolean."""
    if isinstance(term, Literal) and term.datatype == XSD.boolean and not term.ill_typed:
        return int(term.value)
    return number(term)


def _lexical(term: Node, form: re.Pattern[str]) -> str | None:
    """Give the characters of a string that has the lexical form wanted."""
    characters = text(term)
    if characters is None:
        return None
    return characters if form.fullmatch(characters) else None


def to_integer(term: Node) -> Node | None:
    """Cast to xsd:integer; fractions are cut off."""
    value = _number(term)
    if value is None:
        characters = _lexical(term, INTEGER)
        return None if characters is None else Literal(int(characters))
    # NaN and infinities raise here, and so are errors
    return Literal(math.trunc(value))


def to_decimal(term: Node) -> Node | None:
    """Cast to xsd:decimal; a string may have no exponent."""
    value = _number(term)
    if value is None:
        characters = _lexical(term, DECIMAL)
        return None if characters is None else Literal(Decimal(characters))
    # by the shortest form that is this double: 0.1e0 becomes 0.1, and not 0.1000000000000000055...
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    return Literal(exact) if exact.is_finite() else None


def _to_float(datatype: URIRef) -> Callable[[Node], Node | None]:
    def cast(term: Node) -> Node | None:
        value = _number(term)
        if value is None:
            characters = _lexical(term, DOUBLE)
            if characters is None:
                return None
            value = float(characters)
        return Literal(float(value), datatype=datatype)

    return cast


def to_boolean(term: Node) -> Node | None:
    """Cast to xsd:boolean; zero and NaN are false."""
    value = _number(term)
    if value is None:
        truth = _BOOLEANS.get((text(term) or "").strip(" \t\r\n"))
        return None if truth is None else Literal(truth)
    return Literal(bool(value) and value == value)


def to_string(term: Node) -> Node | None:
    """Cast to xsd:string; numbers and booleans in XPath's canonical form."""
    if not isinstance(term, Literal | URIRef):
        return None
    if isinstance(term, Literal) and term.datatype == XSD.boolean and not term.ill_typed:
        return Literal("true" if term.value else "false", datatype=XSD.string)
    value = number(term)
    return Literal(str(term) if value is None else canonical(value), datatype=XSD.string)


def canonical(value: Number) -> str:
    """Write a number as XPath casts it to a string (XPath Functions 3.1, Section 19.1.2)."""
    if isinstance(value, Decimal) and not value:
        return "0"  # no decimal is a negative zero
    if isinstance(value, float):
        if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "INF" if value > 0 else "-INF"
        if value and not 1e-6 <= abs(value) < 1e6:
            mantissa, exponent = f"{Decimal(repr(value)):E}".split("E")
            return f"{_trimmed(mantissa, '.0')}E{int(exponent)}"
        value = Decimal(repr(value))
    return _trimmed(f"{value:f}") if isinstance(value, Decimal) else str(value)


def _trimmed(digits: str, rest: str = "") -> str:
    if "." not in digits:
        return digits + rest
    trimmed = digits.rstrip("0").rstrip(".")
    return trimmed if "." in trimmed else trimmed + rest


def to_datetime(term: Node) -> Node | None:
    """Cast to xsd:dateTime, from a string or another moment."""
    if not isinstance(term, Literal) or term.language:
        return None
    if term.datatype not in (None, XSD.string, XSD.dateTime):
        return None
    form = str(term).strip(" \t\r\n")
    # rdflib would take a date alone
    return Literal(parse_datetime(form), datatype=XSD.dateTime) if DATE_TIME.fullmatch(form) else None


CASTS: Final[dict[URIRef, Callable[[Node], Node | None]]] = {
    XSD.integer: to_integer,
    XSD.decimal: to_decimal,
    XSD.float: _to_float(XSD.float),
    XSD.double: _to_float(XSD.double),
    XSD.boolean: to_boolean,
    XSD.string: to_string,
    XSD.dateTime: to_datetime,
}
