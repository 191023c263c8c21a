"""Which exceptions of Python are errors of SPARQL."""

from __future__ import annotations

from typing import TypeVar

from rdflive.errors import BudgetError

__all__ = ["no_value"]

_Otherwise = TypeVar("_Otherwise")


def no_value(error: Exception, otherwise: _Otherwise) -> _Otherwise:
    """Make an exception an error of SPARQL, `otherwise`; raises what is none again.

    A lack of memory or of stack and a budget that is used up say nothing of the value: a subscription that
    took them for an error would go on with a wrong answer.
    """
    if isinstance(error, (MemoryError, RecursionError)) or type(error) is BudgetError:
        raise error
    return otherwise
