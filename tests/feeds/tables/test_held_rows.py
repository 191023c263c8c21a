"""Mappings of rows to quads, the values of columns, and the rows that support quads."""

from __future__ import annotations

import base64
import json
import math
import re
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import RDF, XSD, BNode, Literal, URIRef

from rdflive import Quad, RdfliveError
from rdflive.feeds import FeedFormat, Line, RowError, read_entries
from rdflive.feeds.tables.cells import Cell, to_row
from rdflive.feeds.tables.connect_schema import to_cell_by_schema
from rdflive.feeds.tables.debezium import DEBEZIUM
from rdflive.feeds.tables.delta_lake import DELTA_LAKE
from rdflive.feeds.tables.held_rows import HeldRows, RowEdit, RowName, needs_mapping
from rdflive.feeds.tables.mapping import MappingError, read_mapping
from rdflive.feeds.terms import write_quad

E = "http://e/"
SIMPLE = {"subject": "http://e/{id}", "predicates": {"n": "http://e/n"}}


def quads(table: dict[str, Any], values: dict[str, Any]) -> list[Quad]:
    mapped = read_mapping({"t": table}).tables["t"]
    return list(mapped.quads(to_row(values, mapped.columns)))


def objects(predicate: Any, values: dict[str, Any]) -> list[Any]:
    return [quad.object for quad in quads({**SIMPLE, "predicates": {"n": predicate}}, {"id": 1, **values})]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("text", Literal("text")),
        ("5", Literal("5")),
        (5, Literal("5", datatype=XSD.integer)),
        (-(10**40), Literal(str(-(10**40)), datatype=XSD.integer)),
        (True, Literal("true", datatype=XSD.boolean)),
        (Decimal("1.50"), Literal("1.50", datatype=XSD.decimal)),
        (Decimal("1E+30"), Literal("1e+30", datatype=XSD.double)),
        (Decimal("1E-7"), Literal("1e-07", datatype=XSD.double)),
    ],
)
def test_a_column_becomes_a_literal_of_its_type(value: Any, expected: Literal) -> None:
    """Each JSON type has its datatype of XML Schema; NULL and a missing column have no triple."""
    assert objects("http://e/n", {"n": value}) == [expected]
    assert objects("http://e/n", {"n": None}) == objects("http://e/n", {}) == []


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        ({"predicate": E}, Literal("x y")),
        ({"predicate": E, "language": "en-GB"}, Literal("x y", lang="en-GB")),
        ({"predicate": E, "datatype": str(XSD.token)}, Literal("x y", datatype=XSD.token)),
        ({"predicate": E, "object": "urn:{n}/{id}"}, URIRef("urn:x%20y/1")),
        ({"predicate": E, "object": "urn:fixed"}, URIRef("urn:fixed")),
    ],
)
def test_options_of_a_predicate_shape_its_object(predicate: Any, expected: Any) -> None:
    """A predicate may name a language, a datatype or a template; each has no object where it has a NULL."""
    assert objects(predicate, {"n": "x y"}) == [expected]
    assert objects(predicate, {"n": None}) == []


@pytest.mark.parametrize(
    ("datatype", "value", "expected"),
    [
        (XSD.double, "NaN", "NaN"),
        (XSD.float, "-Infinity", "-INF"),
        (XSD.double, Decimal("1.5"), "1.5"),
        (XSD.string, "Infinity", "Infinity"),
        (XSD.boolean, 1, "1"),
        (XSD.decimal, "1.50", "1.50"),
        (URIRef("http://e/own"), "anything", "anything"),
    ],
)
def test_a_datatype_of_the_mapping_types_text(datatype: URIRef, value: Any, expected: str) -> None:
    """Without a schema only the mapping tells that a text is a number."""
    (found,) = objects({"predicate": E, "datatype": str(datatype)}, {"n": value})
    assert (str(found), found.datatype) == (expected, datatype)


@pytest.mark.parametrize(
    ("datatype", "value"),
    [
        (XSD.decimal, "NaN"),
        (XSD.date, 17000),
        (XSD.integer, Decimal("1.5")),
        (XSD.double, "x"),
        (XSD.byte, 300),
    ],
)
def test_what_is_not_of_the_datatype_of_the_mapping_is_refused(datatype: URIRef, value: Any) -> None:
    """The error names the column, the datatype and the text."""
    with pytest.raises(RowError, match=f"'n' holds no valid {datatype}: '{value}'"):
        objects({"predicate": E, "datatype": str(datatype)}, {"n": value})


def test_a_template_with_a_null_makes_no_triple() -> None:
    """A NULL in the subject or the graph takes all triples away, one in an object only that triple."""
    table = {
        "subject": "http://e/{a}",
        "class": ["http://e/C", "http://e/D"],
        "predicates": {"n": {"predicate": "http://e/p", "object": "http://e/o/{b}"}},
        "graph": "http://e/g/{g}",
    }
    row = {"a": 1, "b": 2, "g": 3, "n": 4}
    graph = URIRef("http://e/g/3")
    types = [Quad(URIRef("http://e/1"), RDF.type, URIRef(f"http://e/{c}"), graph) for c in "CD"]
    about = Quad(URIRef("http://e/1"), URIRef("http://e/p"), URIRef("http://e/o/2"), graph)
    assert quads(table, row) == [*types, about]
    assert quads(table, {**row, "b": None}) == types
    assert quads(table, {**row, "a": None}) == quads(table, {**row, "g": None}) == []


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=8))
def test_a_template_makes_an_iri_of_any_text(text: str) -> None:
    """Whatever a column holds, the IRI is one that N-Triples can hold, and different texts give others."""
    (quad,) = quads({"subject": "http://e/{id}/x", "class": "http://e/C"}, {"id": text})
    write_quad(quad)
    assert quad.subject.startswith("http://e/")
    assert not set(quad.subject.removeprefix("http://e/").removesuffix("/x")) & set("/?#[]@!$&'()*+,;= <>\"")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a b", "a%20b"), ("a/b?c=d&e#f", "a%2Fb%3Fc%3Dd%26e%23f"), ("é日😀-._~", "é日😀-._~"), ("%", "%25"),
     ("\ufffe\x00\u0085", "%EF%BF%BE%00%C2%85"), ("\U000e0001", "%F3%A0%80%81")],
)  # fmt: skip
def test_a_template_encodes_as_r2rml_does(text: str, expected: str) -> None:
    """All but the unreserved characters of RFC 3987 are percent-encoded in UTF-8."""
    (quad,) = quads({"subject": "http://e/{id}", "class": "http://e/C"}, {"id": text})
    assert quad.subject == URIRef(f"http://e/{expected}")


TERMS = {"quads": {"subject": "s", "predicate": "p", "object": "o", "graph": "g"}}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"s": "<http://e/s>", "o": '"x"@en'}, (URIRef("http://e/s"), Literal("x", lang="en"), None)),
        ({"s": "_:b", "o": " _:c "}, (BNode("b"), BNode("c"), None)),
        ({"s": "_:b", "o": "_:c", "g": "<http://e/g>"}, (BNode("b"), BNode("c"), URIRef("http://e/g"))),
    ],
)
def test_columns_may_hold_whole_terms(values: Any, expected: Any) -> None:
    """A row of terms is one quad; without a graph it is in the default graph."""
    subject, object_, graph = expected
    values = {"p": "<http://e/p>", **values}
    assert quads(TERMS, values) == [Quad(subject, URIRef("http://e/p"), object_, graph)]
    assert quads(TERMS, {**values, "o": None}) == quads(TERMS, {**values, "s": None}) == []


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"s": '"x"'}, "the subject is the literal"),
        ({"s": 5}, "the column 's' must hold a term as text, not 5"),
        ({"p": "_:b"}, "the predicate is the blank node"),
        ({"o": "x"}, "the object must be an IRI"),
        ({"o": "<http://e/a> ."}, "the column 'o' continues after its term: '.'"),
        ({"o": ""}, "the object is missing"),
        ({"g": '"g"'}, "the graph is the literal"),
        ({"g": ["x"]}, "the column 'g' holds an array; a mapped column must hold text"),
        ({"g": {"x": 1}}, "the column 'g' holds an object"),
    ],
)
def test_a_column_that_holds_no_term_is_refused(change: Any, reason: str) -> None:
    """The error names the column or the role, and what it must hold."""
    with pytest.raises(RowError) as caught:
        quads(TERMS, {"s": "_:a", "p": "<http://e/p>", "o": "_:b", **change})
    assert reason in str(caught.value)


BAD_MAPPINGS = [
    ({}, "it maps no table"),
    ({"t": 5}, "table 't': it must be an object with subject and predicates, or quads, not 5"),
    ({"t": {}}, "give either 'subject' or 'quads'"),
    ({"t": {**SIMPLE, **TERMS}}, "give either 'subject' or 'quads'"),
    ({"t": {**TERMS, "graph": "http://e/g"}}, "'graph' goes with 'subject', not with 'quads'"),
    ({"t": {**SIMPLE, "predicate": {}}}, "'predicate' is unknown here; accepted: subject, class,"),
    ({"t": {"subject": "http://e/{id}"}}, "its rows produce no triples; give 'predicates' or 'class'"),
    ({"t": {**SIMPLE, "subject": "http://e/{}"}}, "'subject' has a place without a column's name"),
    ({"t": {**SIMPLE, "subject": "http://e/{a"}}, "must begin as an absolute IRI and have {column}"),
    ({"t": {**SIMPLE, "subject": "e/{a}"}}, "must begin as an absolute IRI"),
    ({"t": {**SIMPLE, "subject": "http://e/ {a}"}}, "'subject' must be an absolute IRI"),
    ({"t": {**SIMPLE, "subject": "http://e/one"}}, "no column identifies a row; name those of"),
    ({"t": {**SIMPLE, "key": [5]}}, "'key' must be text or a list of texts"),
    ({"t": {**SIMPLE, "class": "C"}}, "'class' must be an absolute IRI, not 'C'"),
    ({"t": {**SIMPLE, "graph": "g"}}, "'graph' must begin as an absolute IRI"),
    ({"t": {**SIMPLE, "predicates": []}}, "'predicates': it must be an object with columns and predicates"),
    ({"t": {**SIMPLE, "predicates": {"n": "p"}}}, "the predicate of column 'n' must be an absolute IRI"),
    ({"t": {**SIMPLE, "predicates": {"n": {}}}}, "'predicate' must be an IRI, not None"),
    ({"t": {**SIMPLE, "predicates": {"n": {"predicate": E, "lang": "en"}}}}, "'lang' is unknown here"),
    ({"t": {**SIMPLE, "predicates": {"n": {"predicate": E, "language": "e n"}}}}, "must be a language tag"),
    ({"t": {**SIMPLE, "predicates": {"n": {"predicate": E, "datatype": "x"}}}}, "'datatype' must be"),
    ({"t": {**SIMPLE, "predicates": {"n": {"predicate": E, "language": "en", "object": E}}}}, "exclude each"),
    ({"t": {"quads": {"subject": "s"}}}, "'predicate' must be the name of a column, not None"),
    ({"t": {"quads": {**TERMS["quads"], "g": "g"}}}, "'g' is unknown here; accepted: subject, predi"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "reason"), BAD_MAPPINGS)
def test_a_bad_mapping_is_refused_when_it_is_read(given: Any, reason: str, tmp_path: Path) -> None:
    """The error says where in the mapping, what was given and what is accepted; so it does for a file."""
    with pytest.raises(MappingError) as caught:
        read_mapping(given)
    assert reason in str(caught.value)
    path = tmp_path / "mapping.json"
    path.write_text(json.dumps(given))
    with pytest.raises(MappingError) as caught:
        read_mapping(path)
    assert reason in str(caught.value)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b'{"t": 1, "t": 2}', b"NaN", b"[" * 100_000])
def test_a_file_that_is_no_json_is_refused(content: bytes, tmp_path: Path) -> None:
    """It is a mapping error that names the file."""
    path = tmp_path / "mapping.json"
    path.write_bytes(content)
    with pytest.raises(MappingError, match=r"mapping\.json: "):
        read_mapping(str(path))


def test_a_mapping_is_found_by_the_longest_name() -> None:
    """Database, schema and table are asked for together, then without those in front, then as `*`."""
    tables = read_mapping(dict.fromkeys(("shop.public.t", "public.t", "t", "*"), SIMPLE))
    for name, expected in [
        (("shop", "public", "t"), "shop.public.t"),
        (("other", "public", "t"), "public.t"),
        (("other", "t"), "t"),
        (("t", "u"), "*"),
    ]:
        assert tables.find(name) is tables.tables[expected]
    assert read_mapping({"t": SIMPLE}).find(("t", "u")) is None


def test_a_mapping_may_be_a_file_a_dict_or_itself(tmp_path: Path) -> None:
    """The same mapping from each has the same digest; another mapping has another."""
    path = tmp_path / "m.json"
    path.write_text("\ufeff" + json.dumps({"t": SIMPLE}, indent=2), encoding="utf-8")
    mapping = read_mapping(path)
    assert mapping.digest == read_mapping({"t": dict(reversed(SIMPLE.items()))}).digest
    assert read_mapping(mapping) is mapping
    assert mapping.digest != read_mapping({"t": {**SIMPLE, "key": ["n"]}}).digest


def name(key: str, table: str = "t") -> RowName:
    return RowName((table,), key)


def test_a_shared_quad_goes_with_its_last_row() -> None:
    """It is inserted once, with the first of the rows that make it, and deleted once, with the last."""
    rows = HeldRows(read_mapping({"*": {**SIMPLE, "key": ["k"]}}), "form")
    row = {"id": Cell("1"), "n": Cell("x")}
    signs = []
    for edit_row in [
        lambda edit: edit.put(name("a"), row),
        lambda edit: edit.put(name("b", "u"), row),
        lambda edit: edit.put(name("c"), row, 3),
        lambda edit: edit.remove(name("a")),
        lambda edit: edit.clear(("u",)),
        lambda edit: edit.put(name("c"), row, 1),
        lambda edit: edit.remove(name("c")),
    ]:
        edit = RowEdit(rows)
        edit_row(edit)
        decoded = edit.finish()
        signs.append([sign for sign, _ in decoded.changes])
    assert signs == [[1], [], [], [], [], [], [-1]]
    assert decoded.kept == {name("c").to_kept(): None, "mapping": None}
    assert not rows
    assert not rows._support  # or a mirror of ever new rows would grow without end


def encoded(number: int) -> str:
    return base64.b64encode(number.to_bytes(number.bit_length() // 8 + 1, signed=True)).decode()


def logical(kind: str, **parameters: str) -> dict[str, Any]:
    return {"type": "any", "name": kind, "parameters": parameters}


INTERVAL = {"type": "string", "name": "io.debezium.time.Interval"}
PARTS = re.compile(r"(-?)P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)D)?T(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?")
VARIABLE = "io.debezium.data.VariableScaleDecimal"
DECIMAL = "org.apache.kafka.connect.data.Decimal"
TIME = "io.debezium.time"


@pytest.mark.parametrize(
    ("value", "schema", "expected"),
    [
        (encoded(12345), logical(DECIMAL, scale="2"), ("123.45", "decimal")),
        (encoded(-5), logical(DECIMAL, scale="3"), ("-0.005", "decimal")),
        (encoded(7), logical(DECIMAL, scale="-2"), ("700", "decimal")),
        (encoded(10**60 + 1), logical(DECIMAL, scale="0"), (str(10**60 + 1), "decimal")),
        ({"scale": 1, "value": encoded(15)}, logical(VARIABLE), ("1.5", "decimal")),
        (0, logical(f"{TIME}.Date"), ("1970-01-01", "date")),
        (-1, logical("org.apache.kafka.connect.data.Date"), ("1969-12-31", "date")),
        (2932897, logical(f"{TIME}.Date"), ("10000-01-01", "date")),
        (-719528, logical(f"{TIME}.Date"), ("0000-01-01", "date")),
        (1529507596945, logical(f"{TIME}.Timestamp"), ("2018-06-20T15:13:16.945", "dateTime")),
        (1529507596945104, logical(f"{TIME}.MicroTimestamp"), ("2018-06-20T15:13:16.945104", "dateTime")),
        (10**9 + 1, logical(f"{TIME}.NanoTimestamp"), ("1970-01-01T00:00:01.000000001", "dateTime")),
        (-1, logical("org.apache.kafka.connect.data.Timestamp"), ("1969-12-31T23:59:59.999", "dateTime")),
        ("2018-06-20T13:13:16.9Z", logical(f"{TIME}.ZonedTimestamp"), ("2018-06-20T13:13:16.9Z", "dateTime")),
        ("10:15:30Z", logical(f"{TIME}.ZonedTime"), ("10:15:30Z", "time")),
        (54_796_000, logical(f"{TIME}.Time"), ("15:13:16", "time")),
        (54_796_000_500, logical(f"{TIME}.MicroTime"), ("15:13:16.0005", "time")),
        (86_400_000, logical("org.apache.kafka.connect.data.Time"), ("24:00:00", "time")),
        (2024, logical(f"{TIME}.Year"), ("2024", "gYear")),
        (1, {"type": "double"}, ("1.0", "double")),
        (Decimal("1.5"), {"type": "float"}, ("1.5", "float")),
        ("AQI=", {"type": "bytes"}, ("AQI=", "base64Binary")),
        ("AQI=", {"type": "bytes", "name": "io.debezium.data.Bits"}, ("AQI=", "base64Binary")),
        ("a-b", {"type": "string", "name": "io.debezium.data.Uuid"}, ("a-b", "")),
        (5, {"type": "int64"}, ("5", "integer")),
        ("9007199254740993", {"type": "int64"}, ("9007199254740993", "integer")),
        ("-128", {"type": "int8"}, ("-128", "integer")),
        ("17000", logical(f"{TIME}.Date"), ("2016-07-18", "date")),
        (1500, {"type": "int64", "name": f"{TIME}.MicroDuration"}, ("1500", "integer")),
        (False, {"type": "boolean"}, ("false", "boolean")),
        ("NaN", {"type": "double"}, ("NaN", "double")),
        ("Infinity", {"type": "double"}, ("INF", "double")),
        ("-Infinity", {"type": "float"}, ("-INF", "float")),
        (Decimal("-0.0"), {"type": "double"}, ("-0.0", "double")),
        ("NaN", {"type": "string"}, ("NaN", "")),
        (Decimal("1.50"), logical(DECIMAL, scale="2"), ("1.50", "decimal")),
        (Decimal("1E+3"), logical(DECIMAL, scale="-3"), ("1000", "decimal")),
        (7, logical(DECIMAL, scale="0"), ("7", "decimal")),
        ("<a/>", {"type": "string", "name": "io.debezium.data.Xml"}, ("<a/>", "")),
        ('{"a": 1}', {"type": "string", "name": "io.debezium.data.Json"}, ('{"a": 1}', "")),
        ("red", {"type": "string", "name": "io.debezium.data.Enum"}, ("red", "")),
        ("+12024-02-29T01:02:03Z", logical(f"{TIME}.ZonedTimestamp"), ("12024-02-29T01:02:03Z", "dateTime")),
        ("2018-06-20Z", logical(f"{TIME}.IsoDate"), ("2018-06-20Z", "date")),
        ("P1Y2M3DT4H5M6.78S", INTERVAL, ("P1Y2M3DT4H5M6.78S", "duration")),
        ("P-1Y-2M-3DT-4H-5M-6.5S", INTERVAL, ("-P14MT273906.5S", "duration")),
        ("P0Y0M1DT-1H0M0S", INTERVAL, ("P0MT82800S", "duration")),
        (5, {}, ("5", "integer")),
        (5, {"name": ["odd"], "type": {"odd": 1}}, ("5", "integer")),
    ],
)  # fmt: skip
def test_a_schema_gives_a_value_its_meaning(value: Any, schema: Any, expected: tuple[str, str]) -> None:
    """Decimals, dates and times become literals of XML Schema, exactly."""
    assert to_cell_by_schema(value, schema) == Cell(*expected)


@pytest.mark.parametrize(
    ("value", "schema", "reason"),
    [
        ("!", logical(DECIMAL, scale="2"), f"is not a valid {DECIMAL}: it must be bytes in base 64, not '!'"),
        ("AQ==", logical(DECIMAL), "the scale None, which must be a short integer"),
        ("AQ==", logical(DECIMAL, scale="999999999"), "the scale is 999999999; accepted are -1000 to 1000"),
        (base64.b64encode(b"\x7f" * 4000).decode(), logical(DECIMAL, scale="0"), "it has too many digits"),
        ("AQ==", logical(VARIABLE), "it must be an object with 'scale'"),
        ("x", logical(f"{TIME}.Date"), "it must be an integer of 64 bits, not 'x'"),
        (1 << 63, logical(f"{TIME}.Timestamp"), "it must be an integer of 64 bits"),
        (-1, logical(f"{TIME}.Time"), "it must be a time of the day, from 0 to 86400000, not -1"),
        (5, logical(f"{TIME}.ZonedTimestamp"), "it must be text, not 5"),
        ("1.5", {"type": "double"}, "is not a valid double: it must be a number, not '1.5'"),
        (10**400, {"type": "double"}, "is beyond the range of xsd:double"),
        (Decimal("1e400"), {}, "is beyond the range of xsd:double"),
        ("nan", {"type": "double"}, "is not a valid double: it must be a number, not 'nan'"),
        (True, {"type": "float"}, "is not a valid float: it must be a number, not True"),
        (Decimal("3.5e38"), {"type": "float"}, "is beyond the range of xsd:float"),
        (128, {"type": "int8"}, "is not a valid int8: it must be an integer of 8 bits, not 128"),
        ("2147483648", {"type": "int32"}, "it must be an integer of 32 bits, not '2147483648'"),
        ("1.0", {"type": "int64"}, "it must be an integer of 64 bits, not '1.0'"),
        (Decimal("1.0"), {"type": "int16"}, "it must be an integer of 16 bits"),
        (True, {"type": "int32"}, "it must be an integer of 32 bits, not True"),
        (1, {"type": "boolean"}, "is not a valid boolean: it must be true or false, not 1"),
        ("true", {"type": "boolean"}, "it must be true or false, not 'true'"),
        (5, {"type": "string"}, "is not a valid string: it must be text, not 5"),
        (5, {"type": "bytes"}, "it must be bytes in base 64, not 5"),
        ("NaN", logical(DECIMAL, scale="2"), "it must be bytes in base 64"),
        (Decimal("1e5000"), logical(DECIMAL, scale="2"), "the scale is -5000; accepted are -1000 to 1000"),
        (True, logical(DECIMAL, scale="2"), "it must be bytes in base 64, not True"),
        ("infinity", logical(f"{TIME}.ZonedTimestamp"), "'infinity' is not a valid xsd:dateTime"),
        ("2023-02-29T01:02:03Z", logical(f"{TIME}.IsoTimestamp"), "is not a valid xsd:dateTime"),
        ("25:00:00Z", logical(f"{TIME}.ZonedTime"), "is not a valid xsd:time"),
        ("P1M-2D", INTERVAL, "months and days of different signs"),
        ("P", INTERVAL, "it must be an interval such as"),
        ("1 day", INTERVAL, "it must be an interval such as"),
        ({"x": 1, "y": 2}, {"type": "struct", "name": "io.debezium.data.geometry.Point"}, "holds an object"),
        ("!", {"type": "bytes"}, "it must be bytes in base 64"),
        ([1], {"type": "array"}, "holds an array"),
    ],
)
def test_a_value_that_does_not_fit_its_schema_is_refused(value: Any, schema: Any, reason: str) -> None:
    """The error says which type it should have and what was given."""
    with pytest.raises(RowError) as caught:
        to_cell_by_schema(value, schema)
    assert reason in str(caught.value)


@given(st.floats(), st.floats(width=32), st.integers(-(1 << 63), (1 << 63) - 1))
def test_numbers_are_those_that_the_converter_of_kafka_wrote(
    double: float, single: float, whole: int
) -> None:
    """Where JSON has no number for one, it writes the name that Java has for it."""
    for number, kind in ((double, "double"), (single, "float")):
        names = {math.inf: "Infinity", -math.inf: "-Infinity"}
        written = "NaN" if math.isnan(number) else names.get(number) or Decimal(repr(number))
        literal = to_cell_by_schema(written, {"type": kind}).to_literal()
        assert literal.datatype == XSD[kind]
        assert repr(float(str(literal))) == repr(number)
        assert math.isfinite(number) or str(literal) in ("NaN", "INF", "-INF")
    for written in (whole, str(whole)):
        assert to_cell_by_schema(written, {"type": "int64"}) == Cell(str(whole), "integer")


@given(st.lists(st.integers(-40, 40), min_size=6, max_size=6))
def test_intervals_last_as_long_as_their_parts(parts: list[int]) -> None:
    """Months and seconds are added up apart, as XML Schema has them."""
    text = "P{}Y{}M{}DT{}H{}M{}.5S".format(*parts[:5], abs(parts[5]))
    months = 12 * parts[0] + parts[1]
    seconds = 86_400 * parts[2] + 3_600 * parts[3] + 60 * parts[4] + abs(parts[5]) + Fraction(1, 2)
    if months * seconds < 0:
        with pytest.raises(RowError, match="different signs"):
            to_cell_by_schema(text, INTERVAL)
        return
    literal = to_cell_by_schema(text, INTERVAL).to_literal()
    numbers = [Fraction(number or 0) for number in PARTS.fullmatch(str(literal)).groups()[1:]]  # type: ignore[union-attr]  # or it fails
    sign = -1 if str(literal).startswith("-") else 1
    assert sign * (12 * numbers[0] + numbers[1]) == months
    assert sign * (86_400 * numbers[2] + 3_600 * numbers[3] + 60 * numbers[4] + numbers[5]) == seconds


@given(st.integers(-719_162, 2_932_896), st.integers(0, 86_399_999_999))
def test_days_and_ticks_are_those_of_the_calendar(day: int, ticks: int) -> None:
    """In the years that Python knows, its calendar gives the same dates and times."""
    expected = date(1970, 1, 1) + timedelta(days=day)
    assert to_cell_by_schema(day, logical(f"{TIME}.Date")).text == expected.isoformat()
    moment = datetime.combine(expected, datetime.min.time()) + timedelta(microseconds=ticks)
    text = to_cell_by_schema(86_400_000_000 * day + ticks, logical(f"{TIME}.MicroTimestamp")).text
    assert datetime.fromisoformat(text) == moment


@given(st.integers(-(10**30), 10**30), st.integers(-20, 20))
def test_a_decimal_is_exact(unscaled: int, scale: int) -> None:
    """The bytes and the scale give the number that they were made of."""
    text = to_cell_by_schema(encoded(unscaled), logical(DECIMAL, scale=str(scale))).text
    assert Fraction(text) == Fraction(unscaled) / Fraction(10) ** scale
    assert "E" not in text


def test_nanoseconds_are_not_cut_off() -> None:
    """A literal of a time keeps what rdflib would round away."""
    assert str(Cell("2018-06-20T15:13:16.000000001", "dateTime").to_literal()).endswith(".000000001")


@pytest.mark.parametrize(("form", "factory"), [(DEBEZIUM, "debezium"), (DELTA_LAKE, "delta_lake")])
def test_a_format_of_rows_says_that_it_needs_a_mapping(form: FeedFormat, factory: str) -> None:
    """The bare format, as it is found by name, refuses with what to pass."""
    with pytest.raises(RdfliveError, match=rf"--mapping FILE .*rdflive\.feeds\.{factory}\(mapping\)"):
        list(read_entries(form, [Line("{}", 1)], "feed"))
    with pytest.raises(MappingError, match="'any' needs a mapping"):
        needs_mapping("any", "any")()
