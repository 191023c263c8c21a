"""The whole plan of a query on Spark: matching its pattern, then stages of operators with shuffles
between.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, TypeAlias

from rdflib import RDF

from rdflive.entail.reasoning import check_entailment
from rdflive.errors import UnsupportedQueryError
from rdflive.query import planning
from rdflive.query.planning import Columns, Node, Plan, Step, Variable, make_plan, parse_query, read_query
from rdflive.syntax.tokens import Token, tokenize
from rdflive_stores.spark.dataflow.plan import MatchPlan, Pattern, combine, plan_matching, whole_graphs

__all__ = [
    "LABEL",
    "TYPE",
    "Given",
    "JointPlan",
    "Operation",
    "QueryPlan",
    "Stage",
    "plan_queries",
    "plan_query",
]

Given: TypeAlias = "str | os.PathLike[str]"
"""The text of a query, or its file."""
TYPE: Final = f"<{RDF.type}>"
"""The predicate that is salted by itself: few classes have many instances."""
LABEL: Final = "query"
"""The column that tells the solutions of several queries apart."""

_OPERATORS: Final = (
    planning.Basic,
    planning.Filter,
    planning.Extend,
    planning.Project,
    planning.Distinct,
    planning.Group,
)


_PATHS: Final = ("*", "+", "|", "?")
_OPENINGS: Final[Mapping[type[Node], Sequence[str]]] = {
    planning.Closure: _PATHS,
    planning.Exists: ("EXISTS",),
    planning.Join: ("GRAPH", "SELECT", "BIND", "FROM", *_PATHS),
    planning.LeftJoin: ("OPTIONAL",),
    planning.Minus: ("MINUS",),
    planning.Slice: ("LIMIT", "OFFSET"),
    planning.Union: ("UNION", *_PATHS),
    planning.Values: ("VALUES", "BIND"),
}
"""The tokens that an operator may come from, the most likely first."""
_NAMES: Final = {
    "BIND": "this use of BIND",
    "FROM": "FROM with several graphs",
    "GRAPH": "this use of GRAPH",
    "ORDER": "ORDER BY",
    "SELECT": "a subquery beside other patterns",
    "{": "a query without triple patterns",
    **{mark: f"the path operator {mark}" for mark in _PATHS},
}
_IN_ONE: Final = "subscribe to it in one process, with rdflive.subscribe"


@dataclass(frozen=True, slots=True)
class Operation:
    """One operator over rows: Filter, Extend, Project, or as the first of a stage Distinct or Group."""

    node: Node
    inputs: Columns
    columns: Columns

    @property
    def sources(self) -> tuple[int | None, ...]:
        """Per column, the position of the input column that it copies; None for a new one."""
        node = self.node
        if isinstance(node, planning.Project):
            return tuple(self._place(node.source(column)) for column in self.columns)
        copies = node.keys if isinstance(node, planning.Group) else self.inputs
        return (*map(self._place, copies), *[None] * (len(self.columns) - len(copies)))

    def _place(self, column: Variable | None) -> int | None:
        return self.inputs.index(column) if column is not None and column in self.inputs else None


@dataclass(frozen=True, slots=True)
class Stage:
    """What one task does with all rows that agree in a key: nets them, then runs its operations in order."""

    inputs: Columns
    key: tuple[int, ...]
    """The positions of the input columns that decide the bucket; if there are none, all rows meet in one."""
    operations: tuple[Operation, ...]

    @property
    def columns(self) -> Columns:
        """The columns of its rows."""
        return self.operations[-1].columns if self.operations else self.inputs


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """How a query is evaluated: matching, then one stage or more."""

    plan: Plan
    """The plan of the engine for one process, from which this one is made."""
    matching: MatchPlan
    stages: tuple[Stage, ...]
    prefixes: Mapping[str, str]
    """The prefixes that the text of the query had besides its own."""

    @property
    def is_distinct(self) -> bool:
        """Whether it is SELECT DISTINCT."""
        operations = [operation for stage in self.stages for operation in stage.operations]
        return bool(operations) and isinstance(operations[-1].node, planning.Distinct)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables of the solutions."""
        return self.plan.query.names

    @property
    def places(self) -> tuple[int | None, ...]:
        """Per variable of the solutions, its position in the rows of the last stage; None if it is
        never bound.
        """
        return self.plan.places


@dataclass(frozen=True, slots=True)
class JointPlan:
    """How one query, or several over the same changes, are evaluated together.

    They share the live quads, and the arrangements of patterns that are equal. The stages of each end with
    the last stage of all.
    """

    queries: tuple[QueryPlan, ...]
    labels: tuple[str, ...]
    """The names of the queries, which their solutions carry; none for a single query."""
    matching: MatchPlan
    salted: tuple[str, ...]
    """The predicates of which few objects have many subjects."""
    entailment: str | None = None
    """By what the graphs entail, if the queries are answered over what they do."""

    @property
    def kept(self) -> tuple[Pattern, ...]:
        """The patterns of the quads that are kept: with entailment any quad may entail one that is wanted."""
        patterns = self.matching.patterns
        return patterns if self.entailment is None else whole_graphs(patterns)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables of all solutions."""
        return tuple(dict.fromkeys(name for query in self.queries for name in query.names))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of solutions, in front of the weight."""
        return (LABEL, *self.names) if self.labels else self.names

    @property
    def stages(self) -> int:
        """The number of stages behind the matching."""
        return max(len(query.stages) for query in self.queries)

    def first_stage(self, query: int) -> int:
        """Tell at which stage a query begins, which has fewer than another one."""
        return self.stages - len(self.queries[query].stages)


def plan_queries(
    queries: Given | Mapping[str, Given],
    prefixes: Mapping[str, Any] | None = None,
    salted: Iterable[str] = (TYPE,),
    entailment: str | None = None,
) -> JointPlan:
    """Plan a query, a text or a file, or several by their names; `salted` as in `plan_matching`.

    Raises what `plan_query` does, with the name of the file, and `ValueError` for none; with `entailment`
    also what `check_entailment` does.
    """
    named = queries if isinstance(queries, Mapping) else {"": queries}
    if not named:
        raise ValueError("there is no query to subscribe to")
    plans = []
    for query in named.values():
        given = read_query(query)
        with given.naming():
            plans.append(plan_query(given.text, prefixes, salted))
    check_entailment(entailment, [plan.plan for plan in plans])
    labels = tuple(named) if named is queries else ()
    matching = combine([plan.matching for plan in plans])
    return JointPlan(tuple(plans), labels, matching, tuple(salted), entailment)


def plan_query(
    text: str, prefixes: Mapping[str, Any] | None = None, salted: Iterable[str] = (TYPE,)
) -> QueryPlan:
    """Plan a SELECT query of one basic graph pattern with FILTER, BIND, DISTINCT and aggregates.

    Raises `QuerySyntaxError`, and `UnsupportedQueryError` for queries that need one process.
    """
    plan = make_plan(parse_query(text, init_ns=prefixes or {}))
    leaf, *rest = _chain(plan)
    operations = [Operation(step.node, plan.steps[step.inputs[0]].columns, step.columns) for step in rest]
    basic = leaf.basic
    if basic is None:
        raise AssertionError("a chain begins with a basic graph pattern")
    if basic.distinct:
        # in one process the pattern itself makes its rows distinct, see `engine.leaf`
        operations.insert(0, Operation(planning.Distinct(leaf.node), leaf.columns, leaf.columns))
    shown = [place for place in plan.places if place is not None]
    stages = tuple(_stages(leaf.columns, operations, shown))
    given = {name: str(iri) for name, iri in (prefixes or {}).items()}
    return QueryPlan(plan, plan_matching(basic, stages[0].key, tuple(salted)), stages, given)


def _chain(plan: Plan) -> list[Step]:
    """Give the steps of a plan if each reads the one before it; otherwise refuse the query."""
    query = plan.query
    tokens = list(tokenize(query.text))
    if query.form != "SELECT":
        raise _refused((query.form,), tokens, "subscribe to a SELECT query and read its solutions")
    if query.order:
        raise _refused(
            ("ORDER",), tokens, "sort the solutions where they are shown: a stream of changes has no order"
        )
    steps = [step for step in plan.steps if not _is_unit(step)]
    for step in steps:
        if not isinstance(step.node, _OPERATORS):
            raise _refused(_OPENINGS.get(type(step.node), ()), tokens)
    leaves = sum(step.basic is not None for step in steps)
    if leaves != 1:
        raise _refused(_OPENINGS[planning.Join] if leaves else ("{",), tokens)
    return steps


def _is_unit(step: Step) -> bool:
    """Recognise the seed of the one group without GROUP BY."""
    return isinstance(step.node, planning.Values) and not step.node.columns


def _refused(
    openings: Sequence[str], tokens: Sequence[Token], advice: str = _IN_ONE
) -> UnsupportedQueryError:
    """Make the error for a construct that begins with one of these tokens, the most likely first."""
    begins = [token for opening in openings for token in _occurrences(opening, tokens)]
    place = begins[0] if begins else Token("", "", 0, 0, 0)
    opening = place.text.upper()
    construct = _NAMES.get(opening, opening or "this pattern")
    where = f" (line {place.line}, column {place.column})" if begins else ""
    return UnsupportedQueryError(
        f"{construct}{where} cannot be maintained on Spark, which takes one basic graph pattern with FILTER, "
        f"BIND, DISTINCT and aggregates; {advice}",
        construct=construct,
        line=place.line,
        column=place.column,
    )


def _occurrences(opening: str, tokens: Sequence[Token]) -> Iterator[Token]:
    """Find a word, an operator of paths (which follows a path), or the SELECT of a subquery."""
    for before, token in pairwise([Token("", "", 0, 0, 0), *tokens]):
        follows_path = before.kind in ("iri", "prefixed") or before.text in ("a", ")")
        fits = follows_path if opening in _PATHS else opening != "SELECT" or before.text == "{"
        if fits and token.text.upper() == opening:
            yield token


def _stages(columns: Columns, operations: Sequence[Operation], shown: Sequence[int]) -> Iterator[Stage]:
    """Cut the operations before each Distinct and Group, and let equal solutions meet at the end.

    `shown` are the positions of the last columns that solutions have.
    """
    cuts = [i for i, operation in enumerate(operations) if _key(operation) is not None]
    # the first stage takes the matches, whatever the first operation is
    if not cuts or cuts[0]:
        cuts.insert(0, 0)
    for begin, end in zip(cuts, [*cuts[1:], len(operations)], strict=True):
        part = tuple(operations[begin:end])
        inputs = part[0].inputs if part else columns
        origins = _origins(inputs, part)
        wanted = shown if end == len(operations) else range(len(origins))
        copied = tuple(dict.fromkeys(place for i in wanted if (place := origins[i]) is not None))
        compared = _key(part[0]) if part else None
        # If nothing is compared, which is possible in the first stage only, equal solutions must meet.
        key = (copied or tuple(range(len(inputs)))) if compared is None else compared
        stage = Stage(inputs, key, part)
        yield stage
    # Rows were brought together by more than what is shown, so equal solutions may be in several buckets.
    if not set(key).issubset(copied):
        yield Stage(stage.columns, tuple(shown), ())


def _origins(inputs: Columns, operations: Sequence[Operation]) -> list[int | None]:
    """Give, per column of the last rows, the position of the input column that it copies.

    A column of the same name may be a different one, because a subquery hides its own variables.
    """
    origins: list[int | None] = list(range(len(inputs)))
    for operation in operations:
        origins = [None if place is None else origins[place] for place in operation.sources]
    return origins


def _key(operation: Operation) -> tuple[int, ...] | None:
    """Give the positions of the columns by which an operator compares rows; None if it looks at
    single rows.
    """
    if isinstance(operation.node, planning.Distinct):
        return tuple(range(len(operation.inputs)))
    if isinstance(operation.node, planning.Group):
        return tuple(operation.inputs.index(column) for column in operation.node.keys)
    return None
