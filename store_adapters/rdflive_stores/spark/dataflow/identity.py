"""The identity of a state: the plan of a query, not its text, in a file beside the state.

A query has a folder for each generation of its state, and a file that names the present one. State built from
a snapshot or from another state (for another plan, other partitions, or merged) is a new generation, which
nothing reads until it is complete. No two generations share a name, even if the first attempt at one was
killed: the tasks of that attempt may still write, but only into a folder that is never read.
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
"""The file with the plan and the partitions of a state."""
FORMAT: Final = 4
"""The version of the state's format, increased with each change; the states of groups are pickled."""
BEGIN_AGAIN: Final = "begin again with another checkpoint"
FIRST: Final = "0"
"""The generation that starts with the first micro-batch."""
_PRESENT: Final = "generation"
_PLACES: Final = ("subject", "predicate", "object", "graph")
_REBUILT_WITH: Final = {
    "rules": "other rules", "entailment": "another entailment", "parameters": "other parameters",
}  # fmt: skip
"""Entries that are compared before the plan, which depends on them, and that `rebuild` keeps."""
_LONGEST: Final = 200
"""Most characters of a text in a message."""
_NOT_COMPARED: Final = ("query", "prefixes", "salted")
"""For readers, and to plan the query again. Texts may differ in comments, spaces and names of prefixes."""


def describe(plan: JointPlan, partitions: int) -> dict[str, Any]:
    """Describe all that state depends on: plans with equal descriptions can read each other's state."""
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
    """Raise `StateError` unless the state in a folder exists and belongs to this plan."""
    theirs = known(folder)
    if theirs is None:
        raise StateError(
            f"there is no state of the query in {folder}: it was removed, its first micro-batch was never "
            f"read, or the checkpoint belongs to another program; {BEGIN_AGAIN}"
        )
    check_format(folder, theirs)
    differing = [name for name in mine if name not in _NOT_COMPARED and theirs.get(name) != mine[name]]
    if differing:
        raise StateError(_differing(folder, mine, theirs, differing[0]))


def check_format(folder: Folder, theirs: Mapping[str, Any]) -> None:
    """Raise `StateError` unless this version can read a state."""
    if theirs["format"] != FORMAT:
        raise StateError(
            f"the state in {folder} has format {theirs['format']!r}, but this rdflive writes {FORMAT}: "
            f"use the version that made it, or {BEGIN_AGAIN}"
        )


def known(folder: Folder) -> dict[str, Any] | None:
    """Read the description of a state; None if there is none."""
    try:
        read = json.loads(folder.text(PLAN))
        if not isinstance(read, dict) or not {"format", "partitions", "query"} <= read.keys():
            raise ValueError("it does not describe a state")
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise StateError(f"{folder / PLAN} is damaged: {error}; {BEGIN_AGAIN}") from error
    return read


def generation_of(home: Folder) -> str:
    """Return the name of the present generation of a query's state."""
    try:
        return home.text(_PRESENT)
    except FileNotFoundError:
        return FIRST


def is_unmade(generation: str) -> bool:
    """True if a generation starts empty, with the first micro-batch."""
    return generation.partition("-")[0] == FIRST


def next_generation(generation: str) -> str:
    """Return the name of the generation that is built from another."""
    return f"{int(generation.partition('-')[0]) + 1}-{token_hex(4)}"


def renewed() -> str:
    """Return the name of an empty generation, after a failed attempt at the first micro-batch."""
    return f"{FIRST}-{token_hex(4)}"


def succeed(home: Folder, generation: str) -> None:
    """Make a new, complete generation the present one, and remove the others."""
    home.write_text(_PRESENT, generation)
    for name in home.names():
        if name not in (_PRESENT, generation):
            (home / name).delete()


def missing(plan: JointPlan, held: Mapping[str, Any]) -> list[Pattern]:
    """Return the patterns that match quads which a state may not hold."""
    patterns = [old[: len(_PLACES)] for old in held["patterns"]]
    if held.get("entailment") is not None:
        # the state has all quads of each graph
        patterns = [["0", "1", "2", graph] for *_, graph in patterns]
    return [new for new in plan.kept if not any(_covers(old, new) for old in patterns)]


def _covers(old: Sequence[str], new: Pattern) -> bool:
    """True if a pattern, as `describe` writes it, matches all quads that another one matches."""
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
            f"the state in {folder} has {theirs.get(name)!r} partitions, but this subscription has "
            f"{mine[name]!r}: use the same number, or change it with rdflive spark repartition"
        )
    if name == "window":
        return (
            f"the state in {folder} belongs to another window: {theirs.get(name)!r}, not "
            f"{mine[name]!r}; use that window, or {BEGIN_AGAIN}"
        )
    if name == "path steps" and None not in (mine[name], theirs.get(name)):
        return (
            f"the state in {folder} has paths of at most {theirs[name]} steps, but this subscription has "
            f"{mine[name]}: use the same number, or change it with rdflive spark rebuild --path-steps"
        )
    if name in _REBUILT_WITH:
        return (
            f"the state in {folder} belongs to {_REBUILT_WITH[name]}: {_shortened(theirs.get(name))}, not "
            f"{_shortened(mine[name])}; use those, or {BEGIN_AGAIN}"
        )
    return (
        f"the state in {folder} belongs to another query: its {name} are {_shortened(theirs.get(name))}, not "
        f"{_shortened(mine[name])}; use that query, build the state of this one with rdflive spark rebuild, "
        f"or {BEGIN_AGAIN}"
    )


def _shortened(value: object) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _stage(stage: Stage) -> list[Any]:
    """Return all that the rows of a stage depend on."""
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
    """Return all that the rows of an operator above the patterns depend on."""
    node = operation.node
    columns = [column.name for column in operation.columns]
    described: list[Any] = [type(node).__name__, columns, [e.text for e in node.expressions]]
    if isinstance(node, planning.Group):
        described += [[a.name, a.distinct, a.separator, node.argument(a) is None] for a in node.aggregates]
    elif isinstance(node, planning.Slice):
        described += [node.offset, node.limit, [condition.descending for condition in node.order]]
    elif isinstance(node, planning.Exists):
        described += [node.negated, None if node.mark is None else node.mark.name]
    elif isinstance(node, planning.Minus):
        described += [[column.name for column in node.context]]
    elif isinstance(node, planning.Construct):
        described += [[*map(_term, triple)] for triple in node.template]
    elif isinstance(node, SINGLE):
        described += [list(operation.sources)]
    return described


def _term(term: Any) -> str | None:
    return term.name if isinstance(term, Variable) else None if term is None else write_term(term)
