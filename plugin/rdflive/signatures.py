"""The arguments that functions of a program can take."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

__all__ = ["misfit"]


def misfit(function: Callable[..., Any], *arguments: object) -> str:
    """Return why a function cannot take these arguments; empty if it can, or if its signature is unknown.

    >>> misfit(lambda: None, 1), misfit(lambda one, two: None, 1)
    ('too many positional arguments', "missing a required argument: 'two'")
    >>> misfit(print, 1), misfit(int, 1), misfit(lambda one, two=2, *rest: None, 1)
    ('', '', '')
    """
    try:
        # the function itself is called, not one that it wraps, which may have other arguments
        signature = inspect.signature(function, follow_wrapped=False)
    except (ValueError, TypeError):  # a function of C
        return ""
    try:
        signature.bind(*arguments)
    except TypeError as error:
        return str(error)
    return ""
