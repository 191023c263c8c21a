"""Functions of expressions within a budget, with counts of the strings that they make."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

from rdflib.namespace import XSD

from rdflive.query.budget import Meter
from rdflive.query.expressions.functions import PREDICATES
from rdflive.query.expressions.linear import linear_function
from rdflive.syntax.tree import Tree

__all__ = ["metered"]


def metered(meter: Meter, node: Tree, function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function of terms so that it stays within a budget; REGEX and REPLACE take linear time then."""
    if node.name in ("Builtin_REGEX", "Builtin_REPLACE"):
        return linear_function(meter, node)
    if node.name in PREDICATES:
        return function  # makes no string
    measure = _MEASURES.get(node.name)
    if measure is None:
        return _counted(meter, function)

    def counted(*arguments: Any) -> Any:
        # the most that the function may make is counted before it runs, and corrected afterwards
        most = measure(*arguments)
        meter.make(most)
        result = function(*arguments)
        meter.make((len(result) if isinstance(result, str) else 0) - most)
        return result

    return counted


def _counted(meter: Meter, function: Callable[..., Any]) -> Callable[..., Any]:
    """Count the result of a function, which is about as long as its arguments."""

    def counted(*arguments: Any) -> Any:
        result = function(*arguments)
        if isinstance(result, str):
            meter.make(len(result))
        return result

    return counted


def _digits(lexical: Any, datatype: Any) -> int:
    """Count the zeros that rdflib writes for a decimal with an exponent."""
    try:
        return abs(Decimal(lexical).adjusted()) if datatype == XSD.decimal else 0
    except ArithmeticError:
        return 0


_MEASURES: Final[dict[str, Callable[..., int]]] = {
    "Builtin_CONCAT": lambda *terms: sum(map(len, terms)),
    # up to four bytes of UTF-8, and %XX for each
    "Builtin_ENCODE_FOR_URI": lambda term: 12 * len(term),
    "Builtin_STRDT": _digits,
}
"""Most characters that these make; the results of others are about as long as the longest argument."""
