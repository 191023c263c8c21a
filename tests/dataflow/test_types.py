"""Typed columns: values as Spark has them, and what is of another type."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from rdflib import RDFS, XSD

from rdflive_stores.spark.dataflow.types import ValueTypeError, column_types, typed

_COLUMNS = {"dateTimeStamp": XSD.dateTime}
"""Types that no column is named after."""


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
        (XSD.integer, lit("+127", "byte"), 127),
        (XSD.integer, lit("-128", "byte"), -128),
        (XSD.integer, lit("-0", "nonNegativeInteger"), 0),
        (XSD.long, lit("9223372036854775807", "integer"), 2**63 - 1),
        (XSD.decimal, lit("1.50", "decimal"), Decimal("1.5")),
        (XSD.decimal, lit("3", "integer"), Decimal(3)),
        (XSD.decimal, lit("12345678901", "integer"), Decimal(12345678901)),
        (XSD.decimal, lit("-.5", "decimal"), Decimal("-0.5")),
        (
            XSD.decimal,
            lit("+0099999999999999999999.9999999999999999990", "decimal"),
            Decimal("99999999999999999999.999999999999999999"),
        ),
        (XSD.decimal, lit("+7.", "decimal"), Decimal(7)),
        (XSD.double, lit("1e3", "double"), 1000.0),
        (XSD.double, lit("INF", "float"), float("inf")),
        (XSD.double, lit("+INF", "double"), float("inf")),
        (XSD.double, lit("-.5E-1", "double"), -0.05),
        (XSD.double, lit("12", "byte"), 12.0),
        (XSD.boolean, lit("1", "boolean"), True),
        (XSD.boolean, lit("false", "boolean"), False),
        (XSD.string, '"x \\"y\\""', 'x "y"'),
        (XSD.string, '"x"@en', "x"),
        (XSD.date, lit("2026-11-26", "date"), dt.date(2026, 11, 26)),
        (XSD.date, lit("2026-11-26Z", "date"), dt.date(2026, 11, 26)),
        (XSD.date, lit("2026-11-26+14:00", "date"), dt.date(2026, 11, 26)),
        (XSD.dateTime, lit("2026-11-26T01:00:00", "dateTime"), dt.datetime(2026, 11, 26, 1, tzinfo=dt.UTC)),
        (XSD.dateTime, lit("2026-12-31T24:00:00.0Z", "dateTime"), dt.datetime(2027, 1, 1, tzinfo=dt.UTC)),
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


ILL_FORMED = {
    "integer": ("1_000", " 7 ", "\u0663", "1.", "", "+", "7\\n", "x", "9223372036854775808"),
    "nonNegativeInteger": ("-5",), "positiveInteger": ("0",), "nonPositiveInteger": ("1",),
    "negativeInteger": ("0",), "byte": ("300", "-129"), "unsignedByte": ("256",), "short": ("32768",),
    "unsignedShort": ("65536",), "int": ("2147483648",), "unsignedInt": ("4294967296",),
    "long": ("9223372036854775808",), "unsignedLong": ("18446744073709551615",),
    "decimal": ("1e5", "1_000", "NaN", ".", "1" * 21, "0.1234567890123456789"),
    "double": ("1_0", "infinity", "Nan", "1e", " 1"), "float": ("Infinity",),
    "boolean": ("TRUE", " true", "yes"),
    "date": (
        "20240101", "2024-W01-1", "2024-01-01+15:00", "-0044-03-15", "0000-01-01", "02024-01-01",
        "2026-02-30",
    ),
    "dateTime": (
        "2024-01-01", "20240101T000000", "2024-01-01 00:00:00", "2024-01-01T00:00", "2024-01-01T00:00:60",
        "2024-01-01T24:00:01", "0001-01-01T00:00:00+14:00", "9999-12-31T24:00:00",
        "12026-11-26T01:00:00",
    ),
    "dateTimeStamp": ("2024-01-01T00:00:00",),
}  # fmt: skip


@pytest.mark.parametrize(
    ("datatype", "text", "reason"),
    [
        (XSD.integer, lit("7", "decimal"), "it is of another type"),
        (XSD.integer, lit("1_000", "integer"), "XSD 1.1 has no such integer"),
        (XSD.integer, lit("300", "byte"), "XSD 1.1 has no such byte"),
        (XSD.integer, lit("9223372036854775808", "integer"), "the column has 64 bits"),
        (XSD.integer, '"7"', ""),
        (XSD.integer, "<urn:7>", ""),
        (XSD.decimal, lit("0.1234567890123456789", "decimal"), "the column would round it"),
        (XSD.decimal, lit("1e3", "double"), ""),
        (XSD.decimal, lit("100000000000000000000", "integer"), ""),
        (XSD.string, lit("7", "integer"), ""),
        (XSD.string, "<urn:a>", ""),
        (XSD.date, lit("12026-11-26", "date"), "the column has the years 0001 to 9999"),
        (
            XSD.dateTime,
            lit("2026-11-26T01:00:00.1234567", "dateTime"),
            "the column would cut off the nanosec",
        ),
        (RDFS.Resource, '"urn:a"', ""),
        *(
            (_COLUMNS.get(datatype, XSD[datatype]), lit(lexical, datatype), "")
            for datatype, lexicals in ILL_FORMED.items()
            for lexical in lexicals
        ),
    ],
)
def test_what_is_of_another_type_is_named(datatype: Any, text: str, reason: str) -> None:
    """Nothing is rounded, cut or left out; the error says what is wrong with the value."""
    message = rf"^\?v is .* which does not fit a column of type \S+ \({reason}"
    with pytest.raises(ValueTypeError, match=message):
        read([text], datatype)


def test_types_are_looked_at() -> None:
    """A type without a column, and a name that is no variable, are refused before anything runs."""
    with pytest.raises(
        ValueError, match=r"Spark has no column type for .*gYear.* \(\?v\), only for Resource, "
    ):
        column_types(["v"], {"v": XSD.gYear})
    with pytest.raises(ValueError, match="types= names 'w', but the query has v, x"):
        column_types(["v", "x"], {"w": XSD.integer})
