"""Describes as text how a query is matched."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdflive.matching.automaton import Automaton

if TYPE_CHECKING:
    from rdflive.matching.machine import Machine

__all__ = ["MatchStats", "explain"]


@dataclass(frozen=True, slots=True)
class MatchStats:
    """Counters of a matcher."""

    events: int
    triples: int
    """Triples of the events."""
    rows: int
    """Rows of views: a triple counts once per pattern that it matches."""
    joins: int
    """Joins of a view with the rows of earlier views."""
    small: int
    """Events with few triples, which were answered without views and joins."""
    solutions: int


def explain(
    automata: Sequence[Automaton], machine: Machine | None, stats: MatchStats, *, is_lazy: bool
) -> str:
    """Describe the automata, with their states in the most recent order, and the joins."""
    lines: list[str] = []
    for i, automaton in enumerate(automata):
        order = machine.orders[i] if machine is not None else ()
        sizes = machine.sizes[i] if machine is not None else None
        lines += _automaton(i + 1, automaton, order, sizes, is_lazy=is_lazy)
    if not automata:
        lines.append("no triple pattern: every event has the same answer")
    if machine is not None:
        lines.append(
            f"{stats.events:,} events of {stats.triples:,} triples, {stats.small:,} walked: "
            f"{stats.rows:,} rows in views, {stats.joins:,} joins, {stats.solutions:,} solutions"
        )
    return "\n".join(lines)


def _automaton(
    number: int, automaton: Automaton, order: tuple[int, ...], sizes: Sequence[int] | None, *, is_lazy: bool
) -> Iterator[str]:
    shapes = ", ".join(_plural(c.kind, len(c.patterns)) for c in automaton.clusters)
    yield f"[{number}] {shapes}, in the most recent order:"
    for i in order or range(len(automaton.patterns)):
        size = "" if sizes is None else f": {sizes[i]:,} rows"
        yield f"    {automaton.patterns[i]}{size}"
        yield from (f"        pushed filter: {c.text}" for c in automaton.filters[i])
    yield from (f"    sort-merge join: {c}" for c in automaton.comparisons)
    yield from (f"    filter of the join: {c.text}" for c in automaton.conditions)
    if sizes is None:
        yield "    nothing joined yet"
    elif not order:
        empty = [str(p) for p, size in zip(automaton.patterns, sizes, strict=True) if not size]
        yield (
            f"    not joined: no triple matches {' or '.join(empty)}"
            if empty
            else "    not joined: no new rows"
        )
    elif not is_lazy:
        yield "    eager: joined even if some views have no rows"


def _plural(kind: str, count: int) -> str:
    return f"{kind} of {count} pattern{'s' * (count != 1)}"
