"""Filters as generated tests of terms: a plan's conditions, with a shortcut for integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from rdflib import Literal
from rdflib import Variable as RdflibVariable

from rdflive.engine.source import FunctionSource
from rdflive.matching.automaton import ComplexFilter
from rdflive.matching.libraries import Library, LibraryTerms
from rdflive.query.algebra import Condition
from rdflive.query.bgp import Variable
from rdflive.query.expressions import TURNED, Expression
from rdflive.values import number

__all__ = ["comparisons_of", "own_variables", "write_test"]

_DIGITS: Final = 18
"""A number of up to this many digits surely fits a machine integer, which compares at once."""


def own_variables(condition: Condition, variables: Sequence[Variable]) -> tuple[Variable, ...]:
    """Give those of the variables that a condition reads."""
    return tuple(v for v in variables if v.readable and v.name in condition.variables)


def comparisons_of(conditions: Sequence[Condition]) -> list[ComplexFilter]:
    """Find the conditions that order two variables."""
    found = []
    for condition in conditions:
        parts = condition.comparison if isinstance(condition, Expression) else None
        if parts is not None:
            left, operator_, right = parts
            # ?x < ?x compares no two patterns, so there is nothing to sort
            if isinstance(left, RdflibVariable) and isinstance(right, RdflibVariable) and left != right:
                found.append(ComplexFilter(Variable(str(left)), operator_, Variable(str(right)), condition))
    return found


def write_test(
    source: FunctionSource, condition: Condition, names: Mapping[Variable, str], library: Library
) -> str:
    """Write a condition as a test of the variables' values, which the generated code has under these
    names.
    """
    own = own_variables(condition, tuple(names))
    test = source.name(condition.condition({v.name: i for i, v in enumerate(own)}, LibraryTerms(library)))
    text = f"{test}(({''.join(f'{names[v]}, ' for v in own)}))"
    threshold = _threshold(condition) if len(own) == 1 else None
    return text if threshold is None else _short(source, names[own[0]], *threshold, text, library)


def _threshold(condition: Condition) -> tuple[str, int] | None:
    """Read the comparison of a variable with an integer constant."""
    parts = condition.comparison if isinstance(condition, Expression) else None
    if parts is None:
        return None
    left, operator, right = parts
    if isinstance(left, Literal):
        left, operator, right = right, TURNED[operator], left
    value = number(right)
    return (operator, value) if isinstance(left, RdflibVariable) and isinstance(value, int) else None


def _short(source: FunctionSource, name: str, operator: str, value: int, test: str, library: Library) -> str:
    """Compare short integers, as sensors send them, without making a literal's value; leave the rest
    to the test.
    """
    one = library.to_native(Literal(1))
    kind, integer = source.name(type(one)), source.name(one.datatype)
    text = first = name
    if library.to_rdflib is not None:
        text, first = "w", f"(w := {name}.value)"
    is_short = (
        # `isdigit` accepts "²" and "٣" too, which are no digits of XML Schema
        f"type({name}) is {kind} and {first}.isdigit() and {text}.isascii() and len({text}) <= {_DIGITS} "
        f"and ((d := {name}.datatype) is {integer} or d == {integer})"
    )
    return f"(int({text}) {operator} {source.name(value)} if {is_short} else {test})"
