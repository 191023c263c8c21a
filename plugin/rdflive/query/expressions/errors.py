"""The exceptions of Python that are errors of SPARQL."""

from __future__ import annotations

from typing import TypeVar

from rdflive.errors import BudgetError

__all__ = ["no_value"]

_Otherwise = TypeVar("_Otherwise")


def no_value(error: Exception, otherwise: _Otherwise) -> _Otherwise:
    """Return `otherwise` for an exception that is an error of SPARQL; raise any other exception.

    Lack of memory or stack and an exhausted budget do not depend on the value: if they counted as errors of
    SPARQL, a subscription would continue with a wrong answer.
    """
    if isinstance(error, (MemoryError, RecursionError)) or type(error) is BudgetError:
        raise error
    return otherwise
