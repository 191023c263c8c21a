"""Where a pattern is evaluated: in which graph, and for which outer solutions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rdflive.query import algebra
from rdflive.query.bgp import Term, Variable

__all__ = ["Dataset", "Merge", "Scope"]


@dataclass(frozen=True, slots=True)
class Merge:
    """The default graph that several FROM clauses make: each triple of these graphs once."""

    graphs: frozenset[Term]


@dataclass(frozen=True, slots=True)
class Dataset:
    """What FROM and FROM NAMED leave of the store's graphs."""

    default: Any = None
    named: frozenset[Term] | None = None


@dataclass(frozen=True)
class Scope:
    """Where a pattern is evaluated: its graph, and the outer solutions when they reach into it."""

    graph: Any = None
    graphs: algebra.Node | None = None
    """The names of the graphs, when `graph` is a variable."""
    outer: algebra.Node | None = None
    """The distinct outer solutions of a correlated EXISTS."""
    bounds: tuple[algebra.Node, ...] = ()
    """Rows that the pattern's rows are joined with: a path may start from their values alone."""

    @cached_property
    def context(self) -> algebra.Columns:
        """The columns that every row must carry."""
        outer = self.outer.columns if self.outer else ()
        graphs = self.graphs.columns if self.graphs else ()
        return algebra.ordered((*graphs, *(v for v in outer if v in self._exact)))

    @property
    def _exact(self) -> frozenset[Variable]:
        return self.outer.certain if self.outer else frozenset()

    @cached_property
    def seed(self) -> algebra.Node | None:
        """The rows of the context: what an empty group gives; None where that is one empty row."""
        if self.outer is None or self.graphs is None:
            return self.outer or self.graphs
        return algebra.Join(self.graphs, self.outer)

    @property
    def base(self) -> Scope:
        """The same graph without the outer solutions."""
        return self if self.outer is None else Scope(self.graph, self.graphs, bounds=self.bounds)
