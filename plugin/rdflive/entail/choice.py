"""When it pays to count the supports of a kind of entailed triples, judged by its costs so far."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from rdflive.entail.table import EntailedTable

__all__ = ["RENT", "Strategy", "estimate", "should_count", "should_forget"]

Strategy: TypeAlias = Literal["auto", "saturate", "reformulate"]

RENT: Final = 1e-5
"""The cost of keeping one entry during one update of the graph, in look-ups."""
LEAST: Final = 100
"""Below this many look-ups no change of strategy is worth its cost."""


def should_count(table: EntailedTable, suspects: int) -> bool:
    """Tell whether a kind that is reformulated has cost as many look-ups as counting it would.

    The look-ups made so far count, and those that the suspects of the present update would need. This is the
    ski-rental rule: whoever buys when the rent paid equals the price never pays more than twice the best
    choice in hindsight. The price is reading every explicit triple that entails one of the kind.
    """
    # One suspect may need a look-up along every way.
    return table.lookups + suspects * len(table.ways) > _price(table)


def should_forget(table: EntailedTable, now: int) -> bool:
    """Tell whether a kind that is saturated costs more to keep than it saves, by the same rule.

    `now` counts updates of the graph.
    """
    return _rent(table, now) - _saved(table) > _price(table)


def estimate(table: EntailedTable, now: int) -> str:
    """Say what a kind costs in either form, as far as that is known."""
    if table.is_trivial:
        return "explicit triples only"
    count = len(table.ways.atoms)
    ways = f"{count:,} {'way' if count == 1 else 'ways'} to entail it"
    if table.counts is None:
        return (
            f"reformulated, {ways}; {table.lookups:,} look-ups for {table.updates:,} changes, to count it "
            f"costs {_price(table):,}"
        )
    return (
        f"saturated, {ways}; {len(table.counts):,} entries, whose memory is worth {_rent(table, now):,.0f} "
        f"look-ups so far; they saved up to {_saved(table):,} at {table.updates:,} changes"
    )


def _price(table: EntailedTable) -> int:
    # Small kinds would otherwise switch back and forth with every few updates.
    return max(table.size, LEAST)


def _rent(table: EntailedTable, now: int) -> float:
    return (now - table.since) * len(table.counts or ()) * RENT


def _saved(table: EntailedTable) -> int:
    # to ask instead would have cost each change up to one look-up per way
    return table.updates * len(table.ways)
