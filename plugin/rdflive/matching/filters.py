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
"""The greatest number of digits that always fits a machine integer, which compares fast."""


def own_variables(condition: Condition, variables: Sequence[Variable]) -> tuple[Variable, ...]:
    """Return the variables that a condition reads."""
    return tuple(v for v in variables if v.readable and v.name in condition.variables)


def comparisons_of(conditions: Sequence[Condition]) -> list[ComplexFilter]:
    """List the conditions that order two variables."""
    found = []
    for condition in conditions:
        parts = condition.comparison if isinstance(condition, Expression) else None
        if parts is not None:
            left, operator_, right = parts
            # ?x < ?x compares no two patterns, so a sort would not help
            if isinstance(left, RdflibVariable) and isinstance(right, RdflibVariable) and left != right:
                found.append(ComplexFilter(Variable(str(left)), operator_, Variable(str(right)), condition))
    return found


def write_test(
    source: FunctionSource, condition: Condition, names: Mapping[Variable, str], library: Library
) -> str:
    """Write a condition as a test of variables; `names` are their names in the generated code."""
    own = own_variables(condition, tuple(names))
    test = source.name(condition.condition({v.name: i for i, v in enumerate(own)}, LibraryTerms(library)))
    text = f"{test}(({''.join(f'{names[v]}, ' for v in own)}))"
    threshold = _threshold(condition) if len(own) == 1 else None
    return text if threshold is None else _short(source, names[own[0]], *threshold, text, library)


def _threshold(condition: Condition) -> tuple[str, int] | None:
    """Return the operator and the integer of a comparison of a variable with an integer constant; else
    None.
    """
    parts = condition.comparison if isinstance(condition, Expression) else None
    if parts is None:
        return None
    left, operator, right = parts
    if isinstance(left, Literal):
        left, operator, right = right, TURNED[operator], left
    value = number(right)
    return (operator, value) if isinstance(left, RdflibVariable) and isinstance(value, int) else None


def _short(source: FunctionSource, name: str, operator: str, value: int, test: str, library: Library) -> str:
    """Compare short integers, which sensors send, without computing a literal's value; leave other terms to
    the test.
    """
    one = library.to_native(Literal(1))
    kind, integer = source.name(type(one)), source.name(one.datatype)
    text = first = name
    if library.to_rdflib is not None:
        text, first = "w", f"(w := {name}.value)"
    is_short = (
        # `isdigit` also accepts "²" and "٣", which are not digits in XML Schema
        f"type({name}) is {kind} and {first}.isdigit() and {text}.isascii() and len({text}) <= {_DIGITS} "
        f"and ((d := {name}.datatype) is {integer} or d == {integer})"
    )
    return f"(int({text}) {operator} {source.name(value)} if {is_short} else {test})"
