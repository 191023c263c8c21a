"""The starts that reach each node of one relation, while its edges change."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from rdflive.engine.operators.digraph import Digraph, is_connected, strong_components, walk
from rdflive.query.budget import Meter

__all__ = ["Changes", "EdgeOrSeed", "MeteredReach", "Reach"]


class Changes:
    """Starts gained and lost by each node. A start that is gained and lost again leaves no trace.

    >>> changes = Changes()
    >>> changes.gain(7, {1, 2}); changes.lose(7, {2, 3}); changes.gained, changes.lost
    ({7: {1}}, {7: {3}})
    """

    __slots__ = ("gained", "lost")

    def __init__(self) -> None:
        self.gained: dict[int, set[int]] = {}
        self.lost: dict[int, set[int]] = {}

    def gain(self, node: int, starts: set[int]) -> None:
        """Record starts that reach a node now."""
        _note(self.gained, self.lost, node, starts)

    def lose(self, node: int, starts: set[int]) -> None:
        """Record starts that no longer reach a node."""
        _note(self.lost, self.gained, node, starts)

    def compare(self, old: dict[int, set[int]], new: dict[int, set[int]]) -> None:
        """Record how the starts of all nodes differ."""
        for node, starts in new.items():
            self.gain(node, starts - old[node] if node in old else starts)
        for node, starts in old.items():
            self.lose(node, starts - new[node] if node in new else starts)

    def clear(self) -> None:
        """Discard the record."""
        self.gained.clear()
        self.lost.clear()


def _note(into: dict[int, set[int]], other: dict[int, set[int]], node: int, starts: set[int]) -> None:
    back = other.get(node)
    if back:  # nodes share these sets, so they are replaced and never changed
        other[node] = back - starts
        starts = starts - back
    if starts:
        known = into.get(node)
        into[node] = known | starts if known else starts


EdgeOrSeed = tuple[int, ...]
"""An edge (u, v) or a seed (x,)."""
Pending = list[tuple[int, set[int]]]
_REBUILD = 4
"""A batch of changes larger than 1/4 of the state is recomputed, which is then cheaper."""


class Reach:
    """The set of starts that reach each node; each start reaches itself.

    The nodes of a cycle (a strongly connected component) share one set object. Between cycles the graph is
    acyclic, and there a start reaches a node exactly if it is that node or reaches one of its predecessors.
    So a delete needs no counts or distances: a node loses the starts that its predecessor lost, except those
    that another predecessor still has, for all starts in one set operation.

    Example: edges a→b, b→c, a→c; every node is a start, so c has {a, b, c}. Deleting b→c may remove b's
    starts {a, b} from c. Its other predecessor a still has {a}, so c loses {b}.

    Inserting an edge may merge components into one cycle, deleting one may split a cycle. Deleting an edge of
    a cycle that stays connected changes nothing. Nodes that no start reaches are skipped.

    With `seeded`, starts are added and removed by steps; otherwise every node is a start.
    """

    __slots__ = ("_before", "changes", "cycles", "graph", "seeded", "seeds", "starts")

    def __init__(self, *, seeded: bool) -> None:
        self.graph = Digraph()
        self.seeded = seeded
        self.seeds: set[int] = set()
        self.starts: dict[int, set[int]] = {}
        self.cycles: dict[int, set[int]] = {}
        """Node of a cycle of two nodes or more → all nodes of that cycle."""
        self.changes = Changes()
        self._before: dict[int, bool] = {}
        """Node → true if it was a start on a cycle before the present changes, for `turned`."""

    def update(self, steps: list[tuple[EdgeOrSeed, int]]) -> None:
        """Apply steps with their signs. `changes` and `turned` have the net effect since `settle`."""
        # the first load is such a batch too
        if len(steps) * _REBUILD > len(self.graph.succ) + len(self.starts):
            self._rebuild(steps)
            return
        for step, sign in sorted(steps, key=_by_sign):
            if len(step) > 1:
                (self.insert if sign > 0 else self.delete)(*step)
            else:
                (self.plant if sign > 0 else self.uproot)(*step)

    def turned(self) -> Iterator[tuple[int, int]]:
        """List the starts that are newly on a cycle (+1) or no longer on one (-1), since `settle`."""
        for node, before in self._before.items():
            if before != self.is_looped(node):
                yield node, -1 if before else 1

    def settle(self) -> None:
        """Discard the record of changes."""
        self.changes.clear()
        self._before.clear()

    def is_looped(self, node: int) -> bool:
        """Return True if a node is a start that reaches itself by at least one edge."""
        return node in self.seeds and (node in self.cycles or node in self.graph.succ.get(node, ()))

    def is_used(self) -> bool:
        """Return True if there is an edge or a seed."""
        return bool(self.graph.succ or self.seeds)

    def containers(self) -> list[Any]:
        """List the dictionaries and sets of the state."""
        own = (self.graph.succ, self.graph.pred, self.starts, self.cycles)
        shared = {id(inner): inner for outer in own for inner in outer.values()}
        return [*own, self.seeds, *shared.values()]

    def insert(self, u: int, v: int) -> None:
        """Add an edge."""
        if not self.seeded:
            for node in (u, v):
                if node not in self.seeds:
                    self.plant(node)
        if u == v:
            self._touch(u)
        self.graph.insert(u, v)
        # A loop adds nothing to reach. An edge from a node without starts has no effect until it has one.
        if u == v or u not in self.starts:
            return
        if v not in self.starts:
            self._discover(v)
        # both ends are on one cycle already, and share their starts
        if v in self.cycles.get(u, ()):
            return
        ring = self._ring(u, v)
        if ring:
            self._close(ring, self.starts[u])
        else:
            self._gain([(v, self.starts[u])])

    def delete(self, u: int, v: int) -> None:
        """Remove an edge."""
        if u == v:
            self._touch(u)
        self.graph.delete(u, v)
        if u != v and u in self.starts:
            ring = self.cycles.get(u)
            if ring is None or v not in ring:
                self._lose([(v, self.starts[u])])
            # Most edges of a dense cycle can go without splitting it, and a search from both ends is much
            # shorter than computing the components again.
            elif not is_connected(self.graph, u, v, ring):
                self._split(ring)
        if not self.seeded:
            # without seeds a node is a start while it has an edge
            for node in {u, v}:
                if node not in self.graph:
                    self.uproot(node)

    def plant(self, seed: int) -> None:
        """Add a start."""
        self._touch(seed)
        self.seeds.add(seed)
        if seed not in self.starts:
            self._discover(seed)
        self._gain([(seed, {seed})])

    def uproot(self, seed: int) -> None:
        """Remove a start."""
        self._touch(seed)
        self.seeds.remove(seed)
        self._lose([(seed, {seed})])

    def _touch(self, node: int) -> None:
        """Record whether a node was on a cycle, before that may change."""
        if node not in self._before:
            self._before[node] = self.is_looped(node)

    def _discover(self, node: int) -> None:
        """Find the cycles among the nodes that `node` leads to and no start has reached so far."""
        found = {node}
        todo = [node]
        while todo:
            for x in self.graph.succ.get(todo.pop(), ()):
                if x not in found and x not in self.starts:
                    found.add(x)
                    todo.append(x)
        for component in strong_components(found, found, self.graph.succ):
            self._keep(component, set())

    def _keep(self, component: set[int], starts: set[int]) -> None:
        """Set the starts of a component; its nodes share one set object."""
        for node in component:
            self.starts[node] = starts
            if len(component) > 1:
                self._touch(node)
                self.cycles[node] = component
            elif node in self.cycles:
                self._touch(node)
                del self.cycles[node]

    def _forget(self, component: Collection[int]) -> None:
        for node in component:
            del self.starts[node]
            if node in self.cycles:
                self._touch(node)
                del self.cycles[node]

    def _ring(self, u: int, v: int) -> set[int]:
        """Return the nodes on paths from `v` to `u`, which the new edge (u, v) makes one cycle.

        The starts bound the search: all that reaches `v` reaches a node on such a path, and all that reaches
        the node reaches `u`.
        """
        starts = self.starts
        # `v` is a start that does not reach `u`
        if v in self.seeds and v not in starts[u]:
            return set()
        if not self.seeded:  # the starts of u are exactly the nodes that reach it
            return walk(v, self.graph.succ, starts[u])
        if not starts[v] <= starts[u]:
            return set()
        ahead, behind = {v}, {u}
        front, back = [v], [u]
        while front and back:  # from both ends, until one side is complete
            if len(front) <= len(back):
                near = {x for node in front for x in self.graph.succ.get(node, ()) if x not in ahead}
                front = [x for x in near if starts[x] <= starts[u]]
                ahead.update(front)
            else:
                near = {x for node in back for x in self.graph.pred.get(node, ()) if x not in behind}
                back = [x for x in near if x in starts and starts[v] <= starts[x]]
                behind.update(back)
        if not front:
            return walk(u, self.graph.pred, ahead) if u in ahead else set()
        return walk(v, self.graph.succ, behind) if v in behind else set()

    def _close(self, ring: set[int], have: set[int]) -> None:
        """Make one cycle of the nodes of a ring, which all get the starts `have` of one of them."""
        pending: Pending = []
        news: dict[int, set[int]] = {}  # by the identity of sets, because nodes of older cycles share them
        for node in ring:
            old = self.starts[node]
            new = news.get(id(old))
            if new is None:
                new = news[id(old)] = have - old
            if new:
                self.changes.gain(node, new)
                pending += [(x, new) for x in self.graph.succ[node] if x not in ring]
        self._keep(ring, have)
        self._gain(pending)

    def _gain(self, pending: Pending) -> None:
        """Propagate new starts along the edges until every node that they reach has them."""
        succ = self.graph.succ
        while pending:
            node, offered = pending.pop()
            have = self.starts[node]
            new = offered - have
            if not new:
                continue
            # changed in place: all nodes of a cycle share this set
            have |= new
            ring = self.cycles.get(node, (node,))
            for member in ring:
                self.changes.gain(member, new)
                pending += [(x, new) for x in succ.get(member, ()) if x not in ring]

    def _lose(self, pending: Pending) -> None:
        """Remove starts from a node unless another predecessor has them, and continue with its successors."""
        succ = self.graph.succ
        while pending:
            node, withdrawn = pending.pop()
            have = self.starts.get(node)
            if have is None:
                continue
            ring = self.cycles.get(node, (node,))
            gone = self._unsupported(withdrawn, ring) & have
            if not gone:
                continue
            # in place, as in `_gain`
            have -= gone
            for member in ring:
                self.changes.lose(member, gone)
                pending += [(x, gone) for x in succ.get(member, ()) if x not in ring]
            if not have:
                self._forget(ring)

    def _unsupported(self, starts: set[int], ring: Collection[int]) -> set[int]:
        """Return the starts that no predecessor outside the ring has."""
        if not any(map(self.graph.succ.__contains__, starts)):
            return starts  # starts without edges reach no other predecessor; a shortcut for hubs
        for member in ring:
            for p in self.graph.pred.get(member, ()):
                if p not in ring and p in self.starts:
                    starts = starts - self.starts[p]
                    if not starts:
                        return starts
        return starts

    def _split(self, ring: set[int]) -> None:
        """Find the components of a cycle that lost an edge."""
        pending: Pending = []
        old = self.starts[next(iter(ring))]
        components = list(strong_components(ring, ring, self.graph.succ))
        # `strong_components` lists a component after those it leads to; here predecessors must be first
        for component in reversed(components):
            starts = self._arriving(component)
            self._keep(component, starts)
            gone = old - starts
            if gone:
                for node in component:
                    self.changes.lose(node, gone)
                    pending += [(x, gone) for x in self.graph.succ.get(node, ()) if x not in ring]
            if not starts:
                self._forget(component)
        self._lose(pending)

    def _arriving(self, component: set[int]) -> set[int]:
        """Return the starts inside a component and those of its predecessors outside."""
        starts = component & self.seeds
        for node in component:
            for p in self.graph.pred.get(node, ()):
                if p not in component and p in self.starts:
                    starts |= self.starts[p]
        return starts

    def _rebuild(self, steps: list[tuple[EdgeOrSeed, int]]) -> None:
        """Apply all steps and compute components and starts again."""
        for node in self.starts:
            self._touch(node)
        self._apply(steps)
        old, self.starts, self.cycles = self.starts, {}, {}
        inside = self.graph.pred  # every edge leads to a node there
        components = list(strong_components(self.seeds, inside, self.graph.succ))
        for component in reversed(components):
            for node in component:
                # a node that was not touched above had no start, and so was no start on a cycle
                self._before.setdefault(node, False)
            self._keep(component, self._arriving(component))
        self.changes.compare(old, self.starts)

    def _apply(self, steps: list[tuple[EdgeOrSeed, int]]) -> None:
        for step, sign in steps:
            if len(step) > 1:
                (self.graph.insert if sign > 0 else self.graph.delete)(*step)
            else:
                (self.seeds.add if sign > 0 else self.seeds.remove)(*step)
        if not self.seeded:
            self.seeds = set(self.graph.succ).union(self.graph.pred)


class MeteredReach(Reach):
    """A relation of a query with a budget: pairs are counted before they are made, and while they are
    kept.
    """

    __slots__ = ("_meter",)

    def __init__(self, meter: Meter, *, seeded: bool) -> None:
        super().__init__(seeded=seeded)
        self._meter = meter
        self.changes = _MeteredChanges(meter)

    def insert(self, u: int, v: int) -> None:
        """Add an edge."""
        self._meter.spend()
        super().insert(u, v)

    def delete(self, u: int, v: int) -> None:
        """Remove an edge."""
        self._meter.spend()
        super().delete(u, v)

    def _keep(self, component: set[int], starts: set[int]) -> None:
        self._meter.spend(len(component) + len(starts))
        super()._keep(component, starts)


class _MeteredChanges(Changes):
    __slots__ = ("_meter",)

    def __init__(self, meter: Meter) -> None:
        super().__init__()
        self._meter = meter

    def gain(self, node: int, starts: set[int]) -> None:
        self._meter.keep(len(starts))
        self._meter.spend(len(starts))
        super().gain(node, starts)

    def lose(self, node: int, starts: set[int]) -> None:
        self._meter.keep(-len(starts))
        self._meter.spend(len(starts))
        super().lose(node, starts)


def _by_sign(step: tuple[EdgeOrSeed, int]) -> int:
    """Sort deletes first, so that inserts search a smaller graph."""
    return step[1]
