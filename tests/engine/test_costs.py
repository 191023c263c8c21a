"""The cost laws, by counted probes: every look into a router shelf, a path or a mask counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from rdflive.engine.kernel import Kernel
from rdflive.query.bgp import BGP, TriplePattern, Variable
from rdflive.query.segment import make_segment
from support.bgp import plan

X, Y, Z = map(Variable, "xyz")
P, Q = 1_000_001, 1_000_002


class Probes:
    """Counts the accesses of all dictionaries made here."""

    def __init__(self) -> None:
        self.count = 0

    def make(self) -> Any:
        probes = self

        class Counted(dict[Any, Any]):
            def get(self, key: Any, default: Any = None) -> Any:
                probes.count += 1
                return super().get(key, default)

            def __getitem__(self, key: Any) -> Any:
                probes.count += 1
                return super().__getitem__(key)

            def __setitem__(self, key: Any, value: Any) -> None:
                probes.count += 1
                super().__setitem__(key, value)

            def __delitem__(self, key: Any) -> None:
                probes.count += 1
                super().__delitem__(key)

        return Counted()


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
    """The router's cost does not depend on how many patterns exist, whatever positions are bound."""
    costs = []
    for count in (1, 10, 1000):
        counted = Counted()
        for i in range(count):
            counted.add([TriplePattern(*SHAPES[shape](i))])
        costs.append(counted.cost(1, 5, P, 6))
    assert costs[0] == costs[1] == costs[2] <= 8


def test_all_shapes_together_cost_at_most_eight_probes() -> None:
    """One probe per shape of bound positions bounds the routing of any triple."""
    counted = Counted()
    for shape in SHAPES.values():
        for i in range(50):
            counted.add([TriplePattern(*shape(i))])
    assert counted.cost(1, 5, P, 6) <= 8


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


def test_equal_patterns_of_many_queries_are_stored_once() -> None:
    """An update of a pattern that a hundred queries share writes its paths and masks once."""
    costs = []
    for count in (1, 100):
        counted = Counted()
        for _ in range(count):
            counted.add([TriplePattern(X, P, Y), TriplePattern(X, Q, 9)], "connected")
        costs.append(counted.cost(1, 1, P, 2))
    walks = 99  # each query looks at the shared match state once
    assert costs[1] - costs[0] <= walks


def test_forced_algorithms_cover_one_query() -> None:
    """A star can be run as star, product, connected and join, a ground pattern as ground, product, join."""
    star = [TriplePattern(X, P, 1), TriplePattern(X, Q, 2)]
    ground = [TriplePattern(1, P, 1), TriplePattern(1, Q, 2)]
    general = [TriplePattern(X, P, 1), TriplePattern(Y, Q, 2), TriplePattern(3, P, 4)]
    assert [plan(star, a).algorithm for a in ("auto", "star", "product", "connected", "join")] == [
        "star", "star", "product", "connected", "join",
    ]  # fmt: skip
    assert [plan(ground, a).algorithm for a in ("auto", "ground", "product", "join")] == [
        "ground", "ground", "product", "join",
    ]  # fmt: skip
    assert [plan(general, a).algorithm for a in ("auto", "product", "join")] == [
        "product",
        "product",
        "join",
    ]


@pytest.mark.parametrize("end", [Y, 1])
def test_a_forced_join_keeps_no_match_states(end: Variable | int) -> None:
    """It is the plan without them that others are compared with."""
    patterns = (TriplePattern(X, P, end), TriplePattern(X, Q, 2), TriplePattern(X, P, Z))
    assert make_segment(patterns, (X,), "join").centres == ()
