"""What a state belongs to: the plan of a query, not its text, in a file beside it.

A query has a folder for each generation of its state, and a file that names the present one. A state that is
made of a snapshot or of another state, for another plan, other partitions, or merged, is a new generation:
nothing sees it until it is whole. No two generations have one name, also where the first attempt at one was
killed: what tasks of it may still write is in a folder that is never read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from secrets import token_hex
from typing import Any, Final

from rdflive.feeds.terms import write_term
from rdflive.query import planning
from rdflive.query.planning import Variable
from rdflive_stores.spark.dataflow.files import Folder
from rdflive_stores.spark.dataflow.plan import DEFAULT_GRAPH, Pattern, TermOrVariable
from rdflive_stores.spark.dataflow.query_plan import JointPlan
from rdflive_stores.spark.dataflow.staging import SINGLE, Arm, Constants, Stage, StageOperation
from rdflive_stores.spark.dataflow.state import StateError

__all__ = [
    "BEGIN_AGAIN",
    "FIRST",
    "FORMAT",
    "PLAN",
    "check",
    "check_format",
    "describe",
    "generation_of",
    "is_unmade",
    "known",
    "missing",
    "next_generation",
    "renewed",
    "succeed",
]

PLAN: Final = "plan.json"
"""The file that tells which plan and partitions a state belongs to."""
FORMAT: Final = 4
"""The version of how state is written, increased with each change; the states of groups are pickled."""
BEGIN_AGAIN: Final = "begin again with another checkpoint"
FIRST: Final = "0"
"""The generation that begins with the first micro-batch."""
_PRESENT: Final = "generation"
_PLACES: Final = ("subject", "predicate", "object", "graph")
_REBUILT_WITH: Final = {
    "rules": "other rules", "entailment": "another entailment", "parameters": "other parameters",
}  # fmt: skip
"""What is compared before the plan, which depends on it, and what `rebuild` keeps."""
_LONGEST: Final = 200
"""The most characters of a text that a message shows."""
_NOT_COMPARED: Final = ("query", "prefixes", "salted")
"""For people, and to plan the query again. By comments, spaces and names of prefixes texts may differ."""


def describe(plan: JointPlan, partitions: int) -> dict[str, Any]:
    """Describe what state depends on: two plans with one description can read each other's state."""
    matching = plan.matching
    conditions: list[set[str]] = [set() for _ in matching.shown]
    for way in matching.ways:
        conditions[matching.leaves[way.seed]].update(c.text for visit in way.visits for c in visit.conditions)
    stages = [[*map(_stage, query.stages), [*map(_operation, query.closing)]] for query in plan.queries]
    columns = [list(query.names) for query in plan.queries]
    texts = [query.plan.query.text for query in plan.queries]
    return {
        "format": FORMAT,
        "partitions": partitions,
        "rules": plan.rules,
        "entailment": plan.entailment,
        "parameters": plan.parameters,
        "path steps": plan.path_steps,
        "patterns": [[*map(str, p.places), *(c.text for c in p.filters)] for p in matching.patterns],
        "arrangements": [[*shape.match, shape.key, shape.salt] for shape in matching.arrangements],
        "conditions": [*map(sorted, conditions)],
        "stages": stages if plan.labels else stages[0],
        "columns": [*map(list, zip(plan.labels, columns, strict=True))] if plan.labels else columns[0],
        "variables": ["_" if name.startswith("_:") else name for name in matching.names],
        "pattern groups": list(matching.leaves),
        "query": dict(zip(plan.labels, texts, strict=True)) if plan.labels else texts[0],
        "prefixes": plan.queries[0].prefixes,
        "salted": plan.salted,
        "window": None if plan.window is None else plan.window.description,
    }


def check(folder: Folder, mine: Mapping[str, Any]) -> None:
    """Check that the state in a folder belongs to this plan; raises `StateError`, also if there is none."""
    theirs = known(folder)
    if theirs is None:
        raise StateError(
            f"the state of the query should be in {folder}, and is not: it was removed, its first "
            f"micro-batch was never read, or the checkpoint is that of another program; {BEGIN_AGAIN}"
        )
    check_format(folder, theirs)
    differing = [name for name in mine if name not in _NOT_COMPARED and theirs.get(name) != mine[name]]
    if differing:
        raise StateError(_differing(folder, mine, theirs, differing[0]))


def check_format(folder: Folder, theirs: Mapping[str, Any]) -> None:
    """Check that this version can read a state; raises `StateError`."""
    if theirs["format"] != FORMAT:
        raise StateError(
            f"the state in {folder} is of format {theirs['format']!r}, and this rdflive writes {FORMAT}: "
            f"use the version that made it, or {BEGIN_AGAIN}"
        )


def known(folder: Folder) -> dict[str, Any] | None:
    """Read the description of a state; None if there is none."""
    try:
        read = json.loads(folder.text(PLAN))
        if not isinstance(read, dict) or not {"format", "partitions", "query"} <= read.keys():
            raise ValueError("it does not say what the state belongs to")
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise StateError(f"{folder / PLAN} is damaged: {error}; {BEGIN_AGAIN}") from error
    return read


def generation_of(home: Folder) -> str:
    """Give the name of the present generation of a query's state."""
    try:
        return home.text(_PRESENT)
    except FileNotFoundError:
        return FIRST


def is_unmade(generation: str) -> bool:
    """Tell whether a generation begins empty, with the first micro-batch."""
    return generation.partition("-")[0] == FIRST


def next_generation(generation: str) -> str:
    """Give the name of the generation that is made of another."""
    return f"{int(generation.partition('-')[0]) + 1}-{token_hex(4)}"


def renewed() -> str:
    """Name a generation that begins empty, where an attempt at the first micro-batch has failed."""
    return f"{FIRST}-{token_hex(4)}"


def succeed(home: Folder, generation: str) -> None:
    """Make a new generation, which is whole, the present one, and remove the others."""
    home.write_text(_PRESENT, generation)
    for name in home.names():
        if name not in (_PRESENT, generation):
            (home / name).delete()


def missing(plan: JointPlan, held: Mapping[str, Any]) -> list[Pattern]:
    """List the patterns that match quads which a state may not hold."""
    patterns = [old[: len(_PLACES)] for old in held["patterns"]]
    if held.get("entailment") is not None:
        # the state has all of each graph
        patterns = [["0", "1", "2", graph] for *_, graph in patterns]
    return [new for new in plan.kept if not any(_covers(old, new) for old in patterns)]


def _covers(old: Sequence[str], new: Pattern) -> bool:
    """Tell whether a pattern, as `describe` writes it, matches all quads that another matches."""
    bound: dict[str, TermOrVariable] = {}
    for name, mine, theirs in zip(_PLACES, old, new.places, strict=True):
        if not mine.isdecimal():
            if mine != theirs:
                return False
        elif bound.setdefault(mine, theirs) != theirs or (name == "graph" and theirs == DEFAULT_GRAPH):
            return False
    return True


def _differing(folder: Folder, mine: Mapping[str, Any], theirs: Mapping[str, Any], name: str) -> str:
    if name == "partitions":
        return (
            f"the state in {folder} is in {theirs.get(name)!r} partitions, and this subscription has "
            f"{mine[name]!r}: take that again, or make it again with rdflive spark repartition"
        )
    if name == "window":
        return (
            f"the state in {folder} is that of another window: {theirs.get(name)!r}, and here "
            f"{mine[name]!r}; take that window again, or {BEGIN_AGAIN}"
        )
    if name == "path steps" and None not in (mine[name], theirs.get(name)):
        return (
            f"the state in {folder} is of paths of {theirs[name]} steps at most, and here of {mine[name]}: "
            "take that number again, or make it again with rdflive spark rebuild --path-steps"
        )
    if name in _REBUILT_WITH:
        return (
            f"the state in {folder} is that of {_REBUILT_WITH[name]}: {_shortened(theirs.get(name))}, and "
            f"here {_shortened(mine[name])}; take those again, or {BEGIN_AGAIN}"
        )
    return (
        f"the state in {folder} is that of another query: its {name} are {_shortened(theirs.get(name))}, and "
        f"here {_shortened(mine[name])}; take that query again, make the state of this one with rdflive "
        f"spark rebuild, or {BEGIN_AGAIN}"
    )


def _shortened(value: object) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _stage(stage: Stage) -> list[Any]:
    """Describe a stage by all that its rows depend on."""
    sides = [
        [[side.columns[place].name for place in side.key], [*map(_arm, side.arms)]] for side in stage.sides
    ]
    return [sides, None if stage.head is None else _operation(stage.head)]


def _arm(arm: Arm) -> list[Any]:
    origin: Any = repr(arm.origin)
    if isinstance(arm.origin, Constants):
        origin = [[*map(_term, row)] for row in arm.origin.node.rows]
    return [origin, [column.name for column in arm.columns], [*map(_operation, arm.operations)]]


def _operation(operation: StageOperation) -> list[Any]:
    """Describe an operator above the patterns by all that its rows depend on."""
    node = operation.node
    columns = [column.name for column in operation.columns]
    told: list[Any] = [type(node).__name__, columns, [e.text for e in node.expressions]]
    if isinstance(node, planning.Group):
        told += [[a.name, a.distinct, a.separator, node.argument(a) is None] for a in node.aggregates]
    elif isinstance(node, planning.Slice):
        told += [node.offset, node.limit, [condition.descending for condition in node.order]]
    elif isinstance(node, planning.Exists):
        told += [node.negated, None if node.mark is None else node.mark.name]
    elif isinstance(node, planning.Minus):
        told += [[column.name for column in node.context]]
    elif isinstance(node, planning.Construct):
        told += [[*map(_term, triple)] for triple in node.template]
    elif isinstance(node, SINGLE):
        told += [list(operation.sources)]
    return told


def _term(term: Any) -> str | None:
    return term.name if isinstance(term, Variable) else None if term is None else write_term(term)
