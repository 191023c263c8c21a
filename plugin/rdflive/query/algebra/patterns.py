"""The leaves of the algebra: patterns and constants; and the paths that follow a pattern over and over."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from typing import Final, TypeAlias

from rdflive.query.algebra.conditions import Condition
from rdflive.query.algebra.node import Columns, Node, ordered
from rdflive.query.bgp import BGP, TriplePattern, Variable, VarOrTerm

__all__ = ["CLASSIFIED", "Basic", "Classified", "Closure", "Graph", "Parameters", "Values"]


class Classified(Enum):
    """Where a pattern looks that takes the instances of a class for those of its superclasses too."""

    DEFAULT = "the default graph, with superclasses"


CLASSIFIED: Final = Classified.DEFAULT
Graph: TypeAlias = VarOrTerm
"""Where a pattern looks: None is the default graph, `CLASSIFIED` the same with more types, a constant one
named graph, a variable all of them.
"""


@dataclass(frozen=True, eq=False)
class Basic(Node):
    """A basic graph pattern over one graph, with filters over its own variables."""

    patterns: tuple[TriplePattern, ...]
    graph: Graph = None
    conditions: tuple[Condition, ...] = ()
    asked: Columns = ()
    """Parameters of a family: the pattern is joined with what its members ask for of these."""

    @cached_property
    def columns(self) -> Columns:
        return ordered((*BGP(self.patterns).variables, *self.asked))

    @property
    def certain(self) -> frozenset[Variable]:
        return frozenset(self.columns)

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:  # noqa: ARG002
        return ()


@dataclass(frozen=True, eq=False)
class Parameters(Node):
    """What the members of a family ask for of some parameters: the distinct tuples, each once."""

    columns: Columns = ()

    @property
    def certain(self) -> frozenset[Variable]:
        return frozenset(self.columns)

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:  # noqa: ARG002
        return ()


@dataclass(frozen=True, eq=False)
class Values(Node):
    """Rows of constants, None where unbound; one empty row is the unit of joins."""

    columns: Columns = ()
    rows: tuple[tuple[VarOrTerm | None, ...], ...] = ((),)

    @cached_property
    def certain(self) -> frozenset[Variable]:
        return frozenset(
            v for i, v in enumerate(self.columns) if all(row[i] is not None for row in self.rows)
        )

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:  # noqa: ARG002
        return ()


@dataclass(frozen=True, eq=False)
class Closure(Node):
    """`+` and `*` of a property path: what is reachable from the seeds, or from everywhere."""

    edges: Node
    source: Variable
    target: Variable
    """The columns of `edges` that a step leads from and to."""
    start: Variable
    end: Variable
    """The columns of the rows: a start and an end that it reaches."""
    reflexive: bool
    seeds: Node | None = None
    """Rows of the context and `start`: nothing else is started from."""
    context: Columns = ()

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.edges,) if self.seeds is None else (self.edges, self.seeds)

    @property
    def columns(self) -> Columns:
        return (*self.context, self.start, self.end)

    @property
    def certain(self) -> frozenset[Variable]:
        return frozenset(self.columns)

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:  # noqa: ARG002
        edges = frozenset((*self.context, self.source, self.target))
        return (edges,) if self.seeds is None else (edges, frozenset((*self.context, self.start)))
