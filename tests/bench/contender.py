"""What the engine section asks of each engine it compares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bench.stream import Pattern, Update

__all__ = ["Contender", "Outcome", "digest"]


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
