"""Values that the rows of some steps request from the leaves of a query; see `rdflive.query.demand`.

In `:ann :knows ?y OPTIONAL { ?y :likes ?t }` the rows of the left side request their values of ?y. The right
side is joined with these values, a `Relation`, before it returns its rows.

A path requests the edges of each node that it reaches. Example: `:ann :knows+ ?y` starts, :ann knows :bob,
and :bob knows :cat. The start :ann requests its edges, which lead to :bob; :bob requests its own, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rdflive.engine.demand import Demand
from rdflive.engine.dictionary import Dictionary
from rdflive.engine.leaf import AskedLeaf, Leaf
from rdflive.engine.multiset import Weights, add_weights
from rdflive.engine.operators import Operator
from rdflive.engine.relation import Relation
from rdflive.query.plan import Plan

__all__ = ["Asking"]


class Asking:
    """The relations that the leaves of one query are joined with, and the steps from leaves to paths."""

    __slots__ = ("_between", "_dictionary", "_leaves", "_relations", "_steps")

    def __init__(
        self,
        plan: Plan,
        leaves: Sequence[Leaf | AskedLeaf | None],
        dictionary: Dictionary,
        demand: Demand,
    ) -> None:
        self._steps = plan.steps
        self._leaves = leaves
        self._dictionary = dictionary
        self._relations: dict[int, tuple[Relation | None, ...]] = {
            number: tuple(
                Relation(segment.rows, segment.rows, demand) if segment.rows else None
                for segment in step.basic.segments
            )
            for number, step in enumerate(plan.steps)
            if step.basic is not None and step.asks is not None
        }
        """Per leaf, the relations that its segments are joined with."""
        self._between = {
            step.asks[0]: _between(plan, step.asks[0])
            for number, step in enumerate(plan.steps)
            if step.asks is not None and step.asks[0] > number
        }
        """Per path whose nodes request edges, the steps from the leaves of edges to it."""

    def relation(self, number: int, segment: int) -> Relation | None:
        """Return the relation that a segment of a leaf is joined with, or None if no rows request values of
        it.
        """
        return self._relations[number][segment] if number in self._relations else None

    def source(self, number: int) -> int | None:
        """Return the earlier step whose rows request values of a leaf; None for edges of a path too."""
        asks = self._steps[number].asks
        return None if asks is None or asks[0] > number else asks[0]

    def take(
        self, number: int, results: Sequence[Weights], take: Callable[[Leaf | AskedLeaf], Weights]
    ) -> Weights:
        """Return the changed rows of a leaf, by `take` if no rows request values of it."""
        leaf, source = self._leaves[number], self.source(number)
        assert leaf is not None  # noqa: S101 - it is one
        if number not in self._relations:
            return take(leaf)
        # a path runs later, and requests its edges then
        return leaf.drain() if source is None else self.follow(number, results[source])

    def follow(self, number: int, rows: Weights) -> Weights:
        """Request the values of added rows, and release those of removed rows.

        Returns the rows of the leaf that this adds and removes.
        """
        leaf, asks = self._leaves[number], self._steps[number].asks
        assert leaf is not None and asks is not None  # noqa: S101, PT018 - rows request values of it
        if rows:
            for relation, places in zip(self._relations[number], asks[1], strict=True):
                if relation is not None:
                    relation.follow(rows, places, self._dictionary)
        return leaf.drain()

    def update(self, number: int, operators: Sequence[Operator | None], inputs: Sequence[Weights]) -> Weights:
        """Run a step; a path requests the edges of exactly the nodes that it reaches."""
        operator = operators[number]
        assert operator is not None  # noqa: S101 - it is no leaf
        if number not in self._between:
            return operator.update(*inputs)
        edges, starts = inputs
        # all edges that new ones lead to are gathered first: applied together they cost much less
        edges, leads = dict(edges), edges
        asked: Weights = {}
        new = self._unasked(number, starts)
        while True:
            new |= self._unasked(number, leads)
            if not new:
                break
            asked |= new
            leads = self._edges(number, operators, new)
            add_weights(edges, leads.items())
            new = {}
        rows = operator.update(edges, starts)
        nodes = _ends(rows, starts)
        # these were requested once already, however often they are reached
        add_weights(nodes, dict.fromkeys(asked, -1).items())
        # edges of nodes that are no longer reached change no row
        while nodes:
            change = operator.update(self._edges(number, operators, nodes), {})
            rows = dict(rows)
            add_weights(rows, change.items())
            nodes = _ends(change)
        return rows

    def clear(self) -> None:
        """Discard all requests after the segments are removed."""
        for relations in self._relations.values():
            for relation in [relation for relation in relations if relation is not None]:
                for values in relation:
                    self._dictionary.drop(values)
                relation.reset()

    def _unasked(self, number: int, rows: Weights) -> Weights:
        """Return the last columns of new edges or starts of a path that the path does not request yet."""
        first = self._between[number][0]
        asking = next(relation for relation in self._relations[first] if relation is not None)
        return {row[-1:]: 1 for row, weight in rows.items() if weight > 0 and row[-1:] not in asking}

    def _edges(self, number: int, operators: Sequence[Operator | None], nodes: Weights) -> Weights:
        """Request the edges of added nodes of a path, release those of removed ones; return the changed
        edges.
        """
        found: dict[int, Weights] = {}
        for below in self._between[number]:
            operator = operators[below]
            if operator is None:
                found[below] = self.follow(below, nodes)
            else:
                found[below] = operator.update(*[found.get(at, {}) for at in self._steps[below].inputs])
        return found[self._steps[number].inputs[0]]


def _between(plan: Plan, path: int) -> tuple[int, ...]:
    """List the steps from the leaves of a path's edges up to the path, without it."""
    found: set[int] = set()
    for number in range(path):
        step = plan.steps[number]
        if (step.asks is not None and step.asks[0] == path) or not found.isdisjoint(step.inputs):
            found.add(number)
    return tuple(sorted(found))


def _ends(*changes: Weights) -> Weights:
    """Return the change in how often each node is reached, as the end of a pair (..., start, end) or as a
    start.
    """
    nodes: Weights = {}
    for rows in changes:
        add_weights(nodes, ((row[-1:], weight) for row, weight in rows.items()))
    return nodes
