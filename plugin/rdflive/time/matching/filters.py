"""Filters as tests of terms: what a plan's condition says, and a short way for integers and constants."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

from rdflib import Literal
from rdflib import Variable as RdflibVariable

from rdflive.query.algebra import Condition
from rdflive.query.bgp import Variable
from rdflive.query.expressions import Expression
from rdflive.query.expressions.numbers import number
from rdflive.time.matching.automaton import Comparison
from rdflive.time.matching.libraries import Library, Table

__all__ = ["Test", "comparisons_of", "make_test", "own_variables"]

Test = Callable[[tuple[Any, ...]], bool]

_OPERATORS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_DIGITS: Final = 18
"""A number of so many digits is surely an integer of Python's that compares at once."""


def own_variables(condition: Condition, variables: Sequence[Variable]) -> tuple[Variable, ...]:
    """Give those of the variables that a condition reads."""
    return tuple(v for v in variables if v.readable and v.name in condition.variables)


def comparisons_of(conditions: Sequence[Condition]) -> list[Comparison]:
    """Find the conditions that order two variables."""
    found = []
    for condition in conditions:
        parts = condition.comparison if isinstance(condition, Expression) else None
        if parts is not None:
            left, operator_, right = parts
            if isinstance(left, RdflibVariable) and isinstance(right, RdflibVariable) and left != right:
                found.append(Comparison(Variable(str(left)), operator_, Variable(str(right)), condition))
    return found


def make_test(condition: Condition, variables: Sequence[Variable], library: Library) -> Test:
    """Compile a condition to a test of a row of the library's terms, in the order of the variables."""
    places = {v.name: place for place, v in enumerate(variables)}
    test = condition.condition(places, Table(library))
    threshold = _threshold(condition) if len(variables) == 1 else None
    return test if threshold is None else _integers(test, *threshold, library)


def _threshold(condition: Condition) -> tuple[Callable[[Any, Any], bool], int] | None:
    """Read the comparison of a variable with an integer constant."""
    parts = condition.comparison if isinstance(condition, Expression) else None
    if parts is None:
        return None
    left, name, right = parts
    if isinstance(left, Literal):
        left, name, right = right, _MIRRORED[name], left
    value = number(right)
    if not isinstance(left, RdflibVariable) or not isinstance(value, int):
        return None
    return _OPERATORS[name], value


def _integers(test: Test, compare: Callable[[Any, Any], bool], value: int, library: Library) -> Test:
    """Compare integers of a few digits, as sensors send them, at once; leave all else to the test."""
    one = library.to_native(Literal(1))
    kind, integer = type(one), one.datatype
    is_rdflib = library.to_rdflib is None

    def integers(row: tuple[Any, ...]) -> bool:
        term = row[0]
        if type(term) is kind and ((datatype := term.datatype) is integer or datatype == integer):
            text = term if is_rdflib else term.value
            if text.isdigit() and text.isascii() and len(text) <= _DIGITS:
                return compare(int(text), value)
        return test(row)

    return integers
