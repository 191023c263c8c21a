"""Sums that lose nothing, against fractions."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import inf, isnan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdflive.query.aggregates.exact_sum import ExactSum
from rdflive.query.expressions.numbers import Number

NUMBERS = st.one_of(
    st.integers(),
    st.floats(allow_nan=False, allow_infinity=False),
    st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**40), max_value=10**40),
    st.sampled_from([Decimal("1E+3"), Decimal("1E-50"), 5e-324, 1.7976931348623157e308, -0.0]),
)


def filled(values: list[Number], weight: int = 1) -> ExactSum:
    total = ExactSum()
    for value in values:
        total.add(value, weight, is_double=True)
    return total


def rounded(value: Fraction) -> float:
    try:
        return value.numerator / value.denominator
    except OverflowError:
        return inf if value > 0 else -inf


@given(st.lists(NUMBERS), st.integers(1, 5))
def test_binary_rounds_the_exact_sum_once(values: list[Number], share: int) -> None:
    """The sum of mixed numbers is the double nearest to the sum of fractions."""
    expected = rounded(sum(map(Fraction, values), Fraction()) / share)
    assert filled(values).binary(share) == expected


@given(st.lists(NUMBERS.filter(lambda value: not isinstance(value, float))))
def test_decimal_is_exact(values: list[int | Decimal]) -> None:
    """Integers and decimals of any length add up without rounding, with the places of the longest."""
    total = filled([*values]).decimal()
    assert Fraction(total) == sum(map(Fraction, values), Fraction())
    places = [-exponent for value in values if (exponent := Decimal(value).as_tuple().exponent) < 0]
    assert total.as_tuple().exponent == -max(places, default=0)


@given(st.lists(NUMBERS), st.lists(NUMBERS), st.integers(1, 3), st.randoms(use_true_random=False))
def test_what_leaves_takes_back_what_it_brought(
    kept: list[Number], gone: list[Number], weight: int, random: object
) -> None:
    """Numbers that enter and leave, in any order, change no later sum."""
    total = filled([*kept, *gone], weight)
    random.shuffle(gone)  # type: ignore[attr-defined]  # hypothesis types it as object
    for value in gone:
        total.add(value, -weight, is_double=True)
    fresh = filled(kept, weight)
    assert total.binary() == fresh.binary()
    assert total.integer() == fresh.integer()
    assert str(total.decimal()) == str(fresh.decimal())
    for value in kept:
        total.add(value, -weight, is_double=True)
    assert all(not getattr(total, name) for name in ExactSum.__slots__)


@pytest.mark.parametrize(
    ("values", "expected"),
    [([inf, 1], inf), ([-inf, 1e308], -inf), ([1.7e308, 1.7e308], inf), ([-1.7e308] * 2, -inf)],
)
def test_binary_reaches_infinity(values: list[Number], expected: float) -> None:
    """An infinity, and a sum beyond the doubles, is infinite."""
    assert filled(values).binary() == expected


@pytest.mark.parametrize("values", [[inf, -inf], [float("nan"), 1], [float("nan"), inf]])
def test_binary_gives_nan(values: list[Number]) -> None:
    """NaN, and infinities of both signs, have no sum, until they leave."""
    total = filled([*values, 2.0])
    assert isnan(total.binary())
    for value in values:
        total.add(value, -1, is_double=True)
    assert total.binary() == 2.0


@pytest.mark.parametrize(("values", "share"), [([1.7e308, 1.7e308], 2), ([5e-324, 5e-324], 2)])
def test_binary_divides_before_it_rounds(values: list[Number], share: int) -> None:
    """A mean stays among the doubles where the sum does not."""
    assert filled(values).binary(share) == values[0]
