"""Operators that take each row by itself, on tables: FILTER, BIND, projection, and the branches of UNION."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache, reduce, singledispatch
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from rdflive.query import planning
from rdflive_stores.spark.dataflow.solutions import Cells, pick, width
from rdflive_stores.spark.dataflow.staging import StageOperation
from rdflive_stores.spark.dataflow.terms import TextTerms

__all__ = ["Pass", "compile_passes", "test_rows"]

Pass: TypeAlias = Callable[[pa.Table], pa.Table]
"""Takes rows and gives rows."""


def compile_passes(operations: Iterable[StageOperation], terms: TextTerms) -> Pass:
    """Compile operations that follow one another."""
    passes = [_compile(operation.node, operation, terms) for operation in operations]
    return lambda rows: reduce(lambda found, step: step(found), passes, rows)


@singledispatch
def _compile(node: planning.Node, operation: StageOperation, terms: TextTerms) -> Pass:
    """Compile one operation."""
    raise NotImplementedError(type(node).__name__)


@_compile.register
def _filter(node: planning.Filter, operation: StageOperation, terms: TextTerms) -> Pass:
    return test_rows(node.condition, operation.inputs, terms)


def test_rows(condition: planning.Condition, columns: planning.Columns, terms: TextTerms) -> Pass:
    """Compile the choice of the rows of which a condition holds."""
    cells = Cells(columns, [condition], terms)
    # what the condition reads repeats, and is tested once
    test = cache(condition.condition(cells.places, terms))

    def step(rows: pa.Table) -> pa.Table:
        return rows.filter(pa.array(np.fromiter(map(test, cells.rows(rows)), np.bool_, rows.num_rows)))

    return step


@_compile.register
def _extend(node: planning.Extend, operation: StageOperation, terms: TextTerms) -> Pass:
    cells = Cells(operation.inputs, node.expressions, terms)
    value, text = cache(node.expression.value(cells.places, terms)), terms.text

    def step(rows: pa.Table) -> pa.Table:
        texts = [text(number) for number in map(value, cells.rows(rows))]
        return rows.append_column(f"v{width(rows)}", pa.array(texts, pa.string()))

    return step


@_compile.register(planning.Project)
@_compile.register(planning.Union)
def _pick(node: planning.Node, operation: StageOperation, terms: TextTerms) -> Pass:  # noqa: ARG001
    sources = operation.sources
    return lambda rows: pick(rows, sources)
