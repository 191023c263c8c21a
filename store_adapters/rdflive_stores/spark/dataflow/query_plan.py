"""The whole plan of a query on Spark: its pattern, then stages of operators between shuffles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rdflive.errors import UnsupportedQueryError
from rdflive.query import algebra
from rdflive.query.algebra import Columns, Node
from rdflive.query.parse import parse_query
from rdflive.query.plan import Plan, make_plan
from rdflive.query.plan import Step as PlanStep
from rdflive_stores.spark.dataflow.plan import MatchPlan, plan_matching

__all__ = ["Operation", "QueryPlan", "Stage", "plan_query"]

_OPERATORS: Final = (
    algebra.Basic,
    algebra.Filter,
    algebra.Extend,
    algebra.Project,
    algebra.Distinct,
    algebra.Group,
)


@dataclass(frozen=True, slots=True)
class Operation:
    """One operator over rows: Filter, Extend, Project, or, first of a stage, Distinct or Group."""

    node: Node
    inputs: Columns
    columns: Columns


@dataclass(frozen=True, slots=True)
class Stage:
    """What one task does to all rows that agree in a key: nets them, then runs its operations in order."""

    inputs: Columns
    key: tuple[int, ...]
    """The places of the input's columns that decide the bucket; without any all rows meet in one."""
    operations: tuple[Operation, ...]

    @property
    def columns(self) -> Columns:
        """The columns of its rows."""
        return self.operations[-1].columns if self.operations else self.inputs


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """How a query is evaluated: matching, then at least one stage."""

    plan: Plan
    """The plan of the single-machine engine, from which this one is made."""
    matching: MatchPlan
    stages: tuple[Stage, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The variables of the solutions."""
        return self.plan.query.names

    @property
    def places(self) -> tuple[int | None, ...]:
        """Per variable of the solutions its place in the rows of the last stage; None for one never bound."""
        return self.plan.places


def plan_query(text: str, prefixes: Mapping[str, Any] | None = None) -> QueryPlan:
    """Plan a SELECT query of one basic graph pattern with FILTER, BIND, DISTINCT and aggregates.

    Raises `QuerySyntaxError`, and `UnsupportedQueryError` for what one process must maintain.
    """
    plan = make_plan(parse_query(text, init_ns=prefixes or {}))
    leaf, *rest = _chain(plan)
    operations = [Operation(step.node, plan.steps[step.inputs[0]].columns, step.columns) for step in rest]
    basic = leaf.basic
    if basic is None:
        raise AssertionError("a chain begins with a basic graph pattern")
    if basic.distinct:
        operations.insert(0, Operation(algebra.Distinct(leaf.node), leaf.columns, leaf.columns))
    stages = tuple(_stages(leaf.columns, operations))
    return QueryPlan(plan, plan_matching(basic, stages[0].key), stages)


def _chain(plan: Plan) -> list[PlanStep]:
    """Give the steps of a plan, each of which reads the one before it, or refuse the query."""
    query = plan.query
    if query.form != "SELECT":
        raise _refused(query.form, "subscribe to a SELECT query")
    if query.order:
        raise _refused(
            "ORDER BY", "sort the solutions where they are shown: a stream of changes has no order"
        )
    steps = [step for step in plan.steps if not _is_unit(step)]
    for step in steps:
        if not isinstance(step.node, _OPERATORS):
            raise _refused(type(step.node).__name__, "subscribe in one process")
    leaves = sum(step.basic is not None for step in steps)
    if leaves != 1:
        raise _refused(f"{leaves or 'no'} basic graph patterns", "subscribe in one process")
    return steps


def _is_unit(step: PlanStep) -> bool:
    """Recognise the seed of the one group that is there without GROUP BY."""
    return isinstance(step.node, algebra.Values) and not step.node.columns


def _refused(construct: str, advice: str) -> UnsupportedQueryError:
    return UnsupportedQueryError(
        f"{construct} cannot be maintained on Spark, which takes one basic graph pattern with FILTER, BIND, "
        f"DISTINCT and aggregates; {advice}",
        construct=construct,
    )


def _stages(columns: Columns, operations: Sequence[Operation]) -> Iterator[Stage]:
    """Cut the operations in front of each Distinct and Group, and let equal rows meet at the end."""
    cuts = [i for i, operation in enumerate(operations) if _key(operation) is not None]
    if not cuts or cuts[0]:
        cuts.insert(0, 0)
    last = columns
    for begin, end in zip(cuts, [*cuts[1:], len(operations)], strict=True):
        part = tuple(operations[begin:end])
        inputs = part[0].inputs if part else columns
        key = _key(part[0]) if part else None
        if key is None:  # rows that are equal in the end, or at the next stage, are to meet
            output = part[-1].columns if part else inputs
            kept = tuple(place for place, column in enumerate(inputs) if column in output)
            key = kept or tuple(range(len(inputs)))
        stage = Stage(inputs, key, part)
        yield stage
        last = stage.columns
        decided = {inputs[place] for place in key}
    if not decided.issubset(last):
        yield Stage(last, tuple(range(len(last))), ())


def _key(operation: Operation) -> tuple[int, ...] | None:
    """Give the places of the columns that an operator compares rows by; None for one of single rows."""
    if isinstance(operation.node, algebra.Distinct):
        return tuple(range(len(operation.inputs)))
    if isinstance(operation.node, algebra.Group):
        return tuple(operation.inputs.index(column) for column in operation.node.keys)
    return None
