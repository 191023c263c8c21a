"""The whole plan of queries on Spark: matching their patterns, then stages of operators."""

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
"""The predicate that is salted by itself: few classes have many instances."""
LABEL: Final = "query"
"""The column that tells the solutions of several queries apart."""
_TRIPLE: Final = ("s", "p", "o")
"""The columns of CONSTRUCT, as changes have them."""
_PATHS: Final = ("*", "+", "?")
_MOST_STEPS: Final = 50
"""Plans of more are nested more deeply than Python pickles."""
_ADVICE: Final = (
    "say how many there are at most, as path_steps=8, or subscribe in one process, with rdflive.subscribe"
)


@dataclass(frozen=True, slots=True)
class QueryPlan:
    """How a query is evaluated: patterns to match, then stages, the last of which gives the solutions."""

    plan: Plan
    """The plan of the engine for one process, from which this one is made."""
    leaves: tuple[MatchPlan, ...]
    """Each of its basic graph patterns."""
    stages: tuple[Stage, ...]
    closing: tuple[StageOperation, ...]
    """What runs on the rows of the last stage before they are shown."""
    prefixes: Mapping[str, str]
    """The prefixes that the text of the query had besides its own."""
    path_steps: int | None
    """How many steps its paths of `*` and `+` may have; None where it has none."""
    is_anchored: bool
    """Whether patterns are joined with what constants reach, which is kept."""

    @property
    def is_set(self) -> bool:
        """Whether a solution is there once at most: SELECT DISTINCT, CONSTRUCT and ASK."""
        head = self.stages[-1].head
        return head is not None and isinstance(head.node, planning.Distinct)

    @property
    def names(self) -> tuple[str, ...]:
        """The variables of the solutions; `s`, `p` and `o` of CONSTRUCT, none of ASK."""
        return _TRIPLE if self.plan.query.form == "CONSTRUCT" else self.plan.query.names

    @property
    def places(self) -> tuple[int | None, ...]:
        """Per variable of the solutions, its position behind the closing operations; None if it is never
        bound.
        """
        return self.plan.places


class Port(NamedTuple):
    """Where rows arrive: one arm of one side of a stage of a query."""

    query: int
    stage: int
    side: int
    arm: int


@dataclass(frozen=True, slots=True)
class JointPlan:
    """How one query, or several over the same changes, are evaluated together.

    They share the live quads, and the arrangements of patterns that are equal. The last stage of each runs in
    the last round.
    """

    queries: tuple[QueryPlan, ...]
    labels: tuple[str, ...]
    """The names of the queries, which their solutions carry; none for a single query."""
    matching: MatchPlan
    ports: tuple[Port, ...]
    """The ways of rows between tasks, by their number."""
    salted: tuple[str, ...]
    """The predicates of which few objects have many subjects."""
    parameters: str | None
    """The query whose rows are parameters of all queries."""
    entailment: str | None
    """By what the graphs entail, if the queries are answered over what they do."""
    rules: str | None = None
    """The rules that are a part of the queries, in Notation3."""
    window: EventWindow | None = None
    """The window over a stream of elements, which makes the changes; None where there are changes."""

    @property
    def path_steps(self) -> int | None:
        """How many steps the paths of `*` and `+` may have; None where no query has one."""
        return max((query.path_steps for query in self.queries if query.path_steps), default=None)

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
        """The number of rounds of stages behind the matching."""
        return 1 + max(query.stages[-1].round for query in self.queries)

    def round(self, query: int, stage: int) -> int:
        """Tell in which round a stage runs."""
        stages = self.queries[query].stages
        return self.stages - 1 if stage == len(stages) - 1 else stages[stage].round

    def arm(self, port: int) -> Arm:
        """Give the way that ends at a port."""
        query, stage, side, arm = self.ports[port]
        return self.queries[query].stages[stage].sides[side].arms[arm]

    def behind(self, query: int, stage: int) -> Iterator[tuple[int, Arm, Side]]:
        """List where the rows of a stage go."""
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
    """Plan a query, a text or a file, or several by their names; `salted` as in `plan_matching`.

    `parameters` is a query whose variables are parameters of the others: these are answered for each of its
    rows. `path_steps` is how many steps the paths of `*` and `+` may have; without it they are refused.

    Raises what `plan_query` does, with the name of the file, and `ValueError` for none; with `entailment` or
    `rules` also what `program_of` and `check_entailment` do.
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
    asked = None if rows is None else rows.text
    written = None if program is None else program.n3
    plan = JointPlan(tuple(plans), labels, matching, ports, tuple(salted), asked, entailment, written)
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
    """Plan a query, perhaps with the rows of another one as parameters, with rules, and paths of some steps.

    Raises `QuerySyntaxError`, and `UnsupportedQueryError` for queries that need one process.
    """
    query = parse_query(text, init_ns=prefixes or {}, given=parameters)
    own = planning.users_functions(query.functions)
    if own:
        raise UnsupportedQueryError(
            f"<{own[0]}> cannot be called on Spark: it is registered in this process and not in the workers, "
            "and what a checkpoint has kept would not change with it. Instead: compute its value before the "
            "triples are written",
            construct=f"<{own[0]}>",
        )
    if program is not None:
        query = with_rules(query, program)
    root = query.root if path_steps is None else unroll(query.root, path_steps)
    steps = None if root is query.root else path_steps
    # rows of parameters are as the constants that they stand for
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
    """List where the matches of a pattern go; `leaf` counts those of all queries."""
    for number, port in enumerate(ports):
        stage = plans[port.query].stages[port.stage]
        side = stage.sides[port.side]
        arm = side.arms[port.arm]
        first = sum(len(plan.leaves) for plan in plans[: port.query])
        if isinstance(arm.origin, PatternRows) and arm.origin.number + first == leaf:
            sources = tuple(map(arm.source, side.key))
            # rows of other origins have no hashes with them, and all must meet
            yield SolutionTarget(number, sources, stage.is_alone)


def _refused(openings: Sequence[str], tokens: Iterable[Token]) -> UnsupportedQueryError:
    """Make the error for an operator of paths that is not maintained on Spark."""
    tokens = list(tokens)
    place = next(
        (token for opening in openings for token in _operators(opening, tokens)), Token("", "", 0, 0, 0)
    )
    construct = f"the path operator {place.text}" if place.text else "a path of unbounded length"
    where = f" (line {place.line}, column {place.column})" if place.text else ""
    return UnsupportedQueryError(
        f"{construct}{where} cannot be maintained on Spark without path_steps=: a step more of the path is "
        f"a shuffle more, and nothing bounds their number; {_ADVICE}",
        construct=construct,
        line=place.line,
        column=place.column,
    )


def _operators(opening: str, tokens: Sequence[Token]) -> Iterator[Token]:
    """Find an operator of paths, which follows a path."""
    for before, token in pairwise([Token("", "", 0, 0, 0), *tokens]):
        follows_path = before.kind in ("iri", "prefixed") or before.text in ("a", ")")
        if follows_path and token.text == opening:
            yield token
