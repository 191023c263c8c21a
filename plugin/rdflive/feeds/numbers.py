"""Numbers that a user gives."""

from __future__ import annotations

from typing import TypeGuard

__all__ = ["is_number"]


def is_number(given: object) -> TypeGuard[float]:
    """Tell whether something is a number, which True and False are not meant to be.

    >>> is_number(1), is_number(0.5), is_number("1"), is_number(True), is_number(float("nan"))
    (True, True, False, False, False)
    """
    return isinstance(given, int | float) and not isinstance(given, bool) and given == given
