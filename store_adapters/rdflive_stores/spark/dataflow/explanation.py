"""A description in words of a query's plan on Spark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from rdflive import Explanation
from rdflive.query import planning
from rdflive_stores.spark.dataflow.plan import DEFAULT_GRAPH, Arrangement, MatchPlan, Pattern, Visit
from rdflive_stores.spark.dataflow.query_plan import JointPlan
from rdflive_stores.spark.dataflow.staging import Arm, Constants, PatternRows, Side, Stage

__all__ = ["explain", "show_pattern"]


def explain(plan: JointPlan, partitions: int) -> str:
    """Return the plan of each query, and a description of how Spark runs them."""
    lines = ["the plan, with the state and the cost of its operators in one process:"]
    for label, query in zip(plan.labels or ("",), plan.queries, strict=True):
        # deltas on Spark have no order; a slice has its own
        shown = replace(query.plan, query=replace(query.plan.query, order=()))
        lines += [*([f"{label}:"] if label else []), str(Explanation(shown)), ""]
    return "\n".join([*lines, *_lines(plan, partitions)])


def _lines(plan: JointPlan, partitions: int) -> Iterator[str]:
    matching = plan.matching
    shuffles = 1 + (plan.entailment is not None) + matching.rounds + plan.stages
    yield f"on Spark: {shuffles} shuffles per micro-batch, state in {partitions} partitions"
    if plan.window is not None:
        yield f"elements wait until the watermark has passed them, and make the changes of {plan.window}"
        yield "kept: every waiting or present element that a pattern matches, by quad and by time"
    if plan.rules is not None:
        yield "rules are a part of the patterns: each is the union of all that entail it"
    if any(query.is_anchored for query in plan.queries):
        yield "patterns far from a constant are joined with terms that it reaches, in stages that keep these"
    if plan.entailment is None:
        yield "changes are brought to set semantics by quad; kept: every quad that a pattern matches"
    else:
        yield f"changes are brought to set semantics by quad; then come their {plan.entailment} entailments"
        yield "kept: every quad of the graph, and in each partition the schema"
        yield "entailed triples are counted; kept: the number of quads that entail each"
    for number, pattern in enumerate(matching.patterns):
        visits = _visits(matching, matching.ways[number].visits) or "nothing: each match is a solution"
        yield f"a change of pattern {number + 1}, {show_pattern(matching, pattern)}, visits {visits}"
    for way in matching.ways[len(matching.patterns) :]:
        visits = _visits(matching, [visit for visit in way.visits if visit.joins])
        yield f"with many partners on the way, a change of pattern {way.seed + 1} visits {visits} instead"
    for shape in matching.arrangements:
        yield f"kept: the matches of {_shape(shape)}"
    for query, one in enumerate(plan.queries):
        name = f"{plan.labels[query]}, " if plan.labels else ""
        for number, stage in enumerate(one.stages):
            shown = number == len(one.stages) - 1
            where = f"{name}stage {number + 1}, shuffle {2 + matching.rounds + plan.round(query, number)}"
            yield f"{where}: {_stage(stage, shown=shown)}"


def show_pattern(matching: MatchPlan, pattern: Pattern) -> str:
    """Return a pattern as in the query, with its terms in N-Triples."""
    texts = [_name(matching, place) if isinstance(place, int) else place for place in pattern.places]
    return " ".join(text for text in texts if text != DEFAULT_GRAPH)


def _name(matching: MatchPlan, variable: int) -> str:
    name = matching.names[variable]
    return name if name.startswith("_:") else f"?{name}"


def _shape(shape: Arrangement) -> str:
    """Return the name of an arrangement, which does not depend on names of variables."""
    terms = ["_" if term.startswith("?") else term for term in shape.match[:4]]
    key = f"by {_place(shape, f'?{shape.key}')}" if shape.key >= 0 else "spread over all partitions"
    salted = ", in each partition of a salted star" if shape.salt == "*" else ""
    if shape.salt.startswith("?"):
        salted = f", salted by {_place(shape, shape.salt)}"
    return f"{' '.join(filter(None, terms))}, {key}{salted}"


def _place(shape: Arrangement, variable: str) -> str:
    return ("subject", "predicate", "object", "graph")[shape.match.index(variable)]


def _visits(matching: MatchPlan, visits: Sequence[Visit]) -> str:
    return "; then ".join(_visit(matching, visit) for visit in visits)


def _visit(matching: MatchPlan, visit: Visit) -> str:
    where = "every partition" if visit.centre is None else f"the star of {_name(matching, visit.centre)}"
    joins = ", ".join(
        f"{'joins' if join.is_open else 'tests'} pattern {join.pattern + 1}" for join in visit.joins
    )
    filters = "".join(f", FILTER({condition.text})" for condition in visit.conditions)
    return f"{where} ({joins}{filters})"


_KEPT: Final[Mapping[type[planning.Node], str]] = {
    planning.Construct: "the count of each solution",
    planning.Distinct: "the count of each row",
    planning.Exists: "both sides, and the number of partners of each left row",
    planning.Group: "a state per group",
    planning.Join: "both sides",
    planning.LeftJoin: "both sides, and the number of partners of each left row",
    planning.Minus: "both sides, and the number of partners of each left row",
    planning.Slice: "all rows, and the first ones apart",
}


def _stage(stage: Stage, *, shown: bool) -> str:
    does = "net" if stage.head is None else f"net → {type(stage.head.node).__name__}"
    kept = "nothing" if stage.head is None else _KEPT[type(stage.head.node)]
    sides = "; ".join(map(_side, stage.sides))
    return f"{sides}: {does}; kept: {kept}{', then shown' if shown else ''}"


def _side(side: Side) -> str:
    key = ", ".join(f"?{side.columns[place].name}" for place in side.key)
    rows = " and ".join(map(_arm, side.arms))
    return f"{rows} meet {f'by {key}' if key else 'in one partition'}"


def _arm(arm: Arm) -> str:
    origin = arm.origin
    if isinstance(origin, Constants):
        rows = "constants"
    else:
        rows = (
            f"pattern group {origin.number + 1}"
            if isinstance(origin, PatternRows)
            else f"stage {origin.stage + 1}"
        )
    steps = [type(operation.node).__name__ for operation in arm.operations]
    return " → ".join([rows, *steps])
