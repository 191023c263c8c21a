"""The leaves of the algebra, patterns and constants, and the property paths `+` and `*`."""

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
    """The default graph, read so that an instance of a class is one of each superclass too."""

    DEFAULT = "the default graph, with superclasses"


CLASSIFIED: Final = Classified.DEFAULT
Graph: TypeAlias = VarOrTerm
"""The graph of a pattern: None is the default graph, `CLASSIFIED` that graph with superclasses, a constant
that named graph, a variable each named graph.
"""


@dataclass(frozen=True, eq=False)
class Basic(Node):
    """A basic graph pattern over one graph, with filters over its own variables."""

    patterns: tuple[TriplePattern, ...]
    graph: Graph = None
    conditions: tuple[Condition, ...] = ()
    asked: Columns = ()
    """Parameters in the pattern: it matches only constants of queries that share the plan."""

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
    """The constants of the queries that share this plan (a family): each tuple once."""

    columns: Columns = ()

    @property
    def certain(self) -> frozenset[Variable]:
        return frozenset(self.columns)

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:  # noqa: ARG002
        return ()


@dataclass(frozen=True, eq=False)
class Values(Node):
    """Rows of constants, None for unbound; one empty row is the unit of joins."""

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
    """`+` and `*` of a path: the pairs of ends that steps of `edges` connect, from `seeds` or every node."""

    edges: Node
    source: Variable
    target: Variable
    """The columns of `edges` for the two ends of a step."""
    start: Variable
    end: Variable
    """The columns of the rows: a start and an end that it reaches."""
    reflexive: bool
    seeds: Node | None = None
    """Rows of the context and `start`: the only starts, if given."""
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
