"""Typed columns: values as Spark has them, and what is of another type."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from rdflib import RDFS, XSD

from rdflive_stores.spark.dataflow.types import ValueTypeError, column_types, typed


def lit(lexical: str, datatype: str) -> str:
    return f'"{lexical}"^^<{XSD}{datatype}>'


def read(texts: list[str | None], datatype: Any) -> list[Any]:
    values: list[Any] = typed(
        "v", pa.array(texts, pa.string()), column_types(["v"], {"v": datatype})
    ).to_pylist()
    return values


@pytest.mark.parametrize(
    ("datatype", "text", "value"),
    [
        (XSD.integer, lit("-7", "integer"), -7),
        (XSD.integer, lit("007", "unsignedByte"), 7),
        (XSD.long, lit("9223372036854775807", "integer"), 2**63 - 1),
        (XSD.decimal, lit("1.50", "decimal"), Decimal("1.5")),
        (XSD.decimal, lit("3", "integer"), Decimal(3)),
        (XSD.double, lit("1e3", "double"), 1000.0),
        (XSD.double, lit("INF", "float"), float("inf")),
        (XSD.boolean, lit("1", "boolean"), True),
        (XSD.boolean, lit("false", "boolean"), False),
        (XSD.string, '"x \\"y\\""', 'x "y"'),
        (XSD.string, '"x"@en', "x"),
        (XSD.date, lit("2026-11-26", "date"), dt.date(2026, 11, 26)),
        (XSD.dateTime, lit("2026-11-26T01:00:00", "dateTime"), dt.datetime(2026, 11, 26, 1, tzinfo=dt.UTC)),
        (
            XSD.dateTime,
            lit("2026-11-26T01:00:00.5+01:00", "dateTime"),
            dt.datetime(2026, 11, 26, 0, 0, 0, 500_000, dt.UTC),
        ),
        (RDFS.Resource, "<urn:a>", "urn:a"),
        (RDFS.Resource, "_:b0", "_:b0"),
    ],
)
def test_values_are_those_of_the_type(datatype: Any, text: str, value: Any) -> None:
    """Each term is read once, repeats and unbound ones stay in their place."""
    assert read([text, None, text], datatype) == [value, None, value]
    assert read([], datatype) == []


@pytest.mark.parametrize(
    ("datatype", "text"),
    [
        (XSD.integer, lit("1.0", "decimal")),
        (XSD.integer, lit("x", "integer")),
        (XSD.integer, lit("9223372036854775808", "integer")),
        (XSD.integer, '"7"'),
        (XSD.integer, "<urn:7>"),
        (XSD.decimal, lit("1e3", "double")),
        (XSD.decimal, lit("0.1234567890123456789", "decimal")),
        (XSD.decimal, lit("100000000000000000000", "integer")),
        (XSD.boolean, lit("yes", "boolean")),
        (XSD.string, lit("7", "integer")),
        (XSD.string, "<urn:a>"),
        (XSD.date, lit("2026-02-30", "date")),
        (XSD.dateTime, lit("2026-11-26T01:00:00.1234567", "dateTime")),
        (XSD.dateTime, lit("12026-11-26T01:00:00", "dateTime")),
        (RDFS.Resource, '"urn:a"'),
    ],
)
def test_what_is_of_another_type_is_named(datatype: Any, text: str) -> None:
    """Nothing is rounded, cut or left out."""
    with pytest.raises(ValueTypeError, match=r"^\?v is .* which is no value for a column of type"):
        read([text], datatype)


def test_types_are_looked_at() -> None:
    """A type without a column, and a name that is no variable, are refused before anything runs."""
    with pytest.raises(
        ValueError, match=r"no column of Spark is made for .*gYear.* \(\?v\), only for Resource, "
    ):
        column_types(["v"], {"v": XSD.gYear})
    with pytest.raises(ValueError, match="types= names 'w', and the query gives v, x"):
        column_types(["v", "x"], {"w": XSD.integer})
