"""Columns with Spark's types in place of terms in N-Triples, for variables whose values have one type."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, NamedTuple, TypeAlias

import pyarrow as pa
from rdflib import RDF, RDFS, XSD
from rdflib.term import BNode, Literal, URIRef

from rdflive.errors import RdfliveError
from rdflive.feeds.terms import RowReader

__all__ = ["TEXT", "ColumnType", "ColumnTypes", "ValueTypeError", "column_types", "typed"]

_INTEGERS: Final = {
    XSD.integer, XSD.nonNegativeInteger, XSD.positiveInteger, XSD.nonPositiveInteger, XSD.negativeInteger,
    XSD.long, XSD.int, XSD.short, XSD.byte,
    XSD.unsignedLong, XSD.unsignedInt, XSD.unsignedShort, XSD.unsignedByte,
}  # fmt: skip
_TRUTHS: Final[Mapping[str, bool]] = {"true": True, "1": True, "false": False, "0": False}
_NANOSECONDS: Final = re.compile(r"\.\d{6}\d*[1-9]")
_LEAST, _MOST = -(1 << 63), (1 << 63) - 1


class ValueTypeError(RdfliveError, ValueError):
    """A value of a variable is not of the type that its column was given."""


class ColumnType(NamedTuple):
    """What a column holds."""

    sql: str
    """The name that Spark has for it."""
    arrow: pa.DataType
    read: Callable[[str], Any] | None
    """Reads a term in N-Triples; raises ValueError for one of another type. None for terms as they are."""


ColumnTypes: TypeAlias = Mapping[str, ColumnType]
"""The types of columns by the name of their variable; a column without one has terms in N-Triples."""


def column_types(names: Sequence[str], datatypes: Mapping[str, Any]) -> ColumnTypes:
    """Find the types of the columns of some variables, by XSD types, or `rdfs:Resource` for nodes.

    Raises `ValueError` for types that no column is made for, and for what is no variable of the solutions.
    """
    found = {}
    for name, datatype in datatypes.items():
        if name not in names:
            raise ValueError(f"types= names {name!r}, and the query gives {', '.join(names)}")
        kind = _TYPES.get(URIRef(str(datatype)))
        if kind is None:
            offered = ", ".join(sorted(iri.rpartition("#")[2] for iri in _TYPES))
            raise ValueError(f"no column of Spark is made for {datatype!r} (?{name}), only for {offered}")
        found[name] = kind
    return found


def typed(name: str, texts: pa.Array, types: ColumnTypes) -> pa.Array:
    """Give the column of a variable with its type; raises `ValueTypeError`, with the term."""
    kind = types.get(name, TEXT)
    if kind.read is None:
        return texts
    # each distinct term is read once
    encoded = texts.dictionary_encode()
    values = []
    for text in encoded.dictionary.to_pylist():
        try:
            values.append(kind.read(text))
        except (ValueError, LookupError, ArithmeticError) as error:
            raise ValueTypeError(
                f"?{name} is {text}, which is no value for a column of type {kind.sql}: leave ?{name} out of "
                "types=, or have the query give values of that type only"
            ) from error
    return pa.array(values, kind.arrow).take(encoded.indices)


def _literal(text: str, *datatypes: URIRef) -> Literal:
    term = RowReader(text).term("term")
    if not isinstance(term, Literal) or term.datatype not in datatypes:
        raise ValueError(text)
    return term


def _integer(text: str) -> int:
    value = int(_literal(text, *_INTEGERS))
    if not _LEAST <= value <= _MOST:
        raise ValueError(text)
    return value


def _decimal(text: str) -> Decimal:
    value = Decimal(_literal(text, XSD.decimal, *_INTEGERS))
    if value != round(value, 18) or abs(value) >= Decimal(10) ** 20:
        raise ValueError(text)  # the column would round it
    return value


def _double(text: str) -> float:
    return float(_literal(text, XSD.double, XSD.float, XSD.decimal, *_INTEGERS))


def _boolean(text: str) -> bool:
    return _TRUTHS[str(_literal(text, XSD.boolean))]


def _string(text: str) -> str:
    term = RowReader(text).term("term")
    if not isinstance(term, Literal) or term.datatype not in (None, XSD.string, RDF.langString):
        raise ValueError(text)
    return str(term)


def _date(text: str) -> datetime.date:
    return datetime.date.fromisoformat(_literal(text, XSD.date))


def _time(text: str) -> datetime.datetime:
    lexical = _literal(text, XSD.dateTime, XSD.dateTimeStamp)
    if _NANOSECONDS.search(lexical):
        raise ValueError(text)  # the column would cut them off
    value = datetime.datetime.fromisoformat(lexical)
    return value if value.tzinfo else value.replace(tzinfo=datetime.UTC)


def _node(text: str) -> str:
    term = RowReader(text).term("term")
    if isinstance(term, Literal):
        raise ValueError(text)
    return f"_:{term}" if isinstance(term, BNode) else str(term)


TEXT: Final = ColumnType("string", pa.string(), None)
"""Terms in N-Triples."""
_TYPES: Final = {
    **dict.fromkeys(_INTEGERS, ColumnType("bigint", pa.int64(), _integer)),
    XSD.decimal: ColumnType("decimal(38,18)", pa.decimal128(38, 18), _decimal),
    XSD.double: ColumnType("double", pa.float64(), _double),
    XSD.float: ColumnType("double", pa.float64(), _double),
    XSD.boolean: ColumnType("boolean", pa.bool_(), _boolean),
    XSD.string: ColumnType("string", pa.string(), _string),
    XSD.date: ColumnType("date", pa.date32(), _date),
    XSD.dateTime: ColumnType("timestamp", pa.timestamp("us", "UTC"), _time),
    RDFS.Resource: ColumnType("string", pa.string(), _node),
}
