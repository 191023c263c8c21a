"""JSON values, one per line."""

from __future__ import annotations

import json
from contextlib import suppress
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdflive.feeds import Line, RowError
from rdflive.feeds.json_lines import UnitPlace, group, member, optional, read_object, read_value

VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("null", None),
        (" [1, -2]\t", [1, -2]),
        ("1.50", Decimal("1.50")),
        ("1e400", Decimal("1e400")),
        (r'"\ud83d\ude00"', "😀"),
        (r'"\\ud800"', r"\ud800"),
        ('{"a": {"b": true}}', {"a": {"b": True}}),
    ],
)
def test_value_keeps_every_digit(text: str, expected: object) -> None:
    """Values are those of JSON, and numbers with a fraction or an exponent lose nothing."""
    value = read_value(Line(text, 1))
    assert value == expected
    assert str(value) == str(expected)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON: Expecting value at column 1"),
        ("nul", "not JSON: Expecting value at column 1"),
        ('{"a": 1} {"b": 2}', "not JSON: Extra data at column 10"),
        ("NaN", "NaN is no JSON value"),
        ("[-Infinity]", "-Infinity is no JSON value"),
        ("1e999999999999999999999", "the number 1e999999999999999999999 is beyond any range"),
        ("7" * 5000, "the JSON value holds a number that is too long"),
        ("[" * 100_000, "the JSON value is nested too deeply"),
        ('{"a": ' * 50_000, "the JSON value is nested too deeply"),
        (r'"\ud800"', "a string has an escape that is no character"),
        (r'{"a": [{"\udc00": 1}]}', "a string has an escape that is no character"),
        ('{"a": 1, "b": 2, "a": 3}', "an object has the key 'a' twice"),
    ],
)
def test_value_that_is_none_is_refused(text: str, reason: str) -> None:
    """The error says why, and names the line."""
    with pytest.raises(RowError) as caught:
        read_value(Line(text, 7))
    assert str(caught.value).startswith(reason)
    assert caught.value.line == 7


@pytest.mark.parametrize("number", range(5))
def test_pretty_printed_json_is_told_how_to_be_written(number: int) -> None:
    """Every line of an indented object gets the advice to write it as one line."""
    text = json.dumps({"a": [1], "b": 2}, indent=1).splitlines()[number]
    if text.strip() == "1":
        return  # a number is a whole value
    with pytest.raises(
        RowError, match="each line must hold one complete JSON value; write it without line breaks"
    ):
        read_value(Line(text, 1))


@pytest.mark.parametrize(("text", "kind"), [("[]", "an array"), ("5", "an integer"), ("null", "null")])
def test_object_is_demanded(text: str, kind: str) -> None:
    """Other values are named in the error."""
    with pytest.raises(RowError, match=f"the line must hold a JSON object, not {kind}"):
        read_object(Line(text, 1))


@given(VALUES)
def test_what_json_writes_is_read_again(value: object) -> None:
    """Random values, written by the standard library, are the same values."""
    assert read_value(Line(json.dumps(value), 1)) == value
    assert read_value(Line(json.dumps(value, ensure_ascii=False), 1)) == value


@given(st.one_of(st.text(alphabet='{}[]",:\\ud8019.eE+-ntrufalsNI \t', max_size=40), st.text()))
def test_any_text_is_a_value_or_a_row_error(text: str) -> None:
    """No text makes the reader fail in another way, or gives half a character."""
    with suppress(RowError):
        json.dumps(read_value(Line(text, 1)), ensure_ascii=False, default=str).encode()


@pytest.mark.parametrize(
    ("record", "kind", "reason"),
    [
        ({}, int, "the record lacks 'x', which must be an integer"),
        ({"x": True}, int, "'x' of the record must be an integer, not true or false"),
        ({"x": Decimal("1.0")}, int, "'x' of the record must be an integer, not a number"),
        ({"x": None}, str, "'x' of the record must be a string, not null"),
        ({"x": []}, dict, "'x' of the record must be an object, not an array"),
        ({"x": 1}, bool, "'x' of the record must be true or false, not an integer"),
    ],
)
def test_member_of_another_kind_is_refused(record: dict[str, object], kind: type, reason: str) -> None:
    """The error says what is there and what must be."""
    with pytest.raises(RowError) as caught:
        member(record, "x", kind)
    assert str(caught.value) == reason


def test_optional_member_may_be_null() -> None:
    """Absent and null are None; another kind is refused as ever."""
    assert optional({}, "x", int) is None
    assert optional({"x": None}, "x", int) is None
    assert optional({"x": 5}, "x", int) == 5
    with pytest.raises(RowError, match="must be an integer"):
        optional({"x": ""}, "x", int)


def place(line: Line) -> UnitPlace:
    """Read `unit`, with `<` for its first record and `>` for its last."""
    if "?" in line.text:
        raise RowError("no place")
    return UnitPlace(line.text.strip("<>"), line.text.startswith("<"), line.text.endswith(">"))


@pytest.mark.parametrize(
    ("records", "expected"),
    [
        ("", ""),
        ("<a>", "<a>"),
        ("<a a a> <b>", "<a a a>|<b>"),
        ("<a <b b>", "<a|<b b>"),
        ("<a <a a>", "<a|<a a>"),
        ("<a a", "<a a"),
        ("<a ? a>", "<a ?|a>"),
        ("? <a>", "?|<a>"),
        ("a> b>", "a>|b>"),
    ],
)
def test_records_of_a_unit_are_grouped(records: str, expected: str) -> None:
    """A unit ends with its last record, before another one's, and with a record that has no place."""
    lines = [Line(text, number) for number, text in enumerate(records.split(), start=1)]
    frames = list(group(iter(lines), place))
    assert "|".join(" ".join(line.text for line in frame) for frame in frames) == expected
