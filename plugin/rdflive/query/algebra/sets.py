"""The operators that combine many rows of one input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rdflive.query.aggregates import SetFunction
from rdflive.query.algebra.conditions import Condition
from rdflive.query.algebra.node import Columns, Node, Unary, reads
from rdflive.query.bgp import Variable

__all__ = ["Aggregate", "Distinct", "Group", "OrderCondition", "Slice"]


@dataclass(frozen=True, eq=False)
class Distinct(Unary):
    """Each row once."""

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:  # noqa: ARG002
        # without a column, rows that differ only in it would become one
        return (frozenset(self.input.columns),)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate of a grouping; without an expression it is COUNT(*)."""

    name: SetFunction
    variable: Variable
    expression: Any
    distinct: bool
    separator: str = " "


@dataclass(frozen=True, eq=False)
class Group(Unary):
    """GROUP BY with its aggregates: one row per group."""

    keys: Columns
    aggregates: tuple[Aggregate, ...]
    seeds: Node | None = None
    """The groups that exist even when they are empty (the one group of a query without GROUP BY)."""
    unbound: Columns = ()
    """Variables of GROUP BY that no row of the input has."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,) if self.seeds is None else (self.input, self.seeds)

    @property
    def columns(self) -> Columns:
        return (*self.keys, *(aggregate.variable for aggregate in self.aggregates))

    @property
    def certain(self) -> frozenset[Variable]:
        # aggregates are unbound if they are errors, as SUM over "a" is
        return self.input.certain.intersection(self.keys)

    @property
    def expressions(self) -> tuple[Condition, ...]:
        return tuple(read for a in self.aggregates if (read := self.argument(a)) is not None)

    def argument(self, aggregate: Aggregate) -> Any:
        """Return the expression that an aggregate evaluates in each row; None if it counts the rows.

        COUNT(?x) counts rows if ?x is bound in all of them, so its values are not needed.
        """
        expression = aggregate.expression
        if expression is None or aggregate.name != "COUNT" or aggregate.distinct:
            return expression
        always = (v for v in self.input.certain if v.distinguished)
        return None if any(expression.text == f"?{v.name}" for v in always) else expression

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:  # noqa: ARG002
        rows = frozenset(self.keys).intersection(self.input.columns)
        for aggregate in self.aggregates:
            expression = self.argument(aggregate)
            if expression is not None:
                rows |= reads(expression, self.input.columns)
            elif aggregate.distinct:
                # COUNT(DISTINCT *) compares solutions, which have no hidden columns
                rows |= {v for v in self.input.columns if v.distinguished}
        return (rows,) if self.seeds is None else (rows, frozenset(self.keys))


@dataclass(frozen=True, slots=True)
class OrderCondition:
    """One condition of ORDER BY."""

    expression: Any
    descending: bool


@dataclass(frozen=True, eq=False)
class Slice(Unary):
    """LIMIT and OFFSET: a part of the rows in order, counted for each value of `context`."""

    order: tuple[OrderCondition, ...]
    offset: int
    limit: int | None
    context: Columns = ()

    @property
    def expressions(self) -> tuple[Condition, ...]:
        return tuple(condition.expression for condition in self.order)

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:  # noqa: ARG002
        return (frozenset(self.input.columns),)
