"""The operators that handle each row of one input by itself."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rdflive.query.algebra.conditions import Condition
from rdflive.query.algebra.node import Columns, Unary, reads
from rdflive.query.bgp import TriplePattern, Variable

__all__ = ["Clocked", "Construct", "Extend", "Filter", "Project"]


@dataclass(frozen=True, eq=False)
class Filter(Unary):
    """The rows that meet a condition."""

    condition: Condition

    @property
    def expressions(self) -> tuple[Condition, ...]:
        return (self.condition,)

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:
        return (wanted | reads(self.condition, self.input.columns),)


@dataclass(frozen=True, eq=False)
class Clocked(Unary):
    """The rows for which a comparison with NOW() holds now, or all of them with a mark."""

    condition: Any
    """The comparison: see `rdflive.query.expressions.ClockComparison`."""
    mark: Variable | None = None
    """A column for the result, unbound for an error, instead of dropping rows."""

    @property
    def columns(self) -> Columns:
        return (*self.input.columns, *([self.mark] if self.mark else ()))

    @property
    def expressions(self) -> tuple[Condition, ...]:
        return (self.condition,)

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:
        return (wanted.intersection(self.input.columns) | reads(self.condition, self.input.columns),)


@dataclass(frozen=True, eq=False)
class Extend(Unary):
    """BIND: each row with one more column, unbound if the expression fails."""

    variable: Variable
    expression: Any

    @property
    def columns(self) -> Columns:
        return (*self.input.columns, self.variable)

    @property
    def expressions(self) -> tuple[Condition, ...]:
        return (self.expression,)

    @property
    def copied(self) -> Variable | None:
        """The column that the expression copies, if it is a bare variable."""
        text = self.expression.text
        return next((v for v in self.input.columns if v.readable and text == f"?{v.name}"), None)

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:
        return (wanted - {self.variable} | reads(self.expression, self.input.columns),)


@dataclass(frozen=True, eq=False)
class Project(Unary):
    """Some columns of each row, some of them renamed."""

    kept: Columns
    renamed: tuple[tuple[Variable, Variable], ...] = ()
    """Pairs of a new column and the one it copies."""
    exact: frozenset[Variable] = frozenset()
    """Columns of the context, which count as certain above this node even if they are unbound."""
    closes: bool = False
    """True at the edge of a subquery, whose other variables differ from those of the same name outside."""

    @property
    def columns(self) -> Columns:
        return (*self.kept, *(new for new, _ in self.renamed))

    @cached_property
    def certain(self) -> frozenset[Variable]:
        below = self.input.certain
        copies = {new for new, old in self.renamed if old in below}
        return below.intersection(self.kept) | copies | self.exact

    def source(self, column: Variable) -> Variable | None:
        """Return the input's column of a column; None if the input has none."""
        old = dict(self.renamed).get(column, column)
        return old if old in self.input.columns else None

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:
        return (frozenset(old for v in wanted if (old := self.source(v)) is not None),)


@dataclass(frozen=True, eq=False)
class Construct(Unary):
    """CONSTRUCT: the triples that the template makes from each solution."""

    template: tuple[TriplePattern, ...]
    context: Columns = ()
    """The parameters of a family, which its triples carry."""

    @cached_property
    def columns(self) -> Columns:
        return (*self.context, Variable("subject"), Variable("predicate"), Variable("object"))

    @property
    def certain(self) -> frozenset[Variable]:
        return frozenset(self.columns)

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:  # noqa: ARG002
        # `parse` has projected away the columns that the template does not read
        return (frozenset(self.input.columns),)
