"""The complete plan of queries on Spark: matching of their patterns, then stages of operators."""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias

from rdflib import RDF

from rdflive.entail.reasoning import Program, Rules, check_entailment, program_of, with_rules
from rdflive.errors import UnsupportedQueryError
from rdflive.query import planning
from rdflive.query.planning import ParsedQuery, Plan, anchor, make_plan, parse_query, read_query, unroll
from rdflive.syntax.tokens import Token, tokenize
from rdflive_stores.spark.dataflow.event_time import EventWindow
from rdflive_stores.spark.dataflow.plan import (
    MatchPlan,
    Pattern,
    SolutionTarget,
    combine,
    plan_matching,
    whole_graphs,
)
from rdflive_stores.spark.dataflow.staging import (
    Arm,
    Constants,
    Made,
    PatternRows,
    Side,
    Stage,
    StageOperation,
    plan_stages,
)

__all__ = [
    "LABEL",
    "TYPE",
    "Given",
    "JointPlan",
    "Port",
    "QueryPlan",
    "plan_queries",
    "plan_query",
]

Given: TypeAlias = "str | os.PathLike[str]"
"""The text of a query, or its file."""
TYPE: Final = f"<{RDF.type}>"
"""The predicate that is salted by default: few classes have many instances."""
LABEL: Final = "query"
"""The column that distinguishes the solutions of several queries."""
_TRIPLE: Final = ("s", "p", "o")
"""The columns of CONSTRUCT, as changes have them."""
_PATHS: Final = ("*", "+", "?")
_MOST_STEPS: Final = 50
"""Plans with more steps are nested too deeply for Python's pickle."""
_ADVICE: Final = (
    "give their largest number, as path_steps=8, or subscribe in one process, with rdflive.subscribe"
)


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """The plan of a query: patterns to match, then stages, the last of which returns the solutions."""

    plan: Plan
    """The plan of the single-process engine, from which this one is made."""
    leaves: tuple[MatchPlan, ...]
    """The plans of its basic graph patterns."""
    stages: tuple[Stage, ...]
    closing: tuple[StageOperation, ...]
    """The operations on the rows of the last stage before they are shown."""
    prefixes: Mapping[str, str]
    """The prefixes that were given in addition to those in the text of the query."""
    path_steps: int | None
    """Largest number of steps of its `*` and `+` paths; None without such paths."""
    is_anchored: bool
    """True if patterns are joined with the terms that constants reach, which are kept as state."""

    @property
    def is_set(self) -> bool:
        """True if a solution occurs at most once: SELECT DISTINCT, CONSTRUCT and ASK."""
        head = self.stages[-1].head
        return head is not None and isinstance(head.node, planning.Distinct)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables of the solutions; `s`, `p` and `o` of CONSTRUCT, none of ASK."""
        return _TRIPLE if self.plan.query.form == "CONSTRUCT" else self.plan.query.names

    @property
    def places(self) -> tuple[int | None, ...]:
        """Per variable of the solutions, its position after the closing operations; None if never bound."""
        return self.plan.places


class Port(NamedTuple):
    """The destination of rows: one arm of one side of a stage of a query."""

    query: int
    stage: int
    side: int
    arm: int


@dataclass(frozen=True, slots=True)
class JointPlan:
    """The joint plan of one query, or of several over the same changes.

    They share the live quads, and the arrangements of equal patterns. The last stage of each query runs in
    the last round.
    """

    queries: tuple[QueryPlan, ...]
    labels: tuple[str, ...]
    """The names of the queries, which their solutions carry; empty for a single query."""
    matching: MatchPlan
    ports: tuple[Port, ...]
    """The destinations of rows between tasks, by number."""
    salted: tuple[str, ...]
    """The predicates with few objects that have many subjects."""
    parameters: str | None
    """The query whose solutions are parameters of all queries."""
    entailment: str | None
    """The entailment regime of the answers; None without entailment."""
    rules: str | None = None
    """The rules that are a part of the queries, in Notation3."""
    window: EventWindow | None = None
    """The window that turns a stream of elements into changes; None for a stream of changes."""

    @property
    def path_steps(self) -> int | None:
        """Largest number of steps of `*` and `+` paths; None if no query has such a path."""
        return max((query.path_steps for query in self.queries if query.path_steps), default=None)

    @property
    def kept(self) -> tuple[Pattern, ...]:
        """The patterns of the stored quads: with entailment any quad may entail a wanted one."""
        patterns = self.matching.patterns
        return patterns if self.entailment is None else whole_graphs(patterns)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables of all solutions."""
        return tuple(dict.fromkeys(name for query in self.queries for name in query.names))

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of solutions, before the weight."""
        return (LABEL, *self.names) if self.labels else self.names

    @property
    def stages(self) -> int:
        """Number of rounds of stages after the matching."""
        return 1 + max(query.stages[-1].round for query in self.queries)

    def round(self, query: int, stage: int) -> int:
        """Return the round in which a stage runs."""
        stages = self.queries[query].stages
        return self.stages - 1 if stage == len(stages) - 1 else stages[stage].round

    def arm(self, port: int) -> Arm:
        """Return the way that ends at a port."""
        query, stage, side, arm = self.ports[port]
        return self.queries[query].stages[stage].sides[side].arms[arm]

    def behind(self, query: int, stage: int) -> Iterator[tuple[int, Arm, Side]]:
        """Yield the destinations of a stage's rows."""
        for number, port in enumerate(self.ports):
            arm = self.arm(number)
            if port.query == query and arm.origin == Made(stage):
                yield number, arm, self.queries[query].stages[port.stage].sides[port.side]


def plan_queries(
    queries: Given | Mapping[str, Given],
    prefixes: Mapping[str, Any] | None = None,
    salted: Iterable[str] = (TYPE,),
    parameters: Given | None = None,
    entailment: str | None = None,
    rules: Rules | None = None,
    path_steps: int | None = None,
) -> JointPlan:
    """Plan a query (a text or a file), or several by name; `salted` as in `plan_matching`.

    `parameters` is a query whose variables are parameters of the others, which are answered for each of its
    rows. `path_steps` is the largest number of steps of `*` and `+` paths; without it they are refused.

    Raises the errors of `plan_query`, with the name of the file, and `ValueError` without a query. With
    `entailment` or `rules`, raises also the errors of `program_of` and `check_entailment`.
    """
    named = queries if isinstance(queries, Mapping) else {"": queries}
    if not named:
        raise ValueError("there is no query to subscribe to")
    if path_steps is not None and (type(path_steps) is not int or not 1 <= path_steps <= _MOST_STEPS):
        raise ValueError(f"path_steps must be a whole number from 1 to {_MOST_STEPS}, got {path_steps!r}")
    program = program_of(entailment, rules)
    rows = None
    if parameters is not None:
        given = read_query(parameters)
        with given.naming():
            rows = parse_query(given.text, init_ns=prefixes or {})
    plans = []
    for query in named.values():
        given = read_query(query)
        with given.naming():
            plans.append(plan_query(given.text, prefixes, salted, rows, program, path_steps))
    if entailment is not None or program is not None:
        check_entailment(plan.plan for plan in plans)
    labels = tuple(named) if named is queries else ()
    ports = tuple(_ports(plans))
    matching = combine([leaf for plan in plans for leaf in plan.leaves])
    shown = [replace(one, targets=tuple(_targets(plans, ports, n))) for n, one in enumerate(matching.shown)]
    matching = replace(matching, shown=tuple(shown))
    row_text = None if rows is None else rows.text
    written = None if program is None else program.n3
    plan = JointPlan(tuple(plans), labels, matching, ports, tuple(salted), row_text, entailment, written)
    try:
        pickle.dumps(plan)
    except RecursionError:
        raise UnsupportedQueryError(
            "the plan is nested too deeply to be sent to the executors: give fewer path_steps, or split the "
            "query",
            construct="nesting",
        ) from None  # its traceback would have a thousand lines
    return plan


def plan_query(
    text: str,
    prefixes: Mapping[str, Any] | None = None,
    salted: Iterable[str] = (TYPE,),
    parameters: ParsedQuery | None = None,
    program: Program | None = None,
    path_steps: int | None = None,
) -> QueryPlan:
    """Plan a query, optionally with another query's rows as parameters, with rules, and with bounded paths.

    Raises `QuerySyntaxError`, and `UnsupportedQueryError` for queries that need one process.
    """
    query = parse_query(text, init_ns=prefixes or {}, given=parameters)
    own = planning.users_functions(query.functions)
    if own:
        raise UnsupportedQueryError(
            f"<{own[0]}> cannot be called on Spark: it is registered in this process and not in the workers, "
            "and the state in a checkpoint would not change with it. Instead: compute its value before the "
            "triples are written",
            construct=f"<{own[0]}>",
        )
    if program is not None:
        query = with_rules(query, program)
    root = query.root if path_steps is None else unroll(query.root, path_steps)
    steps = None if root is query.root else path_steps
    # rows of parameters count as the constants that they represent
    anchored = anchor(root, tuple(salted), () if parameters is None else (parameters.root,))
    plan = make_plan(replace(query, root=anchored))
    if any(isinstance(step.node, planning.Closure) for step in plan.steps):
        raise _refused(_PATHS, tokenize(plan.query.text))
    templates = (step.node.template for step in plan.steps if isinstance(step.node, planning.Construct))
    if any(
        isinstance(term, planning.TriplePattern) for one in templates for triple in one for term in triple
    ):
        raise UnsupportedQueryError(
            "a triple term with variables in a template cannot be maintained on Spark, whose terms are those "
            "of RDF 1.1",
            construct="a triple term",
        )
    leaves = [plan_matching(step.basic, tuple(salted)) for step in plan.steps if step.basic is not None]
    stages, closing = plan_stages(plan)
    given = {name: str(iri) for name, iri in (prefixes or {}).items()}
    return QueryPlan(plan, tuple(leaves), stages, closing, given, steps, anchored is not root)


def _ports(plans: Sequence[QueryPlan]) -> Iterator[Port]:
    for query, plan in enumerate(plans):
        for number, stage in enumerate(plan.stages):
            for side, one in enumerate(stage.sides):
                for arm, way in enumerate(one.arms):
                    if not isinstance(way.origin, Constants):
                        yield Port(query, number, side, arm)


def _targets(plans: Sequence[QueryPlan], ports: Sequence[Port], leaf: int) -> Iterator[SolutionTarget]:
    """Yield the destinations of a pattern's matches; `leaf` counts those of all queries."""
    for number, port in enumerate(ports):
        stage = plans[port.query].stages[port.stage]
        side = stage.sides[port.side]
        arm = side.arms[port.arm]
        first = sum(len(plan.leaves) for plan in plans[: port.query])
        if isinstance(arm.origin, PatternRows) and arm.origin.number + first == leaf:
            sources = tuple(map(arm.source, side.key))
            # rows of other origins carry no hashes, and all must meet
            yield SolutionTarget(number, sources, stage.is_alone)


def _refused(openings: Sequence[str], tokens: Iterable[Token]) -> UnsupportedQueryError:
    """Return the error for a path operator that Spark cannot maintain."""
    tokens = list(tokens)
    place = next(
        (token for opening in openings for token in _operators(opening, tokens)), Token("", "", 0, 0, 0)
    )
    construct = f"the path operator {place.text}" if place.text else "a path of unbounded length"
    where = f" (line {place.line}, column {place.column})" if place.text else ""
    return UnsupportedQueryError(
        f"{construct}{where} cannot be maintained on Spark without path_steps=: each step of the path adds a "
        f"shuffle, and nothing bounds their number; {_ADVICE}",
        construct=construct,
        line=place.line,
        column=place.column,
    )


def _operators(opening: str, tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield the tokens of a path operator, which follows a path."""
    for before, token in pairwise([Token("", "", 0, 0, 0), *tokens]):
        follows_path = before.kind in ("iri", "prefixed") or before.text in ("a", ")")
        if follows_path and token.text == opening:
            yield token
