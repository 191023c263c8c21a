"""Columns with Spark's types instead of terms in N-Triples, for variables whose values have one type."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypeAlias

import pyarrow as pa
from rdflib import RDF, RDFS, XSD
from rdflib.term import BNode, Literal, URIRef

from rdflive.errors import RdfliveError
from rdflive.feeds.terms import RowReader
from rdflive.values import DATATYPES, INTEGERS, Number, value_of
from rdflive.values.moments import Moment, fields_of, in_units

__all__ = ["TEXT", "ColumnType", "ColumnTypes", "ValueTypeError", "column_types", "typed"]

_INTEGERS: Final = tuple(XSD[name] for name in INTEGERS)
_DIGITS, _SCALE = 38, 18


class ValueTypeError(RdfliveError, ValueError):
    """A value of a variable does not have the type of its column."""


class ColumnType(NamedTuple):
    """The type of a column."""

    sql: str
    """Spark's name of the type."""
    arrow: pa.DataType
    read: Callable[[str], Any] | None
    """Reads a term in N-Triples; raises ValueError for one of another type. None keeps terms unchanged."""


ColumnTypes: TypeAlias = Mapping[str, ColumnType]
"""The types of columns by variable; other columns have terms in N-Triples."""


def column_types(names: Sequence[str], datatypes: Mapping[str, Any]) -> ColumnTypes:
    """Return the column types of variables, by XSD types, or `rdfs:Resource` for nodes.

    Raises `ValueError` for types without a column type, and for names that the solutions do not have.
    """
    found = {}
    for name, datatype in datatypes.items():
        if name not in names:
            raise ValueError(f"types= names {name!r}, but the query has {', '.join(names)}")
        kind = _TYPES.get(URIRef(str(datatype)))
        if kind is None:
            offered = ", ".join(sorted(iri.rpartition("#")[2] for iri in _TYPES))
            raise ValueError(f"Spark has no column type for {datatype!r} (?{name}), only for {offered}")
        found[name] = kind
    return found


def typed(name: str, texts: pa.Array, types: ColumnTypes) -> pa.Array:
    """Return the column of a variable in its type; raise `ValueTypeError`, with the term."""
    kind = types.get(name, TEXT)
    if kind.read is None:
        return texts
    # read each distinct term once
    encoded = texts.dictionary_encode()
    values = []
    for text in encoded.dictionary.to_pylist():
        try:
            values.append(kind.read(text))
        except (ValueError, LookupError, ArithmeticError) as error:
            raise ValueTypeError(
                f"?{name} is {text}, which does not fit a column of type {kind.sql} ({error}): leave "
                f"?{name} out of types=, or let the query return only values of that type"
            ) from error
    return pa.array(values, kind.arrow).take(encoded.indices)


def _value(text: str, *datatypes: URIRef) -> Any:
    """Return the value of a literal of one of these types; raise ValueError for any other term."""
    term = RowReader(text).term("term")
    if not isinstance(term, Literal) or term.datatype not in datatypes:
        raise ValueError("it is of another type")
    value = value_of(term)
    if value is None:
        raise ValueError(f"XSD 1.1 has no such {term.datatype.rpartition('#')[2]}")
    return value[1]


def _integer(text: str) -> int:
    value: int = _value(text, *_INTEGERS)
    if DATATYPES[str(XSD.long)].read(str(value)) is None:
        raise ValueError("the column has 64 bits")
    return value


def _decimal(text: str) -> Decimal:
    value = Decimal(_value(text, XSD.decimal, *_INTEGERS))
    whole, _, fraction = f"{value.copy_abs():f}".partition(".")
    whole, fraction = whole.lstrip("0"), fraction.rstrip("0")
    if len(whole) > _DIGITS - _SCALE or len(fraction) > _SCALE:
        raise ValueError("the column would round it")
    return Decimal(f"{'-' if value < 0 else ''}{whole or 0}.{fraction or 0}")


def _double(text: str) -> float:
    value: Number = _value(text, XSD.double, XSD.float, XSD.decimal, *_INTEGERS)
    return float(value)


def _boolean(text: str) -> bool:
    return bool(_value(text, XSD.boolean))


def _string(text: str) -> str:
    term = RowReader(text).term("term")
    if not isinstance(term, Literal) or term.datatype not in (None, XSD.string, RDF.langString):
        raise ValueError(text)
    return str(term)


def _date(text: str) -> datetime.date:
    # the day in its own time zone, since a column has none
    return _datetime(_value(text, XSD.date)).date()


def _time(text: str) -> datetime.datetime:
    moment: Moment = _value(text, XSD.dateTime, XSD.dateTimeStamp)
    return _datetime(Moment(moment.instant, 0)).replace(tzinfo=datetime.UTC)


def _datetime(moment: Moment) -> datetime.datetime:
    """Return the calendar date and clock time of a moment."""
    year, month, day, hour, minute, second = fields_of(moment)
    if not datetime.MINYEAR <= year <= datetime.MAXYEAR:
        raise ValueError("the column has the years 0001 to 9999")
    microseconds = in_units(second, 1_000_000)
    if microseconds is None:
        raise ValueError("the column would cut off the nanoseconds")
    clock = datetime.timedelta(hours=hour, minutes=minute, microseconds=microseconds)
    return datetime.datetime(year, month, day) + clock


def _node(text: str) -> str:
    term = RowReader(text).term("term")
    if isinstance(term, Literal):
        raise ValueError(text)
    return f"_:{term}" if isinstance(term, BNode) else str(term)


TEXT: Final = ColumnType("string", pa.string(), None)
"""Terms in N-Triples."""
_TYPES: Final = {
    **dict.fromkeys(_INTEGERS, ColumnType("bigint", pa.int64(), _integer)),
    XSD.decimal: ColumnType(f"decimal({_DIGITS},{_SCALE})", pa.decimal128(_DIGITS, _SCALE), _decimal),
    XSD.double: ColumnType("double", pa.float64(), _double),
    XSD.float: ColumnType("double", pa.float64(), _double),
    XSD.boolean: ColumnType("boolean", pa.bool_(), _boolean),
    XSD.string: ColumnType("string", pa.string(), _string),
    XSD.date: ColumnType("date", pa.date32(), _date),
    XSD.dateTime: ColumnType("timestamp", pa.timestamp("us", "UTC"), _time),
    RDFS.Resource: ColumnType("string", pa.string(), _node),
}
