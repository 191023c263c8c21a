"""A directed graph over ids, and searches for reachability."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

__all__ = ["Digraph", "Neighbours", "is_connected", "strong_components", "walk"]

Neighbours = dict[int, tuple[int, ...] | set[int]]
_FEW = 8
"""At most this many neighbours are kept in a tuple, which is smaller than a set and as fast."""


class Digraph:
    """Edges in both directions. A node exists while it has an edge."""

    __slots__ = ("pred", "succ")

    def __init__(self) -> None:
        self.succ: Neighbours = {}
        self.pred: Neighbours = {}

    def __contains__(self, node: int) -> bool:
        return node in self.succ or node in self.pred

    def insert(self, u: int, v: int) -> None:
        """Add an edge that is absent."""
        _add(self.succ, u, v)
        _add(self.pred, v, u)

    def delete(self, u: int, v: int) -> None:
        """Remove an edge that is present."""
        _remove(self.succ, u, v)
        _remove(self.pred, v, u)

    def edges(self) -> Iterator[tuple[int, int]]:
        """List every edge once."""
        return ((u, v) for u, ends in self.succ.items() for v in ends)


def _add(neighbours: Neighbours, node: int, other: int) -> None:
    known = neighbours.get(node, ())
    if isinstance(known, set):
        known.add(other)
    else:
        neighbours[node] = (*known, other) if len(known) < _FEW else {*known, other}


def _remove(neighbours: Neighbours, node: int, other: int) -> None:
    known = neighbours[node]
    if isinstance(known, set):
        known.remove(other)
        # half, and not `_FEW`, so that a node that gains and loses one edge in turn is not copied each time
        if len(known) == _FEW // 2:
            neighbours[node] = tuple(known)
    elif len(known) > 1:
        place = known.index(other)
        neighbours[node] = known[:place] + known[place + 1 :]
    else:
        del neighbours[node]


def is_connected(graph: Digraph, u: int, v: int, inside: Container[int]) -> bool:
    """Return True if a path leads from `u` to `v`. Search from both ends, the smaller frontier first."""
    ahead, behind = {u}, {v}
    front, back = [u], [v]
    while front and back:
        if len(front) <= len(back):
            front = _expand(front, graph.succ, ahead, inside)
            met = not behind.isdisjoint(front)
        else:
            back = _expand(back, graph.pred, behind, inside)
            met = not ahead.isdisjoint(back)
        if met:
            return True
    return False


def _expand(frontier: list[int], neighbours: Neighbours, seen: set[int], inside: Container[int]) -> list[int]:
    found: list[int] = []
    for node in frontier:
        for other in neighbours.get(node, ()):
            if other not in seen and other in inside:
                seen.add(other)
                found.append(other)
    return found


def walk(node: int, neighbours: Neighbours, inside: Container[int]) -> set[int]:
    """Return the nodes inside a set that can be reached from a node, with the node itself."""
    found = {node}
    todo = [node]
    while todo:
        for x in neighbours.get(todo.pop(), ()):
            if x in inside and x not in found:
                found.add(x)
                todo.append(x)
    return found


def strong_components(nodes: Iterable[int], inside: Container[int], succ: Neighbours) -> Iterator[set[int]]:
    """List the strongly connected components of a subgraph, each after the components that it leads to.

    This is the path-based algorithm of H. N. Gabow (2000), with an explicit stack because of Python's
    recursion limit.
    """
    order: dict[int, int] = {}
    done: set[int] = set()
    # the nodes without a component so far, and of these the ones where a component may start
    path: list[int] = []
    bounds: list[int] = []
    for root in nodes:
        if root in order:
            continue
        trail = [(root, iter(succ.get(root, ())))]
        order[root] = len(order)
        path.append(root)
        bounds.append(root)
        while trail:
            node, rest = trail[-1]
            for other in rest:
                if other not in inside or other in done:
                    continue
                if other not in order:
                    trail.append((other, iter(succ.get(other, ()))))
                    order[other] = len(order)
                    path.append(other)
                    bounds.append(other)
                    break
                # the edge closes a cycle: the nodes since `other` are in one component
                while order[bounds[-1]] > order[other]:
                    bounds.pop()
            else:
                trail.pop()
                if bounds[-1] == node:
                    bounds.pop()
                    component: set[int] = set()
                    while node not in component:
                        component.add(path.pop())
                    done |= component
                    yield component
