"""Operators on whole rows: DISTINCT and CONSTRUCT with state; FILTER, BIND, projection and UNION without."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache, reduce, singledispatch
from hashlib import blake2b
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from rdflive.query import planning
from rdflive_stores.spark.dataflow.runs import Layout, Numbers, Run, expand
from rdflive_stores.spark.dataflow.solutions import (
    Cells,
    Texts,
    TextTerms,
    hash_rows,
    net,
    pick,
    solutions,
    texts_of,
    width,
)
from rdflive_stores.spark.dataflow.staging import Side, StageOperation
from rdflive_stores.spark.dataflow.state import Bucket

__all__ = ["Distincts", "Pass", "TemplateTriples", "compile_passes", "test_rows"]


class Distincts:
    """DISTINCT: each row once, while it is present."""

    def __init__(self, head: StageOperation, sides: Sequence[Side], terms: TextTerms) -> None:  # noqa: ARG002
        self.layout = Layout(len(sides[0].columns))

    def update(self, state: Bucket, sides: Sequence[pa.Table]) -> pa.Table:
        """Count rows; return those that are new (1) or gone (-1)."""
        counts = _counted(state, sides[0])
        before, after = counts["before"].to_numpy(), counts["after"].to_numpy()
        signs = (after > 0).astype(np.int64) - (before > 0)
        turns = solutions(signs, (counts[name] for name in self.layout.text_names))
        return turns.filter(pa.array(signs != 0))


class TemplateTriples:
    """CONSTRUCT: the triples of a template for the solutions, with their multiplicity.

    A blank node of the template differs between solutions, and between copies of a solution. Its label is
    made of the solution and the number of the copy, so that a delete produces the label of the insert.
    """

    def __init__(self, head: StageOperation, sides: Sequence[Side], terms: TextTerms) -> None:
        node: Any = head.node
        columns = sides[0].columns
        self.layout = Layout(len(columns))
        self._terms = terms
        places = {variable: place for place, variable in enumerate(columns)}

        def part(term: Any) -> tuple[str, Any]:
            if not isinstance(term, planning.Variable):
                return "constant", terms.text(terms.intern(term))
            # a variable that the pattern never binds has no column, and its triples are left out
            if term.distinguished or term in places:
                return "column", places.get(term)
            return "blank", term.name

        self._template = [tuple(map(part, triple)) for triple in node.template]

    def update(self, state: Bucket, sides: Sequence[pa.Table]) -> pa.Table:
        """Apply changes of solutions; return the triples that appear and disappear."""
        counts = _counted(state, sides[0])
        made: dict[Texts, int] = {}
        before, after = counts["before"].to_pylist(), counts["after"].to_pylist()
        for row, old, new in zip(texts_of(counts, range(self.layout.texts)), before, after, strict=False):
            for copy in range(min(old, new), max(old, new)):
                for triple in self._triples(row, copy):
                    made[triple] = made.get(triple, 0) + (1 if new > old else -1)
        columns = zip(*made, strict=True) if made else [()] * 3
        weight = pa.array(list(made.values()), pa.int64())
        return net(solutions(weight, [pa.array(column, pa.string()) for column in columns]))

    def _triples(self, row: Texts, copy: int) -> list[Texts]:
        found = []
        for template in self._template:
            triple = tuple(self._term(kind, value, row, copy) for kind, value in template)
            values = [self._terms.value(self._terms.id(text)) for text in triple]
            if None not in triple and planning.is_triple(*values):
                found.append(triple)
        return found

    def _term(self, kind: str, value: Any, row: Texts, copy: int) -> str | None:
        if kind == "column":
            return None if value is None else row[value]
        if kind == "constant":
            return str(value)
        # NUL cannot occur in a term, so no two lists of terms give the same text
        text = "\0".join([value, str(copy), *(cell or "" for cell in row)])
        return f"_:{blake2b(text.encode(), digest_size=10).hexdigest()}"


def _counted(state: Bucket, rows: pa.Table) -> pa.Table:
    """Count rows; return each changed row with its count `before` and `after`."""
    names = state.layout.text_names
    hashes = hash_rows(rows, range(len(names)))
    nothing = np.zeros(len(hashes), np.int64)
    known = [_known(run, names, np.unique(hashes)) for run in state.before()]
    stored = {"index": nothing, "key": hashes, "rest": nothing, "weight": rows["weight"]}
    state.add(pa.table(stored | {name: rows[name] for name in names}))
    arriving = solutions(nothing, (rows[name] for name in names)).append_column("change", rows["weight"])
    sums = [("weight", "sum"), ("change", "sum")]
    counts = pa.concat_tables([arriving, *known]).group_by(names, use_threads=False).aggregate(sums)
    # by text: a row that only shares a hash with a changed one does not change
    counts = counts.filter(pa.array(counts["change_sum"].to_numpy() != 0))
    before, change = counts["weight_sum"].to_numpy(), counts["change_sum"].to_numpy()
    found = solutions(before, (counts[name] for name in names))
    return found.append_column("before", [before]).append_column("after", [before + change])


def _known(run: Run, names: list[str], hashes: Numbers) -> pa.Table:
    """Return the counted rows with some hashes."""
    places = expand(*run.find(0, hashes))[1]
    found = solutions(run.numbers("weight", places), (run.texts(name, places) for name in names))
    return found.append_column("change", [np.zeros(len(places), np.int64)])


Pass: TypeAlias = Callable[[pa.Table], pa.Table]
"""A function from rows to rows."""


def compile_passes(operations: Iterable[StageOperation], terms: TextTerms) -> Pass:
    """Compile consecutive operations."""
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
    """Compile the selection of the rows that satisfy a condition."""
    cells = Cells(columns, [condition], terms)
    # values that the condition reads repeat, and are tested once
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
