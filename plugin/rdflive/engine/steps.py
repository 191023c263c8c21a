"""Steps of a plan that take each row by itself, as lines of a function: FILTER, BIND and projection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rdflive.engine.build import readable
from rdflive.engine.source import Source
from rdflive.query import algebra
from rdflive.query.algebra import Columns
from rdflive.query.plan import Plan

__all__ = ["count_steps", "row_of", "write_steps", "write_test"]


def count_steps(plan: Plan, first: int) -> int:
    """Count the steps in a line from one on that make at most one row of each row, and keep nothing."""
    for number, step in enumerate(plan.steps[first:], first):
        takes_rows = isinstance(step.node, algebra.Filter | algebra.Extend | algebra.Project)
        if not takes_rows or step.inputs != (number - 1,):
            return number - first
    return len(plan.steps) - first


def row_of(names: Sequence[str]) -> str:
    """Write a tuple of names."""
    return "(" + "".join(f"{name}, " for name in names) + ")"


def write_test(
    source: Source, condition: Any, columns: Columns, names: Sequence[str], terms: Any, fail: str
) -> None:
    """Write the line that gives up where a condition does not hold of a row whose values have these names."""
    test = source.name(condition.condition(readable(columns), terms))
    source.line(f"if not {test}({row_of(names)}): {fail}")


def write_steps(
    source: Source, plan: Plan, numbers: range, names: Sequence[str], terms: Any, fail: str
) -> Sequence[str]:
    """Write some steps in a line for a row whose values have these names; gives the names of the result's.

    The name of a value that is computed begins with c, and `0` is unbound.
    """
    for number in numbers:
        node, columns = plan.steps[number].node, plan.steps[number - 1].columns
        if isinstance(node, algebra.Filter):
            write_test(source, node.condition, columns, names, terms, fail)
        elif isinstance(node, algebra.Extend):
            value = source.name(node.expression.value(readable(columns), terms))
            source.line(f"c{number} = {value}({row_of(names)})")
            names = (*names, f"c{number}")
        else:
            assert isinstance(node, algebra.Project)  # noqa: S101 - it takes rows
            sources = map(node.source, plan.steps[number].columns)
            names = ["0" if of is None or of not in columns else names[columns.index(of)] for of in sources]
    return names
