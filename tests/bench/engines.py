"""What the engine section asks of each engine: rdflive's own kernel, by algorithm, and its yardstick.

The yardstick is the reference kernel of the shared folder, run where that is present.
"""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from bench.clock import timed
from bench.stream import SHARED, Pattern, Update, to_patterns
from rdflive.engine.kernel import Kernel
from rdflive.query.bgp import BGP, Variable
from rdflive.query.segment import Segment, SegmentAlgorithm, make_segment

__all__ = [
    "Contender", "Outcome", "digest", "rdflive_contender", "reference_contender", "run_segment",
    "variables_of",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run over the stream: its time, the solutions that came and went, and the net answer."""

    seconds: float
    added: int
    removed: int
    answer: int
    """The digest of the net answer."""
    startup: float = 0.0
    """Seconds of `seconds` that a run over hardly any update takes too."""


Contender: TypeAlias = Callable[[Sequence[Update], tuple[Pattern, ...], int], Outcome]
"""Runs one query over the stream; the integer is the number of the round."""


def digest(rows: Counter[tuple[int, ...]] | Iterable[tuple[int, ...]]) -> int:
    """Sum the hashes of a multiset of integer tuples: equal for equal multisets, in any process."""
    weights = rows.items() if isinstance(rows, Counter) else ((row, 1) for row in rows)
    return sum(hash(row) * weight for row, weight in weights) % (1 << 64)


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


def reference_contender() -> Contender | str:
    """Load the kernel; a text says why it cannot be had."""
    path = SHARED / "reference_kernel.py"
    spec = importlib.util.spec_from_file_location("reference_kernel", path) if path.exists() else None
    if spec is None or spec.loader is None:
        return f"{path} is absent (set RDFLIVE_SHARED)"
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    make: Callable[..., Any] = module.Query

    def run(updates: Sequence[Update], query: tuple[Pattern, ...], number: int) -> Outcome:
        kernel = make(_numbered(query))
        added: list[tuple[int, ...]] = []
        removed: list[tuple[int, ...]] = []

        def feed() -> None:
            insert, delete = kernel.insert, kernel.delete
            for sign, s, p, o in updates:
                if sign > 0:
                    insert(s, p, o, added)
                else:
                    delete(s, p, o, removed)

        seconds, _ = timed(feed)
        net = Counter(added)
        net.subtract(removed)
        return Outcome(seconds, len(added), len(removed), digest(net))

    return run


def _numbered(query: tuple[Pattern, ...]) -> list[tuple[int, ...]]:
    """Number the variables -1, -2, … by first occurrence."""
    numbers: dict[str, int] = {}
    return [
        tuple(numbers.setdefault(t, -1 - len(numbers)) if isinstance(t, str) else t for t in pattern)
        for pattern in query
    ]
