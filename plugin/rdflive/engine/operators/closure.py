"""Closure: the property paths `+` and `*`, maintained while the edges change."""

from __future__ import annotations

from itertools import repeat
from typing import Any

from rdflive.engine.dictionary import Dictionary
from rdflive.engine.multiset import Row, Weights
from rdflive.engine.operators.reach import EdgeOrSeed, MeteredReach, Reach

__all__ = ["ClosureOperator"]


class ClosureOperator:
    """Rows (context..., start, end) of the ends that each start reaches.

    Inputs are sets: edges (context..., x, y) and, if `seeded`, starts (context..., x); otherwise every node
    is a start. `reflexive` adds the pair (x, x) of each start (SPARQL 1.1, section 18.4: ZeroOrMorePath and
    OneOrMorePath). Each context, the graph of GRAPH ?g, is a relation of its own.

    >>> edges = {(1, 2): 1, (2, 3): 1}
    >>> terms = Dictionary(); terms.hold(map(terms.intern, "_abc"))
    >>> closure = ClosureOperator(terms, reflexive=False, seeded=False)
    >>> sorted(closure.update(edges))
    [(1, 2), (1, 3), (2, 3)]
    >>> closure.update({(2, 3): -1, (3, 1): 1})
    {(3, 1): 1, (3, 2): 1, (1, 3): -1, (2, 3): -1}
    """

    __slots__ = ("_context", "_dictionary", "_pending", "_reflexive", "_relations", "_seeded")

    def __init__(self, dictionary: Dictionary, *, context: int = 0, reflexive: bool, seeded: bool) -> None:
        self._dictionary = dictionary
        self._context = context
        self._reflexive = reflexive
        self._seeded = seeded
        self._relations: dict[Row, Reach] = {}
        self._pending: tuple[Weights, ...] = ()
        """The deltas that are being applied, kept for `clear`: a budget may stop an update half-way, when the
        edges are held or dropped already but not in the relation yet.
        """

    def update(self, *deltas: Weights) -> Weights:
        """Apply changes of the edges (and of the seeds); return the added (+1) and removed (-1) pairs."""
        k = self._context
        self._pending = deltas
        steps: dict[Row, list[tuple[EdgeOrSeed, int]]] = {}
        for delta in deltas:
            for row, sign in delta.items():
                (self._dictionary.hold if sign > 0 else self._dictionary.drop)(row)
                steps.setdefault(row[:k], []).append((row[k:], sign))
        rows: Weights = {}
        for context, changes in steps.items():
            reach = self._relations.get(context)
            if reach is None:
                reach = self._relations[context] = self._reach()
            reach.update(changes)
            self._add(rows, context, reach.changes.gained, 1)
            self._add(rows, context, reach.changes.lost, -1)
            # `Reach` lets every start reach itself, as for `*`. For `+` the pair (x, x) needs a cycle.
            if not self._reflexive:
                rows.update(((*context, x, x), sign) for x, sign in reach.turned())
            reach.settle()
            if not reach.is_used():
                del self._relations[context]
        self._pending = ()
        return rows

    def rows(self) -> Weights:
        """Return the current pairs."""
        rows: Weights = {}
        for context, reach in self._relations.items():
            self._add(rows, context, reach.starts, 1)
            if not self._reflexive:
                rows.update(((*context, x, x), 1) for x in reach.starts if reach.is_looped(x))
        return rows

    def clear(self) -> None:
        """Discard everything, and drop the terms of every edge and seed."""
        held: set[Row] = set()
        for context, reach in self._relations.items():
            held.update((*context, *edge) for edge in reach.graph.edges())
            held.update((*context, x) for x in reach.seeds if reach.seeded)
        for delta in self._pending:
            for row, sign in delta.items():
                (held.add if sign > 0 else held.discard)(row)
        for row in held:
            self._dictionary.drop(row)
        self._relations.clear()
        self._pending = ()

    def containers(self) -> list[Any]:
        """List the dictionaries and sets of the state."""
        kept = [container for reach in self._relations.values() for container in reach.containers()]
        return [self._relations, *kept]

    def _reach(self) -> Reach:
        meter = self._dictionary.meter
        return Reach(seeded=self._seeded) if meter is None else MeteredReach(meter, seeded=self._seeded)

    def _add(self, rows: Weights, context: Row, changes: dict[int, set[int]], sign: int) -> None:
        for end, starts in changes.items():
            rows.update(zip(zip(*map(repeat, context), starts, repeat(end)), repeat(sign)))
            if not self._reflexive:  # `update` and `rows` add (x, x) if x is on a cycle
                rows.pop((*context, end, end), None)
