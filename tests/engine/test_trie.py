"""Many segments that begin at few patterns: each is told what it would be told alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import product
from random import Random
from typing import Any

import pytest

from rdflive.engine import trie
from rdflive.engine.kernel import Kernel, QuadKernel, SegmentState
from rdflive.engine.pattern import RowTest
from rdflive.query.bgp import BGP, TriplePattern, Variable
from rdflive.query.segment import make_segment
from support.bgp import drain, evaluate, snapshot_of, toggles
from support.effort import drawn_from, rounds

Triple = tuple[int, int, int]
NODES = range(1, 8)
PREDICATES = (11, 12, 13)
X, Y = Variable("x"), Variable("y")


def some_patterns(random: Random) -> tuple[TriplePattern, ...]:
    """Two to four patterns that hang together, with constants, loops and variable predicates among them."""
    variables = [Variable(f"v{i}") for i in range(4)]
    known = variables[:1]
    patterns = []
    for _ in range(random.randint(2, 4)):
        one = random.choice(known)
        other: Any = random.choice((*variables, random.choice(NODES)))
        if isinstance(other, Variable) and other not in known:
            known.append(other)
        predicate: Any = random.choice(PREDICATES) if random.random() < 0.95 else Variable("p")
        ends = (one, other) if random.random() < 0.5 else (other, one)
        patterns.append(TriplePattern(ends[0], predicate, ends[1]))
    return BGP(patterns).patterns


def some_updates(random: Random, count: int) -> list[Triple]:
    return [(random.choice(NODES), random.choice(PREDICATES), random.choice(NODES)) for _ in range(count)]


class Followed:
    """A segment, and what its deltas add up to."""

    def __init__(self, kernel: Kernel, random: Random, present: set[Triple]) -> None:
        self.patterns = some_patterns(random)
        self.variables = BGP(self.patterns).variables
        algorithm: Any = random.choice((None, "join", "connected"))
        if algorithm == "connected" and not self.variables:
            algorithm = None
        segment = make_segment(self.patterns, self.variables, algorithm)
        self.state: SegmentState = kernel.add(segment, snapshot_of(present))
        self.answer = Counter(kernel.solutions(self.state, snapshot_of(present)))

    def check(self, present: set[Triple]) -> None:
        """Compare with recomputation."""
        self.answer.update(drain(self.state))
        self.answer = +self.answer
        assert self.answer == evaluate(self.patterns, present, self.variables), self.patterns


@pytest.mark.parametrize("number", range(rounds(48, share=12)))
def test_many_segments_that_come_and_go_equal_recomputation(number: int) -> None:
    """Whatever gates they share; when the last has gone, nothing is left."""
    random = drawn_from("trie", number)
    kernel, present = Kernel(), set[Triple]()
    followed: list[Followed] = []
    tried = 0
    for most in (40, 60, 5, 50):
        while len(followed) > most:
            gone = followed.pop(random.randrange(len(followed)))
            gone.check(present)
            kernel.remove(gone.state)
        while len(followed) < most:
            followed.append(Followed(kernel, random, present))
        tried += sum(pattern.trie is not None for pattern in kernel.patterns.values())
        for _ in toggles(kernel, some_updates(random, 10), present):
            for each in followed:
                each.check(present)
    assert tried
    for _ in toggles(kernel, sorted(present), present):
        pass
    for each in followed:
        each.check(present)
        assert not each.answer
    assert not any(map(len, kernel.gates.containers()))
    for each in random.sample(followed, len(followed)):
        kernel.remove(each.state)
    assert (kernel.patterns, kernel.stars, kernel.gates.containers()) == ({}, {}, [])


def ending_in(predicate: int) -> tuple[TriplePattern, ...]:
    return TriplePattern(X, 11, Y), TriplePattern(Y, predicate, Variable("z"))


def test_only_walks_whose_next_pattern_has_a_match_are_run() -> None:
    """Those of the others are not called, however many there are, for inserts and deletes."""
    kernel = Kernel()
    states = [kernel.add(make_segment(ending_in(100 + i), (X, Y)), lambda _: ()) for i in range(200)]
    kernel.apply(1, 2, 107, 3)
    (first,) = (pattern for pattern in kernel.patterns.values() if pattern.key[1] == 11)
    assert [state for _, state in first.trie.reached((1, 11, 2))] == [states[7]]
    assert first.trie.reached((1, 11, 3)) == []
    kernel.apply(1, 1, 11, 2)
    assert [len(state.added) for state in states] == [int(i == 7) for i in range(200)]
    kernel.apply(-1, 1, 11, 2)
    assert [len(state.removed) for state in states] == [int(i == 7) for i in range(200)]


def test_a_gate_that_only_others_use_leads_nowhere() -> None:
    """It is open still, for the walks of another pattern."""
    kernel = Kernel()
    states = {}
    for first, i in product((11, 12), range(40)):
        patterns = TriplePattern(X, first, Y), TriplePattern(Y, 100 + i, Variable("z"))
        states[first, i] = kernel.add(make_segment(patterns, (X,)), lambda _: ())
    kernel.apply(1, 2, 107, 3)
    kernel.remove(states[11, 7])
    for first in (11, 12):
        kernel.apply(1, 1, first, 2)
    assert list(kernel.dirty) == [states[12, 7]]


def test_many_segments_of_quads() -> None:
    """The graph is one more place, where all patterns have the same variable."""
    kernel, graph = QuadKernel(), Variable("g")
    states = []
    for i in range(40):
        patterns = tuple(TriplePattern(*pattern, graph) for pattern in ending_in(100 + i))
        patterns += (TriplePattern(X, 12, Variable("w"), graph),)
        states.append(kernel.add(make_segment(patterns, (X, graph)), lambda _: ()))
    for sign in (1, -1):
        for quad in ((2, 107, 3, 5), (1, 12, 4, 6), (1, 12, 4, 5), (1, 11, 2, 6), (1, 11, 2, 5)):
            kernel.apply(sign, *quad)
    assert [(state.added, state.removed) for state in states if state in kernel.dirty] == [
        ([(1, 5)], [(1, 5)])
    ]
    assert not any(map(len, kernel.gates.containers()))


def test_walks_are_run_in_the_order_in_which_segments_began() -> None:
    """Whatever gates they wait behind."""
    kernel = Kernel()
    random = drawn_from("order")
    ends = [100 + i % 30 for i in range(90)]
    random.shuffle(ends)
    states = []
    for end in ends:
        patterns = ending_in(end)
        states.append(kernel.add(make_segment(patterns, (X,) if len(states) % 2 else (X, Y)), lambda _: ()))
    for end in set(ends):
        kernel.apply(1, 2, end, 3)
    kernel.dirty.clear()
    kernel.apply(1, 1, 11, 2)
    assert list(kernel.dirty) == states


def test_few_walks_wait_behind_no_gates() -> None:
    """A trie is made when there are many, and goes when there are few; then patterns keep what they did."""
    kernel = Kernel()
    states = [kernel.add(make_segment(ending_in(100 + i), (X,)), lambda _: ()) for i in range(trie.FEW)]
    (first,) = (pattern for pattern in kernel.patterns.values() if pattern.key[1] == 11)
    assert (first.trie, first.masks, kernel.gates.containers()) == (None, {}, [])
    states.append(kernel.add(make_segment(ending_in(99), (X,)), lambda _: ()))
    assert first.trie is not None
    kernel.apply(1, 2, 99, 3)
    while len(states) >= trie.FEW // 2:
        assert kernel.gates.containers()
        kernel.remove(states.pop(0))
    assert (first.trie, first.masks, kernel.gates.containers()) == (None, {}, [])
    kernel.apply(1, 1, 11, 2)
    assert states[-1].added == [(1,)]


def test_a_filter_that_raises_leaves_its_triple_nowhere() -> None:
    """Also where it is in a walk behind gates: bits are as they were."""

    def fail(_: Any) -> bool:
        raise ValueError("no")

    kernel = Kernel()
    for i in range(40):
        kernel.add(make_segment(ending_in(100 + i), (X,)), lambda _: ())
    patterns = ending_in(107)
    segment = make_segment(patterns, (X,))
    failing = replace(segment, conditions=(RowTest("no", (0, 2), fail),))
    kernel.add(failing, lambda _: ())
    kernel.apply(1, 2, 107, 3)
    before = [dict(values) for values in kernel.gates.containers()]
    with pytest.raises(ValueError, match="no"):
        kernel.apply(1, 1, 11, 2)
    assert [dict(values) for values in kernel.gates.containers()] == before
