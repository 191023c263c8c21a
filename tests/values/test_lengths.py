"""Values of any length: what the table of functions does grows by no more than the length."""

from __future__ import annotations

import sys
from decimal import Decimal
from functools import lru_cache
from typing import Any

import pytest
from rdflib import XSD, Literal, URIRef

from rdflive.model import exact_literal
from rdflive.query.expressions.functions import FUNCTIONS, PREDICATES
from rdflive.values import Duration, Moment, number, value_of
from rdflive.values.arithmetic import calculate
from rdflive.values.casts import CASTS
from rdflive.values.datatypes import DATATYPES
from rdflive.values.numbers import MOST_DIGITS, ceil, floor, round_half_up

LENGTHS = (1_000, 10_000, 100_000, 1_000_000)
FORMS = (
    "{9}", "-{9}", "{0}1", "{9}.5", "0.{3}", "0.{0}1", "1e{9}", "1e-{9}", "{9}e5", "{9}.1e-{9}", "{9}-01-01",
    "{9}-01-01T00:00:00Z", "2000-01-01T00:00:00.{3}Z", "P{9}Y", "P{9}D", "PT{9}S", "PT0.{9}S", "-P{9}M",
)  # fmt: skip
BY_PYTHON = ("Builtin_REPLACE", "Builtin_REGEX")
"""Without a budget Python's engine matches, whose time no length bounds."""


def written(form: str, length: int) -> str:
    for digit in "039":
        form = form.replace(f"{{{digit}}}", digit * length)
    return form


def size(value: Any) -> int:
    """The digits of a value, which Python may convert in quadratic time."""
    match value:
        case Decimal():
            return len(value.as_tuple().digits) + abs(int(value.as_tuple().exponent))
        case bool() | float() | str():
            return 0
        case int():
            return value.bit_length() * 3 // 10
        case Moment(instant, _):
            return size(instant)
        case Duration(months, seconds):
            return size(months) + size(seconds)
    raise TypeError(type(value))


@pytest.mark.parametrize("datatype", sorted(DATATYPES))
def test_no_value_is_longer_than_the_bound(datatype: str) -> None:
    """A longer literal has no value, so that each function of it is an error."""
    for form in FORMS:
        for length in (MOST_DIGITS, MOST_DIGITS + 1, *LENGTHS):
            found = value_of(exact_literal(written(form, length), datatype=datatype))
            # a day has 86,400 seconds, and a moment a fraction beside its year
            assert found is None or size(found[1]) <= 2 * MOST_DIGITS + 10, (form, length)


def test_numbers_up_to_the_bound_are_exact() -> None:
    """Rounding and casting keep every digit."""
    digits = "7" * (MOST_DIGITS - 2)
    decimal = Decimal(f"{digits}.5")
    assert [format(f(decimal), "f") for f in (floor, ceil, round_half_up)] == [
        digits,
        digits[:-1] + "8",
        digits[:-1] + "8",
    ]
    assert round_half_up(-decimal) == -Decimal(digits)
    cast = CASTS[XSD.integer](exact_literal(f"{digits}.5", datatype=str(XSD.decimal)))
    assert str(cast) == digits
    negative = CASTS[XSD.integer](exact_literal("-0.5", datatype=str(XSD.decimal)))
    assert str(negative) == "0"
    product = calculate("*", Literal(10 ** (MOST_DIGITS // 2)), Literal(10 ** (MOST_DIGITS // 2 - 1)))
    assert number(product) == 10 ** (MOST_DIGITS - 1)


@lru_cache
def terms(length: int) -> list[Literal]:
    datatypes = (None, XSD.integer, XSD.decimal, XSD.double, XSD.float, XSD.dateTime, XSD.duration)
    return [
        exact_literal(written(form, length), datatype=datatype) for form in FORMS for datatype in datatypes
    ]


def calls(function: Any, *arguments: Any) -> int:
    """The number of calls that a function makes, of Python's and of C's functions."""
    count = 0

    def note(_: Any, event: str, __: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        function(*arguments)
    except Exception:  # noqa: BLE001 - an error of SPARQL
        pass
    finally:
        sys.setprofile(None)
    return count


UNARY = {**FUNCTIONS, **PREDICATES, **{str(name): cast for name, cast in CASTS.items()}}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", sorted(UNARY))
def test_steps_do_not_grow_with_the_length(name: str) -> None:
    """A function makes as few calls for 100,000 characters as for a thousand, whatever they are."""
    if name in BY_PYTHON:
        pytest.skip("it calls the engine once for each match")
    function = UNARY[name]
    code = getattr(function, "__code__", None)
    fewest = code.co_argcount - len(function.__defaults__ or ()) if code else 1
    for short, long in zip(terms(1_000), terms(100_000), strict=True):
        for count in {1, 2} if fewest <= 1 else {fewest}:
            others: list[Any] = [URIRef(XSD.decimal) if name == "Builtin_STRDT" else Literal("1")] * (
                count - 1
            )
            few, many = calls(function, short, *others), calls(function, long, *others)
            assert many <= 2 * few + 200, (short[:20], short.datatype)
