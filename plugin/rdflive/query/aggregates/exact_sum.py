"""Exact sums of numbers: integers, decimals, floats and doubles side by side."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from math import inf, isfinite, nan
from typing import Final

from rdflive.values import Number, Single
from rdflive.values.numbers import EXACT, to_double, to_single

__all__ = ["ExactSum"]

_BITS: Final = 1074  # every finite double is an integer times 2**-1074
_ZERO: Final = Decimal(0)


class ExactSum:
    """A sum of numbers, exact per type, with counts of NaN and infinities, which cannot be summed.

    Integers are one int, decimals one Decimal of any length with the places of the longest, floats and
    doubles an int scaled by 2**1074. So a removed value takes away exactly what it added.

    >>> total = ExactSum()
    >>> for value in (1e16, 0.1, -1e16):
    ...     total.add(value, 1)
    >>> total.binary()
    0.1
    """

    __slots__ = (
        "_binary", "_decimal", "_integer", "_places",
        "count", "decimals", "doubles", "floats", "minus", "nans", "plus",
    )  # fmt: skip

    def __init__(self) -> None:
        self.count = self.decimals = self.floats = self.doubles = 0
        self.nans = self.plus = self.minus = 0
        self._integer = self._binary = 0
        self._decimal = _ZERO
        self._places: dict[int, int] = {}  # number of decimals with so many places

    def add(self, value: Number, weight: int) -> None:
        """Add a number (weight > 0) or remove it (< 0)."""
        self.count += weight
        if isinstance(value, int):
            self._integer += value * weight
        elif isinstance(value, Decimal):
            self.decimals += weight
            self._add_decimal(value, weight)
        else:
            if type(value) is Single:
                self.floats += weight
            else:
                self.doubles += weight
            self._add_binary(value, weight)

    def _add_decimal(self, value: Decimal, weight: int) -> None:
        exponent = value.as_tuple().exponent
        assert isinstance(exponent, int)  # noqa: S101 - `number` returns only finite decimals
        places = max(0, -exponent)
        self._decimal = EXACT.fma(value, weight, self._decimal)
        left = self._places.get(places, 0) + weight
        if left:
            self._places[places] = left
        else:
            del self._places[places]
            # without 1.00 the sum of 1.00 and 0.5 is 0.5 and not 0.50
            self._decimal = _with_places(self._decimal, max(self._places, default=0))

    def _add_binary(self, value: float, weight: int) -> None:
        if isfinite(value):
            numerator, denominator = value.as_integer_ratio()
            self._binary += weight * numerator << (_BITS + 1 - denominator.bit_length())
        elif value == inf:
            # counted, because once added to a float an infinity could not be removed
            self.plus += weight
        elif value == -inf:
            self.minus += weight
        else:
            self.nans += weight

    def integer(self) -> int:
        """Return the sum of the integers, which is the full sum if there are no other numbers."""
        return self._integer

    def decimal(self) -> Decimal:
        """Return the sum of integers and decimals, with as many places as the longest of them."""
        places = max(self._places, default=0)
        return _with_places(EXACT.add(self._decimal, self._integer), places)

    def binary(self, share: int = 1) -> float:
        """Return the sum of all numbers, divided by `share`, rounded once: to a `Single` without doubles."""
        exact = self._exact(share)
        return to_double(exact) if self.doubles else to_single(exact)

    def _exact(self, share: int) -> float | Fraction:
        if self.nans or (self.plus and self.minus):
            return nan
        if self.plus or self.minus:
            return inf if self.plus else -inf
        decimals, tens = self._decimal.as_integer_ratio()
        numerator = (decimals + self._integer * tens << _BITS) + self._binary * tens
        return Fraction(numerator, tens * share << _BITS)


def _with_places(value: Decimal, places: int) -> Decimal:
    """Write a decimal with the given number of places, which is sufficient; zero has no sign."""
    return EXACT.quantize(value, Decimal((0, (1,), -places))) if value else Decimal((0, (0,), -places))
