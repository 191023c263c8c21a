"""How kinds follow a change of the schema: only the explicit triples of changed kinds are read."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, TypeAlias

from rdflive.entail.entailment import IdTriple, Sign
from rdflive.entail.kinds import Kinds
from rdflive.entail.table import Table
from rdflive.entail.templates import Atoms, Kind

__all__ = ["Move", "Way", "rebase"]

Move: TypeAlias = Callable[[IdTriple, Sign], None]
"""Takes a triple that has begun (+1) or ceased (-1) to be entailed."""
Way: TypeAlias = tuple[Atoms, Collection[Any]]
"""How triples of a kind are entailed: atoms, and the classes that were known with them."""


def rebase(kinds: Kinds, kind: Kind, old: Way, new: Way, move: Move, *, now: int, may_count: bool) -> None:
    """Have a kind entailed another way, and tell what begins and ceases to be entailed by that.

    `may_count` says whether a kind that was not counted may be from now on.
    """
    table = kinds.tables.get(kind) or kinds.open(kind, old[0])
    if kind[1] is None and kind[0] == kinds.words.type:  # what gets known or unknown has kinds of its own
        either = {*old[1], *new[1]}
        old, new = (old[0], either), (new[0], either)
    countable = kinds.can_count(kind, new[0])
    if table.counts is None and not (may_count and countable):
        _compare(kinds, table, old, new, move)
    elif table.counts is not None and countable and not _differs_throughout(old, new):
        _shift(kinds, table, old, new, move)
    else:
        _recount(kinds, table, old, new, move, now=now)
    kinds.route(table, new[0])
    if kind not in kinds.templates.atoms:
        kinds.close(table)


def _differs_throughout(old: Way, new: Way) -> bool:
    """Tell whether atoms that both have may still mean something else: those of any other class."""
    return old[1] != new[1] and any(atom.other for atom in (*old[0], *new[0]))


def _compare(kinds: Kinds, table: Table, old: Way, new: Way, move: Move) -> None:
    """Ask about every triple that an atom gives which is not in both."""
    throughout = _differs_throughout(old, new)
    lost = [atom for atom in old[0] if throughout or atom not in new[0]]
    gained = [atom for atom in new[0] if throughout or atom not in old[0]]
    for key in kinds.extension(table, lost, old[1]):
        if not kinds.holds(table, key, *new):
            move(table.ids(key), -1)
    for key in kinds.extension(table, gained, new[1]):
        if not kinds.holds(table, key, *old):
            move(table.ids(key), 1)


def _shift(kinds: Kinds, table: Table, old: Way, new: Way, move: Move) -> None:
    """Count what the changed atoms give; first what is gained, so that little is lost on the way."""
    weights = {atom: new[0].get(atom, 0) - old[0].get(atom, 0) for atom in (*old[0], *new[0])}
    for atom, weight in sorted(weights.items(), key=lambda entry: -entry[1]):
        if not weight:
            continue
        for key in table.keys(atom, list(kinds.sources.matches(atom, new[1]))):
            if table.count(key, weight):
                move(table.ids(key), 1 if weight > 0 else -1)


def _recount(kinds: Kinds, table: Table, old: Way, new: Way, move: Move, *, now: int) -> None:
    """Count from the beginning, or stop counting, and compare everything."""
    before = set(table.counts) if table.counts is not None else kinds.extension(table, *old)
    table.forget()
    if kinds.can_count(table.kind, new[0]):
        kinds.count({table: new[0]}, now)
    after = kinds.extension(table, *new) if table.counts is None else table.counts
    for key in before:
        if key not in after:
            move(table.ids(key), -1)
    for key in after:
        if key not in before:
            move(table.ids(key), 1)
