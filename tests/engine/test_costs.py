"""The cost laws, by counted probes: every look into a router shelf, a path or a mask counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from rdflive.engine.kernel import Kernel
from rdflive.query.bgp import BGP, TriplePattern, Variable
from rdflive.query.segment import make_segment

X, Y, Z = map(Variable, "xyz")
P, Q = 1_000_001, 1_000_002


class Probes:
    """Counts the accesses of all dictionaries made here."""

    def __init__(self) -> None:
        self.count = 0
        accesses = ("get", "__getitem__", "__setitem__", "__delitem__")
        self.make = type("Counted", (dict,), {name: self._counted(getattr(dict, name)) for name in accesses})

    def _counted(self, access: Any) -> Any:
        def call(*arguments: Any) -> Any:
            self.count += 1
            return access(*arguments)

        return call


class Counted:
    """A kernel whose probes per update are counted."""

    def __init__(self) -> None:
        self.probes = Probes()
        self.kernel = Kernel(self.probes.make)

    def add(self, patterns: Sequence[TriplePattern], algorithm: Any = None) -> Any:
        segment = make_segment(tuple(patterns), BGP(patterns).variables, algorithm)
        return self.kernel.add(segment, lambda key: ())

    def cost(self, sign: int, s: int, p: int, o: int) -> int:
        """Apply one update and give its probes."""
        self.probes.count = 0
        self.kernel.apply(sign, s, p, o)
        return self.probes.count


SHAPES = {
    "s p o": lambda i: (10 + i, 20 + i, 30 + i),
    "s p ?": lambda i: (10 + i, P, Y),
    "? p o": lambda i: (X, P, 10 + i),
    "s p o, one predicate": lambda i: (10 + i, P, 30 + i),
    "s ? ?": lambda i: (10 + i, Y, Z),
    "? ? o": lambda i: (X, Y, 10 + i),
    "s ? o": lambda i: (10 + i, Y, 30 + i),
    "? p ?": lambda i: (X, 10 + i, Y),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_triple_that_matches_nothing_costs_the_same_beside_any_number_of_patterns(shape: str) -> None:
    """The router probes once for each way in which positions are bound, however many patterns exist."""
    costs = []
    for count in (1, 10, 1000):
        counted = Counted()
        for i in range(count):
            counted.add([TriplePattern(*SHAPES[shape](i))])
        costs.append(counted.cost(1, 5, P, 6))
    assert costs[0] == costs[1] == costs[2] <= 8


@pytest.mark.parametrize("algorithm", ["ground", "star"])
def test_ground_and_star_updates_do_not_depend_on_the_data(algorithm: str) -> None:
    """Algorithms 1 and 2: a constant number of probes per matched pattern."""
    costs = set()
    for size in (2, 20):
        for centres in (1, 500):
            counted = Counted()
            centre: Any = X if algorithm == "star" else 7
            state = counted.add([TriplePattern(centre, P, 100 + i) for i in range(size)], algorithm)
            assert state.paths == []  # masks alone, so that every probe is counted
            for value in range(7, 7 + centres):
                for i in range(1, size):
                    counted.kernel.apply(1, value, P, 100 + i)
            costs.add((counted.cost(1, 7, P, 100), counted.cost(-1, 7, P, 100)))
    assert len(costs) == 1
    assert max(costs.pop()) <= 6


def test_incomplete_centre_stops_a_walk_before_it_starts() -> None:
    """With a match state no neighbour is looked at while the centre's star is not full."""
    patterns = [TriplePattern(X, P, Y), TriplePattern(X, Q, 9), TriplePattern(Y, Q, Z)]
    costs = []
    for neighbours in (1, 1000):
        counted = Counted()
        counted.add(patterns, "connected")
        for i in range(neighbours):
            counted.kernel.apply(1, 1, P, 2000 + i)
        costs.append(counted.cost(1, 2000, Q, 3))
    assert costs[0] == costs[1]


def test_a_walk_costs_what_it_finds() -> None:
    """The probes of a complete path grow with its solutions, not with the data beside it."""
    for beside in (0, 1000):
        counted = Counted()
        state = counted.add([TriplePattern(X, P, Y), TriplePattern(Y, Q, Z)], "connected")
        for i in range(beside):
            counted.kernel.apply(1, 3000 + i, P, 5000 + i)
            counted.kernel.apply(1, 5000 + i, Q, 7000 + i)
        for i in range(5):
            counted.kernel.apply(1, 10 + i, P, 1)
        state.added.clear()
        cost = counted.cost(1, 1, Q, 2)
        assert len(state.added) == 5
        assert cost <= 20


@pytest.mark.parametrize("end", [Y, 1])
def test_a_forced_join_keeps_no_match_states(end: Variable | int) -> None:
    """It is the plan without them that others are compared with."""
    patterns = (TriplePattern(X, P, end), TriplePattern(X, Q, 2), TriplePattern(X, P, Z))
    assert make_segment(patterns, (X,), "join").centres == ()
