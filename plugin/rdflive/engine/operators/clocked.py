"""Clocked: the rows of which a comparison with NOW() holds, or all of them marked, as time goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from sortedcontainers import SortedDict

from rdflive.engine.dictionary import UNBOUND, Dictionary
from rdflive.engine.multiset import Row, Weights
from rdflive.engine.operators.operator import gather
from rdflive.engine.present import Present
from rdflive.query.expressions import Phases

__all__ = ["Clocked"]

_Bucket: TypeAlias = "tuple[Row, int] | Weights"
"""What changes at one instant: mostly one row, which stands with its weight; else several with theirs."""


class Clocked:
    """Lets rows through while a comparison with NOW() holds; `present` says what NOW() is.

    With `marks`, the ids of false and true, every row is let through and gets one more column with the truth,
    unbound for an error. The marks are held until `clear`.

    Kept are only the rows that time will change, in the order of their next change. For a filter
    `?t > NOW()` these are the rows with a time to come: when theirs has come nothing of them is kept. A
    row costs O(log n) when it comes, when it goes and when its time comes, n the rows that are kept.
    """

    __slots__ = ("_dictionary", "_marks", "_phases", "_present", "_waiting")

    def __init__(
        self,
        dictionary: Dictionary,
        phases: Callable[[Row], Phases],
        present: Present,
        marks: tuple[int, int] | None = None,
    ) -> None:
        self._dictionary = dictionary
        self._phases = phases
        self._present = present
        self._marks = marks or ()
        self._waiting: SortedDict[int, _Bucket] = SortedDict()
        dictionary.hold(self._marks)

    @property
    def due(self) -> int | None:
        """The instant at which the first row changes; None where none will."""
        return self._waiting.peekitem(0)[0] if self._waiting else None

    def update(self, *deltas: Weights) -> Weights:
        """Take changed rows, and let time pass to the present."""
        (delta,) = deltas
        moved: Weights = {}
        now, waiting, phases = self._present.now, self._waiting, self._phases
        # first: a row that goes is looked for by its next change as of now
        while waiting and waiting.peekitem(0)[0] <= now:
            at, bucket = waiting.popitem(0)
            for row, weight in bucket.items() if isinstance(bucket, dict) else (bucket,):
                self._give(moved, row, _truth(phases(row), at - 1)[0], -weight)
                truth, due = _truth(phases(row), now)
                self._give(moved, row, truth, weight)
                if due is None:
                    self._dictionary.drop(row)
                else:
                    self._put(due, row, weight)
        for row, weight in delta.items():
            truth, due = _truth(phases(row), now)
            self._give(moved, row, truth, weight)
            if due is not None:
                self._change(due, row, weight)
        return moved

    def clear(self) -> None:
        """Forget every row and release the marks; an operator with marks cannot be used again."""
        for bucket in self._waiting.values():
            for row in bucket if isinstance(bucket, dict) else bucket[:1]:
                self._dictionary.drop(row)
        self._waiting.clear()
        self._dictionary.drop(self._marks)
        self._marks = ()

    def containers(self) -> list[Any]:
        """List the order of the rows, and where several change at once these."""
        return [self._waiting, *(bucket for bucket in self._waiting.values() if isinstance(bucket, dict))]

    def _give(self, moved: Weights, row: Row, truth: bool | None, weight: int) -> None:
        if self._marks:
            gather(moved, (*row, UNBOUND if truth is None else self._marks[truth]), weight)
        elif truth:
            gather(moved, row, weight)

    def _change(self, due: int, row: Row, weight: int) -> None:
        """Change the weight of a row that waits for an instant."""
        bucket = self._waiting.get(due)
        if isinstance(bucket, dict):
            before = bucket.pop(row, 0)
        else:
            before = bucket[1] if bucket is not None and bucket[0] == row else 0
        if before and (len(bucket) == 0 if isinstance(bucket, dict) else True):
            del self._waiting[due]
        after = before + weight
        if not before:
            self._dictionary.hold(row)
        if after:
            self._put(due, row, after)
        else:
            self._dictionary.drop(row)

    def _put(self, due: int, row: Row, weight: int) -> None:
        """Have a row, which does not wait, wait for an instant."""
        bucket = self._waiting.get(due)
        if bucket is None:
            self._waiting[due] = row, weight
        elif isinstance(bucket, dict):
            bucket[row] = weight
        else:
            self._waiting[due] = {bucket[0]: bucket[1], row: weight}


def _truth(phases: Phases, now: int) -> tuple[bool | None, int | None]:
    """Give the truth at an instant, and when it is another next; None for never."""
    truth, later = phases
    for at, then in later:
        if at > now:
            return truth, at
        truth = then
    return truth, None
