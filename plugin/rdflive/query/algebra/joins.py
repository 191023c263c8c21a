"""The operators that combine rows of several inputs."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from rdflive.query.algebra.conditions import Condition
from rdflive.query.algebra.node import Binary, Columns, Node, ordered, reads
from rdflive.query.bgp import Variable

__all__ = ["Exists", "Join", "LeftJoin", "Minus", "Union"]


@dataclass(frozen=True, eq=False)
class Join(Binary):
    """The compatible pairs of two inputs."""

    @cached_property
    def columns(self) -> Columns:
        return ordered((*self.left.columns, *self.right.columns))

    @cached_property
    def certain(self) -> frozenset[Variable]:
        return self.left.certain | self.right.certain

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:
        return self.both(wanted)


@dataclass(frozen=True, eq=False)
class LeftJoin(Binary):
    """OPTIONAL: the compatible pairs that meet the condition, and the left rows without such a pair."""

    condition: Condition | None = None

    @cached_property
    def columns(self) -> Columns:
        return ordered((*self.left.columns, *self.right.columns))

    @property
    def certain(self) -> frozenset[Variable]:
        # a left row without a match binds nothing of the right
        return self.left.certain

    @property
    def expressions(self) -> tuple[Condition, ...]:
        return () if self.condition is None else (self.condition,)

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:
        return self.both(wanted | reads(self.condition, self.columns))


@dataclass(frozen=True, eq=False)
class Minus(Binary):
    """The left rows without a compatible right row that binds a variable in common."""

    context: Columns = ()
    """Columns of the context: they are compared, but a right row that shares only these removes no row."""

    @property
    def columns(self) -> Columns:
        return self.left.columns

    @property
    def certain(self) -> frozenset[Variable]:
        return self.left.certain

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:
        # right rows are only compared
        return wanted.union(self.shared), frozenset(self.shared)


@dataclass(frozen=True, eq=False)
class Exists(Binary):
    """EXISTS: the left rows with (`negated`: without) a compatible right row that meets the condition; or, if
    `mark` is given, all left rows, with the result as a column.
    """

    negated: bool = False
    mark: Variable | None = None
    """A column for the result, instead of dropping rows."""
    condition: Condition | None = None
    """A condition on the merged left and right row."""

    @cached_property
    def columns(self) -> Columns:
        return (*self.left.columns, *([self.mark] if self.mark else ()))

    @cached_property
    def certain(self) -> frozenset[Variable]:
        return self.left.certain.union([self.mark] if self.mark else ())

    @property
    def expressions(self) -> tuple[Condition, ...]:
        return () if self.condition is None else (self.condition,)

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:
        left, right = (
            reads(self.condition, node.columns).union(self.shared) for node in (self.left, self.right)
        )
        return wanted.intersection(self.left.columns) | left, right


@dataclass(frozen=True, eq=False)
class Union(Node):
    """The rows of all branches."""

    branches: tuple[Node, ...]

    @property
    def inputs(self) -> tuple[Node, ...]:
        return self.branches

    @cached_property
    def columns(self) -> Columns:
        return ordered(v for branch in self.branches for v in branch.columns)

    @cached_property
    def certain(self) -> frozenset[Variable]:
        # in the rows of one branch, variables of only the other branches are unbound
        return frozenset.intersection(*(branch.certain for branch in self.branches))

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:
        return tuple(wanted.intersection(branch.columns) for branch in self.branches)
