"""The scope of a pattern: its query, its graph, and the outer solutions that it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce
from itertools import count
from typing import Any, TypeAlias

from rdflib.term import BNode, Node, URIRef
from rdflib.term import Variable as RdflibVariable

from rdflive.query import algebra
from rdflive.query.bgp import TriplePattern, Variable, VarOrTerm
from rdflive.query.expressions import Expression, first_fault, numbered, valueless, volatile
from rdflive.query.expressions import replace as replace_in
from rdflive.syntax.tree import Tree

__all__ = ["Dataset", "Merge", "Offered", "Query", "Scope", "Translate"]

Offered: TypeAlias = list[algebra.Condition]
"""Filters from above. A pass that guarantees all variables of a filter applies it and removes it from the
list.
"""
Translate: TypeAlias = "Callable[[Tree, Scope, Offered], algebra.Node]"
"""Translates a graph pattern of rdflib's algebra that is evaluated in a scope."""


@dataclass(frozen=True, slots=True)
class Merge:
    """The default graph of several FROM clauses: each triple of these graphs once."""

    graphs: frozenset[VarOrTerm]


@dataclass(frozen=True, slots=True)
class Dataset:
    """The graphs of the store that FROM and FROM NAMED select."""

    default: Any = None
    named: frozenset[VarOrTerm] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Query:
    """The data that the parts of one query share. Fresh variables are numbered across it."""

    translate: Translate
    """Translates a graph pattern; needed for the EXISTS in expressions."""
    refuse: Callable[..., Exception]
    """Makes the error for an unsupported construct from rdflib's name for it, the variable that it assigns,
    and its node if known; or for a `CallFault`.
    """
    preset: Mapping[str, Node]
    """The variables that `initBindings` fixes, except those that are parameters."""
    dataset: Dataset
    base_iri: str | None = None
    parameters: Mapping[Node, Variable] = field(default_factory=dict)
    """The parameters for the constants, and variables of `initBindings`, in which the members of a family
    differ.
    """
    given: algebra.Node | None = None
    """The rows of another query that supply the parameters; None if members supply them."""
    prebound: bool = False
    """True if subqueries see the outer solutions too, as they do in SHACL."""
    has_clock: bool = False
    """True if times may be compared with NOW()."""
    walks: bool = False
    """True if paths are walked from their start, as SHACL's are. Then the second step of `:p*/:q?` may stay
    at a term that is no node of the graph; in a join of two paths with a variable between them it may not.
    """
    fixed: dict[str, algebra.Node] = field(default_factory=dict)
    """Rows of IRIs by the text of a filter that compares a variable with them, such as `?x IN (:a, :b)`."""
    iris: set[Variable] = field(default_factory=set)
    """The parameters for IRIs in such filters, where `=` decides whether terms are the same."""
    functions: dict[URIRef, int] = field(default_factory=dict)
    """The registered functions that expressions call, with their numbers."""
    notes: dict[str, None] = field(default_factory=dict)
    """The calls in expressions that have no value in any row."""
    _numbers: Iterator[int] = field(default_factory=partial(count, 1))
    _blanks: dict[BNode, Variable] = field(default_factory=dict)

    def fresh(self) -> Variable:
        """Make a variable that occurs nowhere else."""
        # a middle dot cannot begin a variable in SPARQL, so no user's variable has the name
        return Variable(f"·{next(self._numbers)}", distinguished=False)

    def term(self, node: Node) -> Any:
        """Turn a term of a pattern into a variable or a constant."""
        if node in self.parameters:
            return self.parameters[node]
        if isinstance(node, RdflibVariable):
            return self.preset.get(str(node), Variable(str(node)))
        if isinstance(node, BNode):
            return self._blanks.setdefault(node, Variable(f"b{len(self._blanks)}", distinguished=False))
        return node

    def is_bound(self, name: str) -> bool:
        """Return True if `initBindings` fixes a variable."""
        return name in self.preset or RdflibVariable(name) in self.parameters

    def asked(self, columns: algebra.Columns) -> algebra.Node:
        """Return the node of some parameters: the distinct tuples, each once."""
        if self.given is None:
            return algebra.Parameters(columns)
        if columns == self.given.columns:
            return self.given
        return algebra.Distinct(algebra.Project(self.given, columns))

    def fix(self, condition: algebra.Condition, rows: algebra.Values) -> None:
        """Record the IRIs that a filter compares a variable with."""
        self.fixed[condition.text] = rows
        # IN has no parameters, and with `=` there is one IRI
        for asked in self.mentioned([list(row) for row in rows.rows]):
            self.iris.add(asked)
            renamed = ((rows.columns[0], asked),)
            self.fixed[condition.text] = algebra.Project(self.asked((asked,)), (asked,), renamed)

    def expression(self, node: Any) -> Expression:
        """Make an expression, in which variables fixed by `initBindings` are constants."""
        # every expression is made here, so this check covers all functions whose value changes by itself
        unsteady = volatile(node)
        if unsteady is not None:
            name = unsteady.name.removeprefix("Builtin_")
            raise self.refuse(f"{name} alone" if name == "NOW" and not self.has_clock else name, at=unsteady)
        return Expression(self.constant(node), base=self.base_iri)

    def constant(self, node: Any) -> Any:
        """Replace variables that `initBindings` fixes by constants, and number the functions.

        A fault in an expression is refused.
        """
        made = replace_in(node, self._constant)
        fault = first_fault(made)
        if fault is not None:
            raise self.refuse(fault)
        self.notes.update(dict.fromkeys(valueless(made)))
        return numbered(made, self.functions)

    def _constant(self, node: Any) -> Any:
        parameter = self.parameters.get(node) if isinstance(node, Node) else None
        if parameter is not None:
            return RdflibVariable(parameter.name)
        return self.preset.get(str(node)) if isinstance(node, RdflibVariable) else None

    def mentioned(self, *parts: Any) -> frozenset[Variable]:
        """Return the parameters for constants of these parts of rdflib's algebra."""
        found: set[Variable] = set()

        def look(part: Any) -> None:
            if isinstance(part, Tree):
                look(list(part.fields.values()))
            elif isinstance(part, list | tuple | set | frozenset):
                for each in part:
                    look(each)
            elif isinstance(part, dict):
                look(list(part.items()))
            elif isinstance(part, Node) and part in self.parameters:
                found.add(self.parameters[part])

        if self.parameters:
            look(parts)
        return frozenset(found)


# without slots, because `cached_property` needs a dictionary
@dataclass(frozen=True)
class Scope:
    """The place of a pattern in a query, which determines its evaluation."""

    query: Query
    graph: Any = None
    graphs: algebra.Node | None = None
    """The names of the graphs, if `graph` is a variable."""
    parameters: algebra.Node | None = None
    """The relation of those parameters that the pattern mentions."""
    outer: algebra.Node | None = None
    """The distinct outer solutions of a correlated EXISTS."""
    bounds: tuple[algebra.Node, ...] = ()
    """Rows that the pattern is joined with; a path may start from their values instead of from every node."""

    @cached_property
    def context(self) -> algebra.Columns:
        """The columns that every row must carry: inside GRAPH ?g the hidden column of the graph, in a family
        the parameters, and inside a correlated EXISTS the columns of the outer solution that are compared
        exactly.
        """
        outer = self.outer.columns if self.outer else ()
        graphs = self.graphs.columns if self.graphs else ()
        return algebra.ordered((*graphs, *self.asked, *(v for v in outer if v in self._exact)))

    @property
    def asked(self) -> algebra.Columns:
        """The parameters that every row must carry."""
        return self.parameters.columns if self.parameters else ()

    @property
    def _exact(self) -> frozenset[Variable]:
        # columns that may be unbound have exact copies beside them, see `exact_copies`
        return self.outer.certain if self.outer else frozenset()

    @cached_property
    def seed(self) -> algebra.Node | None:
        """The rows of the context, which are the answer of an empty group; None if that is one empty row."""
        parts = [part for part in (self.graphs, self.parameters, self.outer) if part is not None]
        return reduce(algebra.Join, parts) if parts else None

    @property
    def base(self) -> Scope:
        """The same graph without the outer solutions."""
        return self if self.outer is None else replace(self, outer=None)

    @property
    def bare(self) -> Scope:
        """The same graph alone, as for the steps of a path."""
        return replace(self, outer=None, parameters=None)

    def read(self, patterns: Iterable[TriplePattern], conditions: Iterable[Any] = ()) -> algebra.Columns:
        """Return the parameters that patterns and conditions read."""
        names = {name for condition in conditions for name in condition.variables}
        own = {v for pattern in patterns for v in pattern.variables}
        return tuple(v for v in self.asked if v in own or v.name in names)

    def mentioning(self, *parts: Any) -> Scope:
        """Return the same scope with only the parameters that some parts of rdflib's algebra mention.

        A part that mentions none is matched once for all members.
        """
        found = self.query.mentioned(*parts)
        kept = tuple(v for v in self.asked if v in found)
        if kept == self.asked:
            return self
        return replace(self, parameters=self.query.asked(kept) if kept else None)
