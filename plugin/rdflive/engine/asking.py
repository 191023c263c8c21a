"""What rows of some steps of a query ask of its leaves; see `rdflive.query.demand`.

In `:ann :knows ?y OPTIONAL { ?y :likes ?t }` the rows of the left side ask for the values of ?y that they
have. The right side is joined with these values, a `Relation`, before it gives its rows.

A path asks for the edges of each node that it reaches. Say `:ann :knows+ ?y` begins, and :ann knows :bob, who
knows :cat. The start :ann asks for its edges, which lead to :bob; :bob asks for its own, and so on.
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
    """The relations that leaves of one query are joined with, and what leads from leaves to paths."""

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
        """Per leaf, what its segments are joined with."""
        self._between = {
            step.asks[0]: _between(plan, step.asks[0])
            for number, step in enumerate(plan.steps)
            if step.asks is not None and step.asks[0] > number
        }
        """Per path whose nodes ask for edges, the steps from the leaves of edges to it."""

    def relation(self, number: int, segment: int) -> Relation | None:
        """Give what a segment of a leaf is joined with; None where no rows ask for it."""
        return self._relations[number][segment] if number in self._relations else None

    def source(self, number: int) -> int | None:
        """Give the step before a leaf whose rows ask for its own; None for the edges of a path as well."""
        asks = self._steps[number].asks
        return None if asks is None or asks[0] > number else asks[0]

    def take(
        self, number: int, results: Sequence[Weights], take: Callable[[Leaf | AskedLeaf], Weights]
    ) -> Weights:
        """Give the rows of a leaf, by `take` where no rows ask for them; else those that come and go."""
        leaf, source = self._leaves[number], self.source(number)
        assert leaf is not None  # noqa: S101 - it is one
        if number not in self._relations:
            return take(leaf)
        # a path comes later, and asks for its edges then
        return leaf.drain() if source is None else self.follow(number, results[source])

    def follow(self, number: int, rows: Weights) -> Weights:
        """Ask for the values of rows that came, and no longer for those of rows that went.

        Gives the rows of the leaf that come and go with that.
        """
        leaf, asks = self._leaves[number], self._steps[number].asks
        assert leaf is not None and asks is not None  # noqa: S101, PT018 - rows ask for it
        if rows:
            for relation, places in zip(self._relations[number], asks[1], strict=True):
                if relation is not None:
                    relation.follow(rows, places, self._dictionary)
        return leaf.drain()

    def update(self, number: int, operators: Sequence[Operator | None], inputs: Sequence[Weights]) -> Weights:
        """Run a step; a path asks for the edges of each node that it reaches, and for no others."""
        operator = operators[number]
        assert operator is not None  # noqa: S101 - it is no leaf
        if number not in self._between:
            return operator.update(*inputs)
        edges, starts = inputs
        # All edges that new ones lead to are gathered first: to take them together costs much less.
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
        # these were asked for once already, however often they are reached
        add_weights(nodes, dict.fromkeys(asked, -1).items())
        # Edges of nodes that are not reached any more change no row.
        while nodes:
            change = operator.update(self._edges(number, operators, nodes), {})
            rows = dict(rows)
            add_weights(rows, change.items())
            nodes = _ends(change)
        return rows

    def clear(self) -> None:
        """Forget what rows ask for, when the segments have gone."""
        for relations in self._relations.values():
            for relation in [relation for relation in relations if relation is not None]:
                for values in relation:
                    self._dictionary.drop(values)
                relation.reset()

    def _unasked(self, number: int, rows: Weights) -> Weights:
        """Give the last columns of new edges or starts of a path that it does not ask for yet."""
        first = self._between[number][0]
        asking = next(relation for relation in self._relations[first] if relation is not None)
        return {row[-1:]: 1 for row, weight in rows.items() if weight > 0 and row[-1:] not in asking}

    def _edges(self, number: int, operators: Sequence[Operator | None], nodes: Weights) -> Weights:
        """Have nodes of a path ask for their edges, or no more; gives the edges that this brings or ends."""
        found: dict[int, Weights] = {}
        for below in self._between[number]:
            operator = operators[below]
            if operator is None:
                found[below] = self.follow(below, nodes)
            else:
                found[below] = operator.update(*[found.get(at, {}) for at in self._steps[below].inputs])
        return found[self._steps[number].inputs[0]]


def _between(plan: Plan, path: int) -> tuple[int, ...]:
    """List the steps from the leaves that a path asks for edges up to the path, without it."""
    found: set[int] = set()
    for number in range(path):
        step = plan.steps[number]
        if (step.asks is not None and step.asks[0] == path) or not found.isdisjoint(step.inputs):
            found.add(number)
    return tuple(sorted(found))


def _ends(*changes: Weights) -> Weights:
    """Give how much more often nodes are reached, by pairs (..., start, end) of a path or as a start."""
    nodes: Weights = {}
    for rows in changes:
        add_weights(nodes, ((row[-1:], weight) for row, weight in rows.items()))
    return nodes
