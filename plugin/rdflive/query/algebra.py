"""The algebra that is maintained: SPARQL's operators over columns, as a graph of nodes.

Nodes compare by identity, and one node may be the input of several others. A column is a `Variable`; one
that is not distinguished is hidden from the user. A *certain* column is compared exactly by the operators
above: it is bound in every row, or it is a key of the context (the named graph of a GRAPH clause, the
outer solution of an EXISTS). Any other column may be unbound, and unbound is compatible with everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, TypeAlias

from rdflive.query.accumulators import SetFunction
from rdflive.query.bgp import BGP, Term, TriplePattern, Variable, to_text

__all__ = [
    "Aggregate",
    "AllOf",
    "Basic",
    "Closure",
    "Condition",
    "Construct",
    "Distinct",
    "Exists",
    "Extend",
    "Filter",
    "Graph",
    "Group",
    "Join",
    "LeftJoin",
    "Minus",
    "Node",
    "OneOf",
    "OrderCondition",
    "Project",
    "SameTerm",
    "Slice",
    "Union",
    "Values",
    "ordered",
    "reads",
    "topological",
]

Graph: TypeAlias = Term
"""Where a pattern looks: None is the default graph, a constant one named graph, a variable all of them."""
Columns: TypeAlias = tuple[Variable, ...]
Row: TypeAlias = tuple[int, ...]


class Condition(Protocol):
    """What a filter or an assignment evaluates: see `rdflive.query.expressions.Expression`."""

    @property
    def variables(self) -> tuple[str, ...]:
        """The names of the variables it reads."""

    @property
    def text(self) -> str:
        """Its canonical text: equal conditions have equal texts."""

    def condition(self, columns: Mapping[str, int], terms: Any) -> Callable[[Row], bool]:
        """Make the test of a row whose variables stand at these places."""


@dataclass(frozen=True, slots=True)
class SameTerm:
    """The condition that two columns hold the same term."""

    one: str
    other: str

    @property
    def variables(self) -> tuple[str, ...]:
        """The two columns."""
        return self.one, self.other

    @property
    def text(self) -> str:
        """Write it as SPARQL does."""
        return f"sameTerm(?{self.one}, ?{self.other})"

    def condition(self, columns: Mapping[str, int], terms: Any) -> Callable[[Row], bool]:  # noqa: ARG002
        """Compare ids: equal terms have equal ids."""
        one, other = columns[self.one], columns[self.other]
        return lambda row: row[one] == row[other]


@dataclass(frozen=True, slots=True)
class AllOf:
    """The conjunction of several conditions."""

    parts: tuple[Condition, ...]

    @property
    def variables(self) -> tuple[str, ...]:
        """What any part reads."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.variables))

    @property
    def text(self) -> str:
        """Write it as SPARQL does."""
        return " && ".join(part.text for part in self.parts)

    def condition(self, columns: Mapping[str, int], terms: Any) -> Callable[[Row], bool]:
        """Ask the parts in order."""
        tests = [part.condition(columns, terms) for part in self.parts]
        return lambda row: all(test(row) for test in tests)


@dataclass(frozen=True, slots=True)
class OneOf:
    """The condition that a column holds one of some constants, or none of them."""

    name: str
    terms: frozenset[Any]
    negated: bool = False

    @property
    def variables(self) -> tuple[str, ...]:
        """The column."""
        return (self.name,)

    @property
    def text(self) -> str:
        """Write it as SPARQL does."""
        return f"?{self.name} {'NOT ' * self.negated}IN ({', '.join(sorted(map(to_text, self.terms)))})"

    def condition(self, columns: Mapping[str, int], terms: Any) -> Callable[[Row], bool]:
        """Look the term up."""
        place, value, wanted, negated = columns[self.name], terms.value, self.terms, self.negated
        return lambda row: (value(row[place]) in wanted) is not negated


def ordered(columns: Iterable[Variable]) -> Columns:
    """Drop repeated columns and keep the order."""
    return tuple(dict.fromkeys(columns))


@dataclass(frozen=True, eq=False)
class Node:
    """One operator of a query, with its inputs."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes whose rows it reads."""
        return ()

    @property
    def columns(self) -> Columns:
        """The columns of its rows."""
        raise NotImplementedError

    @property
    def certain(self) -> frozenset[Variable]:
        """The columns that are compared exactly."""
        raise NotImplementedError

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:
        """Say, per input, which columns it must give so that this node can give the wanted ones."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class Basic(Node):
    """A basic graph pattern over one graph, with filters over its own variables."""

    patterns: tuple[TriplePattern, ...]
    graph: Graph = None
    conditions: tuple[Condition, ...] = ()

    @cached_property
    def columns(self) -> Columns:
        return BGP(self.patterns).variables

    @property
    def certain(self) -> frozenset[Variable]:
        return frozenset(self.columns)

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:  # noqa: ARG002
        return ()


@dataclass(frozen=True, eq=False)
class Values(Node):
    """Rows of constants, None where unbound; one empty row is the unit of joins."""

    columns: Columns = ()
    rows: tuple[tuple[Term | None, ...], ...] = ((),)

    @cached_property
    def certain(self) -> frozenset[Variable]:
        return frozenset(
            v for i, v in enumerate(self.columns) if all(row[i] is not None for row in self.rows)
        )

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:  # noqa: ARG002
        return ()


@dataclass(frozen=True, eq=False)
class _Unary(Node):
    input: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,)

    @property
    def columns(self) -> Columns:
        return self.input.columns

    @property
    def certain(self) -> frozenset[Variable]:
        return self.input.certain


@dataclass(frozen=True, eq=False)
class _Binary(Node):
    left: Node
    right: Node

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.left, self.right)

    @property
    def shared(self) -> Columns:
        """The columns that both inputs have."""
        return tuple(v for v in self.left.columns if v in self.right.columns)

    @property
    def keys(self) -> Columns:
        """The shared columns that both inputs are certain of."""
        return tuple(v for v in self.shared if v in self.left.certain and v in self.right.certain)

    def _both(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:
        wanted = wanted.union(self.shared)
        return wanted.intersection(self.left.columns), wanted.intersection(self.right.columns)


@dataclass(frozen=True, eq=False)
class Join(_Binary):
    """The compatible pairs of two inputs."""

    @cached_property
    def columns(self) -> Columns:
        return ordered((*self.left.columns, *self.right.columns))

    @cached_property
    def certain(self) -> frozenset[Variable]:
        return self.left.certain | self.right.certain

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:
        return self._both(wanted)


@dataclass(frozen=True, eq=False)
class LeftJoin(_Binary):
    """OPTIONAL: the compatible pairs that meet the condition, and the left rows that have none."""

    condition: Condition | None = None

    @cached_property
    def columns(self) -> Columns:
        return ordered((*self.left.columns, *self.right.columns))

    @property
    def certain(self) -> frozenset[Variable]:
        return self.left.certain

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:
        return self._both(wanted | reads(self.condition, self.columns))


@dataclass(frozen=True, eq=False)
class Minus(_Binary):
    """The left rows without a compatible right row that binds a variable in common."""

    context: Columns = ()
    """Columns that are compared but are no variables in common."""

    @property
    def columns(self) -> Columns:
        return self.left.columns

    @property
    def certain(self) -> frozenset[Variable]:
        return self.left.certain

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:
        return wanted.union(self.shared), frozenset(self.shared)


@dataclass(frozen=True, eq=False)
class Exists(_Binary):
    """The left rows that have (or have not) a compatible right row, or all of them with a mark."""

    negated: bool = False
    mark: Variable | None = None
    """The column that tells, in place of keeping some rows only."""

    @cached_property
    def columns(self) -> Columns:
        return (*self.left.columns, *([self.mark] if self.mark else ()))

    @cached_property
    def certain(self) -> frozenset[Variable]:
        return self.left.certain.union([self.mark] if self.mark else ())

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:
        return wanted.union(self.shared).intersection(self.left.columns), frozenset(self.shared)


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
        return frozenset.intersection(*(branch.certain for branch in self.branches))

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:
        return tuple(wanted.intersection(branch.columns) for branch in self.branches)


@dataclass(frozen=True, eq=False)
class Filter(_Unary):
    """The rows that meet a condition."""

    condition: Condition

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:
        return (wanted | reads(self.condition, self.input.columns),)


@dataclass(frozen=True, eq=False)
class Extend(_Unary):
    """BIND: each row with one more column, unbound where the expression fails."""

    variable: Variable
    expression: Any

    @property
    def columns(self) -> Columns:
        return (*self.input.columns, self.variable)

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:
        return (wanted - {self.variable} | reads(self.expression, self.input.columns),)


@dataclass(frozen=True, eq=False)
class Project(_Unary):
    """Some columns of each row, under other names where `renamed` says from which column."""

    kept: Columns
    renamed: tuple[tuple[Variable, Variable], ...] = ()
    """Pairs of a new column and the one it copies."""
    exact: frozenset[Variable] = frozenset()
    """The columns that are certain from here on: keys of a context, unbound or not."""

    @property
    def columns(self) -> Columns:
        return (*self.kept, *(new for new, _ in self.renamed))

    @cached_property
    def certain(self) -> frozenset[Variable]:
        below = self.input.certain
        copies = {new for new, old in self.renamed if old in below}
        return below.intersection(self.kept) | copies | self.exact

    def source(self, column: Variable) -> Variable | None:
        """Name the input's column that a column comes from; None where the input has none."""
        old = dict(self.renamed).get(column, column)
        return old if old in self.input.columns else None

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:
        return (frozenset(old for v in wanted if (old := self.source(v)) is not None),)


@dataclass(frozen=True, eq=False)
class Distinct(_Unary):
    """Each row once."""

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:  # noqa: ARG002
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
class Group(_Unary):
    """GROUP BY with its aggregates: one row per group."""

    keys: Columns
    aggregates: tuple[Aggregate, ...]
    seeds: Node | None = None
    """The groups that exist even when they are empty (the one group where nothing is grouped by)."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        return (self.input,) if self.seeds is None else (self.input, self.seeds)

    @property
    def columns(self) -> Columns:
        return (*self.keys, *(aggregate.variable for aggregate in self.aggregates))

    @property
    def certain(self) -> frozenset[Variable]:
        return self.input.certain.intersection(self.keys)

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:  # noqa: ARG002
        rows = frozenset(self.keys).intersection(self.input.columns)
        for aggregate in self.aggregates:
            if aggregate.expression is not None:
                rows |= reads(aggregate.expression, self.input.columns)
            elif aggregate.distinct:
                rows |= {v for v in self.input.columns if v.distinguished}
        return (rows,) if self.seeds is None else (rows, frozenset(self.keys))


@dataclass(frozen=True, slots=True)
class OrderCondition:
    """One condition of ORDER BY."""

    expression: Any
    descending: bool


@dataclass(frozen=True, eq=False)
class Slice(_Unary):
    """LIMIT and OFFSET: a part of the rows in order, per context."""

    order: tuple[OrderCondition, ...]
    offset: int
    limit: int | None
    context: Columns = ()

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:  # noqa: ARG002
        return (frozenset(self.input.columns),)


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


@dataclass(frozen=True, eq=False)
class Construct(_Unary):
    """CONSTRUCT: the triples that the template makes of each solution."""

    template: tuple[TriplePattern, ...]
    columns: Columns = field(default=(Variable("subject"), Variable("predicate"), Variable("object")))

    @property
    def certain(self) -> frozenset[Variable]:
        return frozenset(self.columns)

    def needs(self, wanted: frozenset[Variable]) -> tuple[frozenset[Variable], ...]:  # noqa: ARG002
        return (frozenset(self.input.columns),)


def reads(condition: Condition | None, columns: Columns) -> frozenset[Variable]:
    """Give those of the columns that a condition or an expression reads."""
    names = condition.variables if condition is not None else ()
    return frozenset(v for v in columns if v.readable and v.name in names)


def topological(root: Node) -> list[Node]:
    """List every node once, inputs first."""
    seen: dict[Node, None] = {}

    def visit(node: Node) -> Iterator[Node]:
        for below in node.inputs:
            if below not in seen:
                yield from visit(below)
        seen[node] = None
        yield node

    return list(dict.fromkeys(visit(root)))
