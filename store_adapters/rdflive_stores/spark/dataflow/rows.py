"""Partial solutions: a column of texts and one of hashes per variable, and a weight per row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from rdflive.query.planning import Condition
from rdflive_stores.spark.dataflow.runs import Numbers
from rdflive_stores.spark.dataflow.solutions import TextTerms

__all__ = ["Column", "SolutionRows"]

Column = tuple[pa.Array, Numbers]
"""Texts and their hashes."""


class SolutionRows:
    """Immutable rows of partial solutions."""

    __slots__ = ("columns", "weight")

    def __init__(self, weight: Numbers, columns: Mapping[int, Column]) -> None:
        self.weight = weight
        self.columns = columns
        """The columns by the number of their variable."""

    @classmethod
    def of(cls, table: pa.Table, variables: Sequence[int]) -> SolutionRows:
        """Read the form that `table` returns."""
        columns = {v: (table[f"v{v}"].chunk(0), table[f"h{v}"].chunk(0).to_numpy()) for v in variables}
        return cls(table["weight"].chunk(0).to_numpy(), columns)

    def __len__(self) -> int:
        return len(self.weight)

    @property
    def table(self) -> pa.Table:
        """The rows as a table: `weight`, and `v…` and `h…` per variable."""
        columns = sorted(self.columns.items())  # sorted, so that rows of different origin can be concatenated
        texts = {f"v{v}": texts for v, (texts, _) in columns}
        hashes = {f"h{v}": hashes for v, (_, hashes) in columns}
        return pa.table({"weight": self.weight} | texts | hashes)

    def take(self, places: Numbers) -> SolutionRows:
        """Return the rows at some positions."""
        at = pa.array(places)
        columns = {v: (texts.take(at), hashes[places]) for v, (texts, hashes) in self.columns.items()}
        return SolutionRows(self.weight[places], columns)

    def where(self, condition: Condition, names: Sequence[str]) -> SolutionRows:
        """Return the rows that satisfy a condition; `names` are the names of all variables."""
        read = [v for v in self.columns if names[v] in condition.variables]
        terms = TextTerms()
        test = condition.condition({names[v]: place for place, v in enumerate(read)}, terms)
        texts = [self.columns[v][0].to_pylist() for v in read]
        rows = zip(*(map(terms.id, column) for column in texts), strict=True) if read else [()] * len(self)
        held = np.fromiter(map(test, rows), np.bool_, len(self))
        return self if held.all() else self.take(np.nonzero(held)[0])
