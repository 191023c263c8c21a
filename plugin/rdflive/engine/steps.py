"""Plans whose steps form a line, each reading only the one before, as lines of a generated function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from rdflive.engine.source import FunctionSource
from rdflive.query import algebra
from rdflive.query.plan import Plan

__all__ = ["ALONE", "line_of", "row_of", "write_step"]

ALONE: Final = (algebra.Filter, algebra.Extend, algebra.Project)
"""Nodes that make at most one row from each row, independent of the others."""
_COUNTED: Final = (algebra.Distinct, algebra.Group)
"""Nodes that may be in a line too, and count rows."""


def line_of(plan: Plan) -> tuple[int, ...]:
    """List the steps from the only basic graph pattern to the answer; return () for plans that are no line.

    Constant rows (`Values`), such as the start of an empty group or the terms that a filter allows, may be
    outside the line, because they never change.
    """
    steps, line = plan.steps, [len(plan.steps) - 1]
    while steps[line[-1]].inputs:
        line.append(steps[line[-1]].inputs[0])
    line.reverse()
    beside = set(range(len(steps))).difference(line)
    is_line = all(isinstance(steps[number].node, (*ALONE, *_COUNTED)) for number in line[1:])
    fits = is_line and all(isinstance(steps[number].node, algebra.Values) for number in beside)
    return tuple(line) if fits and steps[line[0]].basic is not None else ()


def row_of(names: Sequence[str]) -> str:
    """Return the source of a tuple of names."""
    return "(" + "".join(f"{name}, " for name in names) + ")"


def write_step(
    source: FunctionSource,
    plan: Plan,
    pair: tuple[int, int],
    names: Sequence[str],
    function: Callable[[Any], Any],
    fail: str,
) -> Sequence[str]:
    """Write the second of two steps, one of `ALONE`, for a row of the first whose values have these names.

    `function` returns the test or the value function of a step. Returns the names of the values of the new
    row: `0` is unbound, and the name of a computed value starts with c.
    """
    below, number = pair
    node, columns = plan.steps[number].node, plan.steps[below].columns
    if isinstance(node, algebra.Filter):
        source.line(f"if not {source.name(function(number))}({row_of(names)}): {fail}")
    elif isinstance(node, algebra.Extend):
        source.line(f"c{number} = {source.name(function(number))}({row_of(names)})")
        return (*names, f"c{number}")
    elif isinstance(node, algebra.Project):
        sources = map(node.source, plan.steps[number].columns)
        return ["0" if of is None or of not in columns else names[columns.index(of)] for of in sources]
    return names
