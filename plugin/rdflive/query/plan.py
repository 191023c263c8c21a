"""Turns a query's algebra into the steps that the engine runs: operators over fixed columns, inputs first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from rdflive.query import algebra
from rdflive.query.algebra import Basic, Columns, Node
from rdflive.query.bgp import Variable, VarOrTerm
from rdflive.query.parse import ParsedQuery
from rdflive.query.refusals import depth_limited
from rdflive.query.segment import Algorithm, BasicPlan, plan_basic, with_parameters

__all__ = ["Plan", "Step", "make_plan"]


@dataclass(frozen=True, slots=True)
class Step:
    """One operator of a plan, the numbers of the steps that feed it, and the columns of its rows."""

    node: Node
    inputs: tuple[int, ...]
    columns: Columns
    basic: BasicPlan | None = None
    """For a leaf, the plan of its basic graph pattern."""
    asks: tuple[int, tuple[tuple[int, ...], ...]] | None = None
    """For a leaf, the step whose rows request the leaf's own, and per segment the places of the
    `Segment.rows` in them. If that step is a path above the leaf, each node that it reaches requests its
    edges.
    """


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The plan of a query: its steps, the last of which outputs the answer."""

    query: ParsedQuery
    steps: tuple[Step, ...]
    places: tuple[int | None, ...]
    """Per projected variable, its position in the rows of the last step; None if nothing binds it."""
    parameters: tuple[Variable, ...] = ()
    """For a family of queries: the variables for the constants in which its members differ."""
    member: tuple[int, ...] = ()
    """Per parameter, its position in the rows of the last step: a row belongs to the members with these
    terms.
    """
    bound: tuple[tuple[str, int], ...] = ()
    """The parameters that are variables of `initBindings`: their names, and their places among all."""
    algorithm: Algorithm = "auto"
    """The requested algorithm."""
    original: Plan | None = None
    """The plan from which this one was renamed; see `rdflive.query.known`."""

    @property
    def basics(self) -> tuple[BasicPlan, ...]:
        """The plans of the basic graph patterns, in order."""
        return tuple(step.basic for step in self.steps if step.basic is not None)

    @property
    def clocked(self) -> tuple[int, ...]:
        """The numbers of the steps whose rows change as time passes."""
        return tuple(at for at, step in enumerate(self.steps) if isinstance(step.node, algebra.Clocked))

    @property
    def constants(self) -> Iterator[VarOrTerm]:
        """The constants that must be terms of the store: of patterns, graphs, VALUES and templates."""
        for step in self.steps:
            node = step.node
            if isinstance(node, Basic | algebra.Construct):
                triples = node.patterns if isinstance(node, Basic) else node.template
                yield from (
                    term for triple in triples for term in triple.terms if not isinstance(term, Variable)
                )
            if isinstance(node, Basic) and not isinstance(node.graph, Variable | algebra.Classified | None):
                yield node.graph
            if isinstance(node, algebra.Values):
                yield from (term for row in node.rows for term in row if term is not None)
        yield from self.query.preset.values()


@depth_limited()
def make_plan(query: ParsedQuery, algorithm: Algorithm = "auto") -> Plan:
    """Plan a query; a forced algorithm applies to each of its basic graph patterns."""
    order = (name for condition in query.order for name in condition.expression.variables)
    planner = _Planner(query.root, algorithm, frozenset((*query.names, *order)), query.iris)
    last = planner.steps[-1].columns
    places = {column.name: place for place, column in enumerate(last) if column.distinguished}
    parameters = tuple(query.parameters)
    # a projected bound variable is its term
    shown = {name: variable for name, variable in query.bound.items() if name in query.names}
    places |= {name: last.index(variable) for name, variable in shown.items()}
    return Plan(
        query,
        tuple(planner.steps),
        tuple(places.get(name) for name in query.names),
        parameters,
        tuple(last.index(parameter) for parameter in parameters),
        tuple((name, parameters.index(v)) for name, v in query.bound.items() if v in parameters),
        algorithm,
    )


class _Planner:
    """Plans every operator with only the columns that some operator above reads."""

    def __init__(
        self,
        root: Node,
        algorithm: Algorithm,
        shown: frozenset[str] = frozenset(),
        iris: frozenset[Variable] = frozenset(),
    ) -> None:
        self.steps: list[Step] = []
        self._iris = iris
        self._shown = shown
        self._algorithm = algorithm
        self._index: dict[Node, int] = {}
        self._nodes = nodes = algebra.topological(root)
        self._uses = Counter(below for node in nodes for below in node.inputs)
        self._wanted: dict[Node, frozenset[Variable]] = dict.fromkeys(nodes, frozenset())
        # outputs before inputs: the columns that a node reads depend on those wanted from it
        self._wanted[root] = frozenset(root.columns)
        for node in reversed(nodes):
            for below, needed in zip(node.inputs, node.needs(self._wanted[node]), strict=True):
                self._wanted[below] |= needed
        for node in nodes:
            self._index[node] = self._plan(node)
        if (
            self._index[root] != len(self.steps) - 1
        ):  # other steps read the root too, and the answer must be the last step
            self._index[root] = self._project(self._index[root], self.steps[self._index[root]].columns)

    def _plan(self, node: Node) -> int:
        wanted = self._wanted[node]
        if isinstance(node, Basic):
            return self._basic(node, wanted)
        if isinstance(node, algebra.Project) and not node.renamed:
            return self._hiding(node)
        if isinstance(node, algebra.Extend):
            # an expression that fails drops no row, so one whose value is not read can be dropped
            if node.variable not in wanted:
                return self._index[node.input]
            # a copy of a column leaves rows as they were
            if node.copied is not None:
                renamed = ((node.variable, node.copied),)
                copy = algebra.Project(node.input, node.input.columns, renamed)
                return self._add(Step(copy, (self._index[node.input],), self._kept(node.columns, wanted)))
        # a mark drops no row either
        if isinstance(node, algebra.Clocked) and node.mark is not None and node.mark not in wanted:
            return self._index[node.input]
        if isinstance(node, algebra.Distinct):
            return self._distinct(node)
        if isinstance(node, algebra.Slice):
            # rows of equal sort values are ordered by all of their columns, so there may be no others
            inputs = [self._holding(node.input)]
        elif isinstance(node, algebra.Closure):
            # the operator knows its columns by their places
            inputs = [self._exactly(node.edges, (*node.context, node.source, node.target))]
            if node.seeds is not None:
                inputs.append(self._exactly(node.seeds, (*node.context, node.start)))
        elif isinstance(node, algebra.Group):
            inputs = [self._index[node.input]]
            # COUNT(DISTINCT *) compares whole rows, which an unread column would make different
            is_whole = any(a.distinct and a.expression is None for a in node.aggregates)
            # and a column that an OPTIONAL without a match would bind does not exist yet
            if is_whole or not set(node.keys).issubset(self.steps[inputs[0]].columns):
                inputs = [self._exactly(node.input, self._kept(node.input.columns, self._wanted[node.input]))]
            if node.seeds is not None:
                inputs.append(self._exactly(node.seeds, node.keys))
        else:
            inputs = [self._index[below] for below in node.inputs]
        return self._add(Step(node, tuple(inputs), self._columns(node, inputs)))

    def _columns(self, node: Node, inputs: list[int]) -> Columns:
        """Choose the columns of a step: those that are wanted, or those that the operator passes through."""
        if isinstance(node, algebra.Filter | algebra.Minus | algebra.Slice):
            return self.steps[inputs[0]].columns
        if isinstance(node, algebra.Exists | algebra.Clocked):
            return (*self.steps[inputs[0]].columns, *([node.mark] if node.mark else ()))
        if isinstance(node, algebra.Extend):
            return (*self.steps[inputs[0]].columns, node.variable)
        if isinstance(
            node, algebra.Values | algebra.Parameters | algebra.Group | algebra.Closure | algebra.Construct
        ):
            return node.columns
        wanted = self._wanted[node]
        # its condition is tested on the merged row
        if isinstance(node, algebra.LeftJoin):
            wanted |= algebra.reads(node.condition, node.columns)
        return self._kept(node.columns, wanted)

    def _kept(self, columns: Columns, wanted: frozenset[Variable]) -> Columns:
        return tuple(column for column in columns if column in wanted)

    def _basic(self, node: Basic, wanted: frozenset[Variable], *, distinct: bool = False) -> int:
        basic, same, above = with_parameters(node, self._iris)
        wanted = wanted.union(*(algebra.reads(condition, node.columns) for condition in above))
        copies = tuple((v, parameter) for v, parameter in same if v in wanted)
        wanted = wanted.union(parameter for _, parameter in copies)
        plan = plan_basic(basic, wanted, self._algorithm, distinct=distinct)
        columns = tuple(v for segment in plan.segments for v in segment.projection)
        index = self._add(Step(node, (), columns, plan))
        if copies:
            copy = algebra.Project(node, columns, copies)
            columns = copy.columns
            index = self._add(Step(copy, (index,), columns))
        for condition in (*plan.residual, *above):
            index = self._add(Step(algebra.Filter(node, condition), (index,), columns))
        return index

    def _distinct(self, node: algebra.Distinct) -> int:
        """Let a pattern that only DISTINCT reads count its own rows, if it needs to."""
        columns = node.input.columns
        index = self._holding(node.input)
        step = self.steps[index]
        below = node.input
        uses = [self._uses[below]]
        while isinstance(below, algebra.Project):
            below = below.input
            uses.append(self._uses[below])
        # another reader may need each row as often as it is found; and only the last step can be removed
        if step.basic is None or step.node is not below or max(uses) > 1 or index != len(self.steps) - 1:
            return self._add(Step(node, (index,), step.columns))
        del self.steps[-1]
        return self._basic(step.node, frozenset(columns), distinct=True)  # type: ignore[arg-type]  # it has a plan

    def _hiding(self, node: algebra.Project) -> int:
        """Remove columns only if a step above could mistake one for a variable of the same name.

        A projection that only drops columns needs no operator: later steps ignore columns that they do not
        read.
        """
        index = self._index[node.input]
        columns = node.columns
        hidden = {v.name for v in self.steps[index].columns if v not in columns}
        if not hidden:
            return index
        above: set[Node] = {node}
        seen = set(self._shown)
        for other in self._nodes[self._nodes.index(node) + 1 :]:
            if not above.isdisjoint(other.inputs):
                above.add(other)
                seen.update(v.name for below in other.inputs for v in below.columns)
                # expressions find columns by name: one above would read a hidden ?x instead of its own
                seen.update(name for expression in other.expressions for name in expression.variables)
        if hidden.isdisjoint(seen):
            return index
        return self._project(index, self._kept(self.steps[index].columns, frozenset(columns)))

    def _holding(self, node: Node) -> int:
        """Return the number of a step with exactly the columns of a node, in any order."""
        index = self._index[node]
        if set(self.steps[index].columns) == set(node.columns):
            return index
        return self._project(index, node.columns)

    def _exactly(self, node: Node, columns: Columns) -> int:
        """Return the number of a step with exactly these columns, in this order."""
        index = self._index[node]
        return index if self.steps[index].columns == columns else self._project(index, columns)

    def _project(self, index: int, columns: Columns) -> int:
        return self._add(Step(algebra.Project(self.steps[index].node, columns), (index,), columns))

    def _add(self, step: Step) -> int:
        self.steps.append(step)
        return len(self.steps) - 1
