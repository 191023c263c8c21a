"""rdflive's own kernel, by algorithm."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from bench.clock import timed
from bench.contender import Contender, Outcome, digest
from bench.stream import Pattern, Update, to_patterns
from rdflive.engine.kernel import Kernel
from rdflive.query.bgp import BGP, Variable
from rdflive.query.segment import Segment, SegmentAlgorithm, make_segment

__all__ = ["rdflive_contender", "run_segment"]


def rdflive_contender(algorithm: SegmentAlgorithm | None) -> Contender:
    """Give the kernel with one algorithm; None leaves the choice to the planner (`auto`)."""

    def run(updates: Sequence[Update], query: tuple[Pattern, ...], number: int) -> Outcome:
        patterns = to_patterns(query)
        return run_segment(updates, make_segment(patterns, BGP(patterns).variables, algorithm))

    return run


def run_segment(updates: Sequence[Update], segment: Segment) -> Outcome:
    """Feed the stream to a kernel that maintains one segment."""
    kernel = Kernel()
    state = kernel.add(segment, lambda key: ())

    def feed() -> None:
        apply = kernel.apply
        for sign, s, p, o in updates:
            apply(sign, s, p, o)

    seconds, _ = timed(feed)
    net = Counter(state.added)
    net.subtract(state.removed)
    return Outcome(seconds, len(state.added), len(state.removed), digest(net))


def variables_of(query: tuple[Pattern, ...]) -> tuple[Variable, ...]:
    """List the variables of a query, as all engines order their solutions."""
    return BGP(to_patterns(query)).variables
