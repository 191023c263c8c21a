"""The operators above the patterns as stages: which rows meet where, and when.

An operator that compares rows is the head of a stage: its rows meet in the bucket of the compared values. An
operator on single rows runs on the way to the next stage. UNION is one of these: two ways into one stage.

Example: in `{ ?t :line ?l OPTIONAL { ?t :delay ?m } } GROUP BY ?l` the matches of both patterns go to the
bucket of ?t for OPTIONAL. The rows of OPTIONAL go to the bucket of ?l for the group.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from rdflive.query import planning
from rdflive.query.planning import Columns, Node, Plan, Step, Variable

__all__ = ["Arm", "Constants", "Made", "PatternRows", "Side", "Stage", "StageOperation", "plan_stages"]

SINGLE: Final = (planning.Filter, planning.Extend, planning.Project, planning.Union)
"""The operators on single rows."""


@dataclass(frozen=True, slots=True)
class StageOperation:
    """One operator, with the columns of its rows and of its input."""

    node: Node
    inputs: Columns
    columns: Columns

    @property
    def sources(self) -> tuple[int | None, ...]:
        """For an operator on single rows: per column, the position of the input column that it copies; None
        for a new or unbound column.
        """
        if isinstance(self.node, planning.Project):
            return tuple(self._place(self.node.source(column)) for column in self.columns)
        return tuple(map(self._place, self.columns))

    def _place(self, column: Variable | None) -> int | None:
        return self.inputs.index(column) if column is not None and column in self.inputs else None


@dataclass(frozen=True, slots=True)
class PatternRows:
    """Rows of a basic graph pattern of the query, by its number."""

    number: int


@dataclass(frozen=True, slots=True)
class Made:
    """Rows of another stage of the query, by its number."""

    stage: int


@dataclass(frozen=True, slots=True)
class Constants:
    """Rows that exist from the first micro-batch on."""

    node: planning.Values


Origin: TypeAlias = PatternRows | Made | Constants


@dataclass(frozen=True, slots=True)
class Arm:
    """One way of rows to a stage."""

    origin: Origin
    columns: Columns
    """The columns at the origin."""
    operations: tuple[StageOperation, ...] = ()
    """The operations on the way. Rows of a pattern are summed first, so theirs run where the rows arrive."""

    @property
    def behind(self) -> Columns:
        """The columns after the operations."""
        return self.operations[-1].columns if self.operations else self.columns

    def source(self, place: int) -> int | None:
        """Return the position at the origin that a column copies; None for a new or unbound column.

        A column of the same name may be a different one, because a subquery hides its own variables.
        """
        found: int | None = place
        for operation in reversed(self.operations):
            found = None if found is None else operation.sources[found]
        return found

    def is_unbound(self, place: int) -> bool:
        """True if a column is unbound in all rows."""
        for operation in reversed(self.operations):
            source = operation.sources[place]
            if source is None:
                return not (isinstance(operation.node, planning.Extend) and place == len(operation.inputs))
            place = source
        return False


@dataclass(frozen=True, slots=True)
class Side:
    """One input of a stage."""

    columns: Columns
    key: tuple[int, ...]
    """The positions of the columns that determine the bucket; without any, all rows meet in one."""
    arms: tuple[Arm, ...]


@dataclass(frozen=True, slots=True)
class Stage:
    """The work of one task on all rows that agree in a key: sum them, then run the head."""

    round: int
    """The round in which it runs; rows that arrive earlier wait for it."""
    sides: tuple[Side, ...]
    head: StageOperation | None
    """The operator that compares rows; None if they are only summed."""

    @property
    def columns(self) -> Columns:
        """The columns of its rows."""
        return self.sides[0].columns if self.head is None else self.head.columns

    @property
    def is_alone(self) -> bool:
        """True if all rows arrive by one way, so that any hash can determine their bucket."""
        return len(self.sides) == 1 == len(self.sides[0].arms)


@dataclass
class _Stages:
    """The stages so far, and the ways that lead to the rows of each step."""

    plan: Plan
    made: list[Stage] = field(default_factory=list)
    ways: list[list[Arm]] = field(default_factory=list)
    leaves: int = 0

    def take(self, step: Step) -> None:
        """Add one step, after those that feed it."""
        node = step.node
        if step.basic is not None:
            way = [Arm(PatternRows(self.leaves), step.columns)]
            self.leaves += 1
            # in one process the pattern itself makes its rows distinct, see `engine.leaf`
            if step.basic.distinct:
                way = self.meet(planning.Distinct(node), [way], [range(len(step.columns))], step.columns)
        elif isinstance(node, planning.Values):
            way = [Arm(Constants(node), step.columns)]
        elif isinstance(node, SINGLE):
            way = [
                replace(arm, operations=(*arm.operations, StageOperation(node, arm.behind, step.columns)))
                for number in step.inputs
                for arm in self.ways[number]
            ]
        else:
            inputs = [self.plan.steps[number].columns for number in step.inputs]
            ways = [self.ways[number] for number in step.inputs]
            way = self.meet(node, ways, keys_of(node, inputs), step.columns)
        self.ways.append(way)

    def meet(
        self, node: Node | None, ways: Sequence[list[Arm]], keys: Sequence[Iterable[int]], columns: Columns
    ) -> list[Arm]:
        """Add a stage in which rows meet at an operator, or only each other; return the way of its rows."""
        sides = [self._side(way, tuple(key)) for way, key in zip(ways, keys, strict=True)]
        head = None if node is None else StageOperation(node, sides[0].columns, columns)
        begun = (self._after(arm, side.key) for side in sides for arm in side.arms)
        self.made.append(Stage(max(begun, default=0), tuple(sides), head))
        return [Arm(Made(len(self.made) - 1), columns)]

    def _after(self, arm: Arm, key: tuple[int, ...]) -> int:
        """Return the round in which rows are available."""
        if not isinstance(arm.origin, Made):
            return 0
        before = self.made[arm.origin.stage]
        met = [before.sides[0].columns[place] for place in before.sides[0].key]
        sources = [arm.source(place) for place in key]
        # rows that met by the same columns stay in their bucket
        stays = [before.columns[place] for place in sources if place is not None] == met
        is_there = None not in sources and not before.is_alone
        return before.round if stays and is_there else before.round + 1

    def _side(self, way: list[Arm], key: tuple[int, ...]) -> Side:
        return Side(way[0].behind, key, tuple(self._sent(arm, key) for arm in way))

    def _sent(self, arm: Arm, key: tuple[int, ...]) -> Arm:
        """Add a stage for the matches of a pattern if compared columns are computed from them: they must
        have met before.
        """
        is_there = all(arm.source(place) is not None or arm.is_unbound(place) for place in key)
        if not isinstance(arm.origin, PatternRows) or is_there:
            return arm
        copied = dict.fromkeys(arm.source(place) for place in range(len(arm.behind)))
        places = [place for place in copied if place is not None] or range(len(arm.columns))
        (met,) = self.meet(None, [[Arm(arm.origin, arm.columns)]], [places], arm.columns)
        return replace(arm, origin=met.origin)


def plan_stages(plan: Plan) -> tuple[tuple[Stage, ...], tuple[StageOperation, ...]]:
    """Return the stages of a plan, inputs first, and operations that turn rows of the last into solutions."""
    stages = _Stages(plan)
    for step in plan.steps:
        stages.take(step)
    last = stages.ways[-1]
    # in the order of the rows, since the state does not depend on the order of display
    shown = sorted({place for place in plan.places if place is not None})
    if len(last) == 1 and isinstance(last[0].origin, Made):
        (arm,) = last
        met = stages.made[last[0].origin.stage]
        copied = {arm.source(place) for place in shown}
        # then equal solutions come from one bucket
        if _met(met) <= copied:
            return tuple(stages.made), arm.operations
    stages.meet(None, [last], [shown], last[0].behind)
    return tuple(stages.made), ()


def _met(stage: Stage) -> set[int]:
    """Return the positions, in a stage's rows, of the columns by which they have met."""
    key = [stage.sides[0].columns[place] for place in stage.sides[0].key]
    found = {stage.columns.index(column) for column in key if column in stage.columns}
    # -1: a column that no longer exists
    return found | ({-1} if len(found) < len(set(key)) else set())


def keys_of(node: Node, inputs: Sequence[Columns]) -> list[list[int]]:
    """Return, per input of an operator, the positions of the compared columns."""
    if isinstance(node, planning.Distinct | planning.Construct):
        return [list(range(len(inputs[0])))]
    if isinstance(node, planning.Group):
        return [[columns.index(column) for column in node.keys] for columns in inputs]
    if isinstance(node, planning.Slice):
        return [[inputs[0].index(column) for column in node.context]]
    return [[columns.index(column) for column in exact(node, inputs)] for columns in inputs]


def exact(node: Any, inputs: Sequence[Columns]) -> list[Variable]:
    """Return the columns of both inputs that are compared exactly: bound in every row, or of the context."""
    return [v for v in node.keys if all(v in columns for columns in inputs)]
