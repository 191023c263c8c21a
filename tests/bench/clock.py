"""Timing on a noisy machine: interleaved runs, medians, and the garbage collector off for all peers."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from statistics import median
from time import perf_counter
from typing import TypeVar

__all__ = ["interleave", "middle", "quiet", "ratio", "timed"]

T = TypeVar("T")


@contextmanager
def quiet() -> Iterator[None]:
    """Collect garbage before, and not during, what is timed."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def timed(work: Callable[[], T], clock: Callable[[], float] = perf_counter) -> tuple[float, T]:
    """Give the seconds that a call took, and what it returned."""
    with quiet():
        start = clock()
        result = work()
        return clock() - start, result


def interleave(runs: Mapping[str, Callable[[int], T]], repeat: int) -> dict[str, list[T]]:
    """Call every run once per round (A B C, B C A, …), so that drift of the machine hits all alike."""
    results: dict[str, list[T]] = {name: [] for name in runs}
    names = list(runs)
    for number in range(repeat if names else 0):
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            results[name].append(runs[name](number))
    return results


def middle(seconds: list[float]) -> float:
    """Give the median."""
    return median(seconds)


def ratio(seconds: list[float], base: list[float]) -> float:
    """Give the median of the ratios of runs made in the same round."""
    return median(a / b for a, b in zip(seconds, base, strict=True))
