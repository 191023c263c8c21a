"""Numbers: single precision, promotions, order and texts, against exact fractions."""

from __future__ import annotations

import math
import operator
import struct
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rdflib import XSD, Literal

from rdflive.model import exact_literal
from rdflive.values import Single, compare, near, normal, number, number_literal, order_key
from rdflive.values.casts import CASTS
from rdflive.values.numbers import calculate, number_order, number_text, promoted, shortest_text, to_single

EXACT = (
    st.integers(-(2**70), 2**70)
    | st.decimals(allow_nan=False, allow_infinity=False, places=12, min_value=-(10**9), max_value=10**9)
    | st.floats(allow_nan=False, allow_infinity=False, min_value=-1e38, max_value=1e38)
)
SINGLES = st.floats(width=32, allow_nan=False, allow_infinity=False).map(Single)
NUMBERS = EXACT | SINGLES | st.sampled_from([math.inf, -math.inf, Single(math.inf), Single(-math.inf), 1e39])


def neighbours(value: float) -> tuple[float, float]:
    """Give the numbers of single precision beside one."""
    (bits,) = struct.unpack("<i", struct.pack("<f", value))
    return tuple(struct.unpack("<f", struct.pack("<i", bits + step))[0] for step in (-1, 1))  # type: ignore[return-value]


@given(EXACT)
def test_single_precision_rounds_once_to_the_nearest(value: int | Decimal | float) -> None:
    """No neighbour is nearer, and of two as near the even one is taken."""
    found = to_single(value)
    assert struct.unpack("<f", struct.pack("<f", found))[0] == found
    if not found:
        return
    distance = abs(Fraction(value) - Fraction(found))
    (bits,) = struct.unpack("<i", struct.pack("<f", found))
    for beside in neighbours(found):
        other = abs(Fraction(value) - Fraction(beside))
        assert distance < other or (distance == other and bits % 2 == 0)


@pytest.mark.parametrize(
    "tie", [16777217, 16777219, Decimal("16777217.000000000001"), Decimal("16777216.999999999999")]
)
def test_ties_of_single_precision(tie: int | Decimal) -> None:
    """A hair beside a tie decides, though a double does not hold it."""
    expected = {16777217: 16777216, 16777219: 16777220}.get(tie, 16777218 if tie > 16777217 else 16777216)  # type: ignore[arg-type]
    assert to_single(tie + Decimal("0") if isinstance(tie, Decimal) else tie) == expected


@given(SINGLES)
def test_text_of_single_precision_is_read_as_the_same(value: Single) -> None:
    """With digits that single precision needs, which are fewer than those of a double."""
    assert to_single(Decimal(shortest_text(value))) == value
    assert len(shortest_text(value).strip("-0.").partition("e")[0].replace(".", "")) <= max(
        10, len(repr(float(value))) if abs(value) >= 1e9 else 0
    )
    literal = number_literal(value)
    assert number(literal) == value
    assert literal.datatype == XSD.float


@given(NUMBERS, NUMBERS)
def test_numbers_are_compared_after_their_promotion(
    one: int | Decimal | float, other: int | Decimal | float
) -> None:
    """An integer and a decimal exactly; a double where one is; else in single precision where one is."""
    left, right = promoted(one, other)
    kinds = {type(one), type(other)}
    wanted = float if float in kinds else Single if Single in kinds else Decimal if Decimal in kinds else int
    assert type(left) is type(right) is wanted
    assert number_order(one, other) == (left > right) - (left < right)


@example(16777217, Single(16777216))
@example(Single(16777216), Decimal("16777215.5"))
@given(NUMBERS, NUMBERS)
def test_places_tell_the_order_of_numbers(one: int | Decimal | float, other: int | Decimal | float) -> None:
    """Beside the range that has to be compared, a place says which number is less."""
    check_places(number_literal(one), number_literal(other))


def check_places(left: Literal, right: Literal) -> None:
    """Check that the places of two literals contradict no comparison."""
    space, key = order_key(right)
    for found, low, high in near(*order_key(left)):
        if found == space:
            if key < low:
                assert compare("<", right, left) is True
            if key > high:
                assert compare("<", left, right) is True
            break
    else:
        pytest.fail(f"{space} is not looked at for {left!r}")


EXACTLY = st.integers(-(2**300), 2**300) | st.decimals(
    allow_nan=False, allow_infinity=False, places=40, min_value=-(10**30), max_value=10**30
)
STEPS = {"+": operator.add, "-": operator.sub, "*": operator.mul}


@given(EXACTLY, EXACTLY, st.sampled_from(sorted(STEPS)))
def test_sums_and_products_of_decimals_are_exact(one: Decimal | int, other: Decimal | int, step: str) -> None:
    """Whatever the number of digits, and whatever a thread's own context rounds to."""
    with localcontext(prec=3):
        found = calculate(step, one, other)
    assert Fraction(found) == STEPS[step](Fraction(one), Fraction(other))
    assert found or not str(found).startswith("-")


@given(EXACTLY, EXACTLY)
def test_quotients_have_28_digits(one: Decimal | int, other: Decimal | int) -> None:
    """They are the nearest such decimals; by zero there is none."""
    if not other:
        with pytest.raises(ArithmeticError):
            calculate("/", one, other)
        return
    found, exact = calculate("/", one, other), Fraction(one) / Fraction(other)
    assert isinstance(found, Decimal)
    assert len(found.as_tuple().digits) <= 28
    assert abs(Fraction(found) - exact) <= abs(exact) / (2 * 10**27)


@pytest.mark.parametrize("kind", ["double", "float"])
@pytest.mark.parametrize(
    ("form", "value"),
    [
        (f"1e{'9' * 30}", math.inf),
        (f"-0.1E{'9' * 5000}", -math.inf),
        (f"1e-{'9' * 30}", 0.0),
        (f"-1e-{'9' * 30}", -0.0),
        (f"0e{'9' * 30}", 0.0),
        (f"{'9' * 400}e-399", 10.0),
    ],
)
def test_exponents_of_any_length_are_read(kind: str, form: str, value: float) -> None:
    """Also those of which Python has no decimal."""
    found = number(exact_literal(form, datatype=str(XSD[kind])))
    assert (found, math.copysign(1, found)) == (value, math.copysign(1, value))  # type: ignore[arg-type]


def test_a_decimal_has_4300_digits_at_most() -> None:
    """As an integer has: a longer one has no value, and what would have more is an error."""
    form = "9" * 2149 + "." + "9" * 2150
    longest, longer = (exact_literal(text, datatype=str(XSD.decimal)) for text in (form, form + "9"))
    assert number(longest) == Decimal(form)
    assert number(longer) is None
    with pytest.raises(ArithmeticError, match="4300 digits"):
        calculate("*", Decimal(form), Decimal(form))
    with pytest.raises(ArithmeticError, match="4300 digits"):
        calculate("+", Decimal(form), Decimal("1E-3000"))


@pytest.mark.parametrize(("form", "spelt"), [("-0.0", "0.0"), ("-0", "0"), ("-0.5", "-0.5"), ("+1", "1")])
def test_zero_has_no_sign_as_a_decimal(form: str, spelt: str) -> None:
    """A cast makes what XPath's does; a decimal that is computed has no sign either."""
    cast = CASTS[XSD.decimal](Literal(form))
    assert (cast, number(cast)) == (exact_literal(spelt, datatype=str(XSD.decimal)), Decimal(spelt))
    assert str(number_literal(Decimal(form) * 1)).startswith("-") is (spelt == "-0.5")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (Decimal("-0.0"), "0"),
        (Decimal("1.50"), "1.5"),
        (1e6, "1.0E6"),
        (999999.0, "999999"),
        (1e-7, "1.0E-7"),
        (0.000001, "0.000001"),
        (-0.0, "-0"),
        (Single(-0.0), "-0"),
        (to_single(Decimal("0.1")), "0.1"),
        (to_single(Decimal("1e10")), "1.0E10"),
        (math.nan, "NaN"),
        (-math.inf, "-INF"),
    ],
)
def test_numbers_are_written_as_xpath_casts_them(value: int | Decimal | float, text: str) -> None:
    """The casts to xsd:string of XPath Functions 3.1, 19.1.2."""
    assert number_text(value) == text


SPELLINGS = [
    ("01", "integer", "1"),
    ("+7", "byte", "7"),
    ("1_000", "integer", "1_000"),
    ("300", "byte", "300"),
    ("x", "boolean", "x"),
    ("1", "boolean", "true"),
    ("2024-05-01T10:00:00Z", "dateTime", "2024-05-01T10:00:00+00:00"),
    ("2024-05-01T10:00:00.123456789Z", "dateTime", "2024-05-01T10:00:00.123456789Z"),
    ("2024-05-01Z", "date", "2024-05-01Z"),
    ("2024-05-01", "date", "2024-05-01"),
    ("12000-01-01T00:00:00Z", "dateTime", "12000-01-01T00:00:00Z"),
    ("INF", "double", "INF"),
    ("1E400", "double", "1E400"),
    ("PT", "dayTimeDuration", "PT"),
    ("-P1M1D", "duration", "-P1M1D"),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("lexical", "kind", "spelt"), SPELLINGS)
def test_rdflib_spells_a_term_where_the_value_stays(lexical: str, kind: str, spelt: str) -> None:
    """Its spelling is not taken where it is another value, and ill-formed literals stay."""
    term = exact_literal(lexical, datatype=str(XSD[kind]))
    assert str(normal(term)) == spelt
    assert normal(term).datatype == term.datatype


def test_every_pair_of_special_numbers_has_ieee_order() -> None:
    """NaN is equal to nothing and in no order, infinities are at the ends, and both zeros are one."""
    forms = ["NaN", "-INF", "-0.0", "0.0", "1.0", "INF"]
    for (i, one), (j, other) in product(enumerate(forms), repeat=2):
        for kinds in product(("float", "double"), repeat=2):
            left, right = (
                exact_literal(form, datatype=str(XSD[kind]))
                for form, kind in zip((one, other), kinds, strict=True)
            )
            is_nan = "NaN" in (one, other)
            same = not is_nan and (i == j or {one, other} == {"-0.0", "0.0"})
            assert compare("=", left, right) is same
            assert compare("<", left, right) is (not is_nan and not same and i < j)
            assert compare(">=", left, right) is (not is_nan and (same or i > j))


def test_literals_that_are_made_of_numbers_are_read_as_them() -> None:
    """The same number, and the datatype of its type."""
    for value, kind in (
        (7, "integer"),
        (Decimal("1.50"), "decimal"),
        (0.1, "double"),
        (Single(0.5), "float"),
    ):
        literal = number_literal(value)
        assert isinstance(literal, Literal)
        assert literal.datatype == XSD[kind]
        assert number(literal) == value
