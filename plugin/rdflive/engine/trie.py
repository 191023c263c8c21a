"""Selects which of many walks from one pattern to run: those whose next patterns have a match.

Example: 500 queries start at `?a :p1 ?b`, and a triple (x, p1, y) is inserted. A walk on to `?b :p2 ?c` finds
nothing unless y has some :p2, and a walk on to `?b :line :S1` nothing unless y is on that line. So each walk
is behind *gates*: pairs of a pattern and one of its variables, which must have a match with the triple's term
at that place. Walks that start with the same gates share them, in a trie: its root looks up which gates are
open at x and at y, once for all walks, and only the walks behind these run.
"""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import Any, Final, TypeAlias

from rdflive.engine.gates import Gate, Gates, is_wide
from rdflive.engine.pattern import PatternState, Walk

__all__ = ["Trie", "put", "take"]

FEW: Final = 16
"""Up to this number, all walks of a pattern run, because checking their gates would cost more."""
Entry: TypeAlias = tuple[Walk, Any]
"""A walk, and the state of its segment."""


class _Branch:
    """The gates at one place of the triple whose bits are in one mask."""

    __slots__ = ("bits", "nodes", "place", "values")

    def __init__(self, place: int, values: MutableMapping[Any, int]) -> None:
        self.place = place
        self.values = values
        self.bits = 0
        self.nodes: dict[int, _Node] = {}


class _Node:
    """The walks whose gates are all passed, and the gates of the others."""

    __slots__ = ("branches", "walks")

    def __init__(self) -> None:
        # a tuple, because most nodes have one or none
        self.walks: tuple[Entry, ...] = ()
        self.branches: dict[tuple[int, int], _Branch] | None = None
        """By place, and by the identity of the mask; None if there are none."""


class Trie:
    """The walks of one pattern behind their gates."""

    __slots__ = ("_gates", "_root")

    def __init__(self, gates: Gates) -> None:
        self._gates = gates
        self._root = _Node()

    def reached(self, ids: Sequence[int]) -> list[Entry]:
        """List the walks to run for a triple (or quad) of the pattern, in the order of segments."""
        found: list[Entry] = []
        nodes = [self._root]
        while nodes:
            node = nodes.pop()
            found += node.walks
            if node.branches is None:
                continue
            for branch in node.branches.values():
                bits = branch.values.get(ids[branch.place], 0) & branch.bits
                while bits:
                    bit = bits & -bits
                    nodes.append(branch.nodes[bit])
                    bits ^= bit
        found.sort(key=_rank)
        return found

    def add(self, entry: Entry, seed: int) -> None:
        """Add a walk behind its gates; `seed` is the number of its first pattern in its segment."""
        node = self._root
        gates = [(self._gates.use(of, slot), place) for place, of, slot in _needed(entry[1], seed)]
        for gate, place in sorted(gates, key=_order):
            if node.branches is None:
                node.branches = {}
            key = place, id(gate.mask)
            branch = node.branches.get(key)
            if branch is None:
                branch = node.branches[key] = _Branch(place, gate.values)
            branch.bits |= gate.bit
            node = branch.nodes.setdefault(gate.bit, _Node())
        node.walks += (entry,)

    def remove(self, state: Any, seed: int) -> None:
        """Undo `add`, which an interruption may have left undone."""
        found = [(self._gates.of(of, slot), place) for place, of, slot in _needed(state, seed)]
        gates = sorted([(gate, place) for gate, place in found if gate is not None], key=_order)
        way: list[tuple[_Node, dict[tuple[int, int], _Branch], tuple[int, int], int]] = []
        node = self._root
        for gate, place in gates:
            key = place, id(gate.mask)
            branch = None if node.branches is None else node.branches.get(key)
            if node.branches is None or branch is None or gate.bit not in branch.nodes:
                return
            way.append((node, node.branches, key, gate.bit))
            node = branch.nodes[gate.bit]
        # one only: two walks of a segment may be behind the same gates
        at = next((at for at, entry in enumerate(node.walks) if entry[1] is state), None)
        if at is None:
            return
        node.walks = node.walks[:at] + node.walks[at + 1 :]
        for above, branches, key, bit in reversed(way):
            if node.walks or node.branches is not None:
                break
            branch = branches[key]
            del branch.nodes[bit]
            branch.bits ^= bit
            if not branch.bits:
                del branches[key]
            if not branches:
                above.branches = None
            node = above
        for gate, _ in gates:
            self._gates.leave(gate)


def put(gates: Gates, pattern: PatternState, walk: Walk, state: Any, seed: int) -> None:
    """Add a walk of a segment to a pattern, which is number `seed` in the segment."""
    pattern.add_walk(walk, state)
    trie = pattern.trie
    if trie is not None:
        trie.add(pattern.walks[-1], seed)
    elif len(pattern.walks) > FEW:
        trie = Trie(gates)
        for of in dict.fromkeys(of for _, of in pattern.walks):
            own = [entry for entry in pattern.walks if entry[1] is of]
            # the last segment may not have all of its walks yet
            for entry, number in zip(own, _seeds(pattern, of), strict=False):
                trie.add(entry, number)
        pattern.trie = trie
    gates.fill()


def take(pattern: PatternState, state: Any) -> None:
    """Remove the walks of a segment from a pattern."""
    trie = pattern.trie
    if trie is not None:
        for seed in _seeds(pattern, state):
            trie.remove(state, seed)
    pattern.drop_walks(state)
    # below the number that makes a trie, so that a query that opens and closes does not make one each time
    if trie is not None and len(pattern.walks) < FEW // 2:
        pattern.trie = None
        for of in dict.fromkeys(of for _, of in pattern.walks):
            for seed in _seeds(pattern, of):
                trie.remove(of, seed)


def _seeds(pattern: PatternState, state: Any) -> list[int]:
    return [number for number, other in enumerate(state.patterns) if other is pattern]


def _needed(state: Any, seed: int) -> dict[tuple[int, PatternState, int], None]:
    """Return the places of a triple at which other patterns must have matches, with their slots."""
    written = state.segment.patterns
    places: dict[Any, int] = {}
    for place, term in enumerate(written[seed]):
        places.setdefault(term, place)
    return {
        (places[variable], pattern, slot): None
        for number, (other, pattern) in enumerate(zip(written, state.patterns, strict=True))
        if number != seed
        for slot, variable in enumerate(other.variables)
        # without that path the pattern cannot recognize the first or the last match of a value
        if variable in places and (pattern.arity == 1 or (pattern, (slot,)) in state.paths)
    }


def _order(found: tuple[Gate, int]) -> tuple[bool, int, int]:
    """Sort gates that few values pass first, then older gates, which many walks share."""
    gate, place = found
    return is_wide(gate.pattern), gate.number, place


def _rank(entry: Entry) -> int:
    rank: int = entry[1].rank
    return rank
