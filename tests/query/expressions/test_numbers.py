"""The numbers that literals stand for, and the context they are calculated in."""

from __future__ import annotations

import decimal
import math
from collections import Counter
from collections.abc import Callable
from decimal import Context, Decimal
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import XSD, Literal
from rdflib.plugins.sparql.operators import register_custom_function, unregister_custom_function
from rdflib.term import Node, URIRef

from rdflive.query.aggregates import make_accumulator
from rdflive.query.expressions import Expression
from rdflive.query.ordering import term_key
from rdflive.values import Single, number
from support.expressions import Numbers, evaluate, node


def typed(lexical: str, name: str) -> Literal:
    return Literal(lexical, datatype=XSD[name], normalize=False)


ILL_FORMED = [
    typed("1_000", "integer"),
    typed("1_0", "byte"),
    typed("\uff11\uff12", "integer"),
    typed("\u0663", "short"),
    typed("1.0", "integer"),
    typed("300", "byte"),
    typed("0", "positiveInteger"),
    typed("\xa01", "integer"),
    typed("", "integer"),
    typed("1E3", "decimal"),
    typed("1E300000", "decimal"),
    typed("1_0.5", "decimal"),
    typed("NaN", "decimal"),
    typed(".", "decimal"),
    typed("1_0.5", "double"),
    typed("Infinity", "double"),
    typed("+NaN", "double"),
    typed("1e", "float"),
    typed("1" * 5000, "integer"),
    typed(" 12", "integer"),
    typed("1.5\n", "decimal"),
    typed("\t1.5e3", "double"),
]
NUMERALS: list[tuple[Literal, object]] = [
    (typed("+12", "integer"), 12),
    (typed("-0", "nonPositiveInteger"), 0),
    (typed("18446744073709551615", "unsignedLong"), 2**64 - 1),
    (typed("1.", "decimal"), Decimal(1)),
    (typed("-.50", "decimal"), Decimal("-.50")),
    (typed("1.5e3", "double"), 1500.0),
    (typed(".5", "float"), Single(0.5)),
    (typed("INF", "double"), math.inf),
    (typed("-INF", "float"), Single(-math.inf)),
    (typed("+INF", "double"), math.inf),
    (Literal(0.1, datatype=XSD.decimal), Decimal("0.1")),
    (Literal(2, datatype=XSD.double), 2.0),
    (Literal(math.inf), math.inf),
    (Literal(-math.inf, datatype=XSD.float), Single(-math.inf)),
    (Literal(Decimal("1E+30")), Decimal("1000000000000000000000000000000")),
    (Literal(1e-7), 1e-7),
    (Literal(3, datatype=XSD.decimal), Decimal(3)),
    (Literal(300, datatype=XSD.byte), None),
    (Literal(1.5, datatype=XSD.integer), None),
    (Literal("3"), None),
    (Literal(True), None),
    (typed("NaN", "double"), math.nan),
    (Literal(math.nan), math.nan),
]


@pytest.mark.parametrize("literal", ILL_FORMED)
def test_number_is_none_for_forms_that_only_python_knows(literal: Literal) -> None:
    """A literal that XML Schema cannot read is no number to functions, casts, aggregates and the order."""
    assert number(literal) is None
    assert evaluate("isNUMERIC(?x)", x=literal) == Literal(False)
    assert evaluate("!?x", x=literal) == Literal(True)
    for text in ("?x + 1", "?x = 1", "?x < 1", "ABS(?x)", "xsd:integer(?x)", "xsd:double(?x)"):
        assert evaluate(text, x=literal) is None
    total = make_accumulator("SUM", distinct=False)()
    total.add(literal, 1)
    assert total.result() is None
    assert term_key(literal) == (3, str(literal.datatype), 1, str(literal))


@pytest.mark.parametrize(("literal", "value"), NUMERALS)
def test_number_reads_lexical_forms(literal: Literal, value: object) -> None:
    """Literals made from Python's numbers count as rdflib spells them."""
    found = number(literal)
    assert found == value or (found != found and value != value)
    assert type(found) is type(value)


CALCULATIONS = """?x / 3
?x + 0.00000001
?x - 1
?x * ?x
-?x
+?x
ABS(?x)
CEIL(?x)
FLOOR(?x)
ROUND(?x)
ROUND(0.49999999999999994e0)
xsd:integer(?x)
xsd:decimal(?x)
xsd:decimal(1.23456789e0)
xsd:double(?x)
xsd:string(?x)
SUBSTR("abc", 1.4999999)
SECONDS("2020-01-01T00:00:13.815Z"^^xsd:dateTime)
"P14M"^^xsd:yearMonthDuration = "P1Y2M"^^xsd:duration
"2020-01-01"^^xsd:date + "P14M"^^xsd:yearMonthDuration
?x < 123456.7890124
!(?x - 123456.7890123)
<urn:third>(?x)""".splitlines()
STRANGE = [
    Context(prec=2),
    Context(prec=60),
    Context(prec=1, rounding=decimal.ROUND_UP),
    Context(prec=28, Emax=1, Emin=-1),
    Context(capitals=0),
    Context(traps=list(Context().traps)),
]


@pytest.mark.parametrize("strange", STRANGE, ids=str)
@pytest.mark.parametrize("text", CALCULATIONS)
def test_value_does_not_depend_on_the_context_of_the_thread(text: str, strange: Context) -> None:
    """A thread of another precision computes what every other thread computes."""
    name = URIRef("urn:third")
    register_custom_function(name, lambda term: Literal(term.value / 3))
    try:
        expression = node(text)
        x = Literal(Decimal("123456.7890123"))
        expected = evaluate(expression, x=x)
        assert expected is not None
        with decimal.localcontext(strange):
            assert evaluate(expression, x=x) == expected
    finally:
        unregister_custom_function(name)


@pytest.mark.parametrize("strange", STRANGE, ids=str)
def test_aggregates_do_not_depend_on_the_context_of_the_thread(strange: Context) -> None:
    """A sum and a mean of decimals is the same in a thread of another precision."""
    for name in ("SUM", "AVG"):
        total = make_accumulator(name, distinct=False)()
        with decimal.localcontext(strange):
            for value in ("123456.789", "0.0000001", "1"):
                total.add(typed(value, "decimal"), 1)
            result = total.result()
        assert result == total.result()


@given(st.decimals(allow_nan=False, allow_infinity=False, places=20, min_value=-(10**30), max_value=10**30))
def test_sign_and_rounding_lose_no_digit(value: Decimal) -> None:
    """Signs and whole numbers of decimals of any length are exact."""
    x = Literal(value)
    numerator, denominator = value.as_integer_ratio()
    assert number(evaluate("-(-?x)", x=x)) == value
    assert number(evaluate("ABS(?x)", x=x)) == value.copy_abs()
    whole = (2 * numerator + denominator) // (2 * denominator)  # halves go up
    assert number(evaluate("ROUND(?x)", x=x)) == whole


ILL_FORMED_MOMENTS = [
    typed("2020-01-01", "dateTime"),
    typed("2020-01-01T00", "dateTime"),
    typed("20200101T000000", "dateTime"),
    typed("2020-W01-1T00:00:00", "dateTime"),
    typed("2020-01-01T00:00:00+0100", "dateTime"),
    typed("2020-01-01T00:00:00", "date"),
    typed("10:00", "time"),
]


@pytest.mark.parametrize("literal", ILL_FORMED_MOMENTS)
def test_moment_is_ill_formed_without_all_its_parts(literal: Literal) -> None:
    """Forms of ISO 8601 that XML Schema does not take stand for no moment."""
    for text in ("?x < ?x", "YEAR(?x)", "HOURS(?x)", "TZ(?x)", "TIMEZONE(?x)", "xsd:dateTime(?x)"):
        assert evaluate(text, x=literal) is None
    assert evaluate('?x + "P1D"^^xsd:dayTimeDuration', x=literal) is None
    assert term_key(literal) == (3, str(literal.datatype), 1, str(literal))


def deeper(levels: int, call: Callable[[], Any]) -> Any:
    return deeper(levels - 1, call) if levels else call()


def levels_left() -> int:
    """How often `deeper` may call itself here, with something else called at the end."""
    levels = 0
    while True:
        try:
            deeper(levels, lambda: None)
        except RecursionError:
            return levels - 1
        levels += 1


def test_long_chain_needs_no_deep_stack() -> None:
    """A sum of 80 operands has its value close to the limit of the stack."""
    expression = Expression(node(" + ".join(["?x"] * 80)))
    terms = Numbers()
    ids = (terms.intern(Literal(2)),)
    result = deeper(levels_left() - 40, partial(expression.term({"x": 0}, terms), ids))
    assert result == Literal(160)


class Broken(Numbers):
    """Terms of which none can be held, nor interned."""

    def value(self, number: int, /) -> Node | None:
        raise ValueError(f"no term {number}")

    def intern(self, term: Node, /) -> int:
        raise ValueError(f"no id for {term!r}")


@pytest.mark.parametrize("text", ["?x + 1", "?x = 1", "?x IN (1)", "STR(?x)", "IF(?x, 1, 2)", "1 + 1"])
def test_nothing_that_python_raises_leaves_an_expression(text: str) -> None:
    """A term that cannot be held is an error of the expression."""
    expression, terms = Expression(node(text)), Broken()
    assert expression.condition({"x": 0}, terms)((1,)) is (text == "1 + 1")
    assert expression.value({"x": 0}, terms)((1,)) == 0
    assert (expression.term({"x": 0}, terms)((1,)) is None) is (text != "1 + 1")
    # others may stand in for it
    for text in ("COALESCE(?x, true)", "?x || true", "true || ?x", "1 IN (?x, 1)"):
        assert Expression(node(text)).condition({"x": 0}, Broken())((1,))


def test_stack_that_overflows_gives_no_other_value() -> None:
    """However little of the stack is left, the value is right, or RecursionError says that there is none."""
    expression = Expression(node("(((?x + 1) * 2) = 4 || !(?x < 3)) && STRLEN(STR(?x)) > 0"))
    terms = Numbers()
    ids = (terms.intern(Literal(1)),)
    calls: list[Any] = [
        expression.condition({"x": 0}, terms),
        expression.value({"x": 0}, terms),
        expression.term({"x": 0}, terms),
    ]

    expected, left = [call(ids) for call in calls], levels_left()
    outcomes: Counter[bool] = Counter()
    for room in range(60):
        for call, value in zip(calls, expected, strict=True):
            try:
                found = deeper(left - room, partial(call, ids))
            except RecursionError:
                outcomes[False] += 1
            else:
                assert found == value
                outcomes[True] += 1
    assert min(outcomes[True], outcomes[False]) > 0


def test_sum_of_long_decimals_is_quick() -> None:
    """A decimal of very many digits slows the sum of ordinary ones neither while it is there nor after."""
    total = make_accumulator("SUM", distinct=False)()
    long = [typed("1" + "0" * 100_000, "decimal"), typed(f"0.{'0' * 100_000}1", "decimal")]
    for literal in long:
        total.add(literal, 1)
    for _ in range(500):
        total.add(typed("0.1", "decimal"), 1)
    for literal in long:
        total.add(literal, -1)
    assert total.result() == typed("50.0", "decimal")
