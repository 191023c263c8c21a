"""One value of a table row: its text and its XML Schema datatype."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypeAlias

from rdflib.namespace import XSD
from rdflib.term import Literal

from rdflive.feeds.terms import RowError
from rdflive.model import exact_literal

__all__ = ["NOT_FINITE", "Cell", "Row", "to_cell", "to_double", "to_row"]

NOT_FINITE: Final = {"NaN": "NaN", "Infinity": "INF", "-Infinity": "-INF"}
"""Doubles without a JSON number, as Kafka Connect and Spark write them, with their XML Schema form."""


class Cell(NamedTuple):
    """A value that is not NULL."""

    text: str
    datatype: str = ""
    """The local name in the XML Schema namespace; empty for a plain string."""

    def to_literal(self) -> Literal:
        """Return the literal, with the feed's spelling.

        >>> Cell("1.50", "decimal").to_literal().n3()
        '"1.50"^^<http://www.w3.org/2001/XMLSchema#decimal>'
        """
        return exact_literal(self.text, datatype=XSD[self.datatype] if self.datatype else None)


Row: TypeAlias = Mapping[str, Cell]
"""The mapped columns of a row by name, without those that are NULL."""


def to_cell(value: object) -> Cell:
    """Convert a JSON string, number or boolean; raises `RowError` for other values.

    A number with a fraction becomes an xsd:decimal, one that Python writes with an exponent an xsd:double.

    >>> to_cell(Decimal("1.50")), to_cell(Decimal("1e30"))
    (Cell(text='1.50', datatype='decimal'), Cell(text='1e+30', datatype='double'))
    """
    match value:
        # before int, which includes bool
        case bool():
            return Cell("true" if value else "false", "boolean")
        case int():
            return Cell(str(value), "integer")
        case Decimal():
            return to_double(value) if "E" in str(value) else Cell(str(value), "decimal")
        case str():
            return Cell(value)
    kind = "an array" if isinstance(value, list) else "an object"
    raise RowError(f"holds {kind}; a mapped column must hold text, a number, true, false or null")


def to_double(value: int | Decimal, datatype: str = "double") -> Cell:
    """Round a number to a double; raises `RowError` if it is out of the range of `datatype`."""
    try:
        number = float(value)
        if datatype == "float":
            struct.pack("<f", number)
    except OverflowError:
        number = math.inf
    if math.isinf(number):
        raise RowError(f"is beyond the range of xsd:{datatype}")
    return Cell(repr(number), datatype)


def to_row(
    values: Mapping[str, Any], columns: Iterable[str], convert: Callable[[str, Any], Cell] | None = None
) -> Row:
    """Return the columns that are present and not null; `convert` receives a column's name and value."""
    row = {}
    for column in columns:
        value = values.get(column)
        if value is None:
            continue
        try:
            row[column] = to_cell(value) if convert is None else convert(column, value)
        except RowError as error:
            raise RowError(f"the column {column!r} {error}") from error
    return row
