"""Clocked: the rows for which a comparison with NOW() holds, or all rows marked with it, as time passes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple, TypeAlias

from sortedcontainers import SortedDict

from rdflive.engine.dictionary import UNBOUND, Dictionary
from rdflive.engine.multiset import Row, Weights
from rdflive.engine.operators.operator import gather
from rdflive.engine.present import Present
from rdflive.query.expressions import Phases

__all__ = ["ClockedOperator"]


class _Turn(NamedTuple):
    """The next change of a row: the truth before and after it, and the changes after that."""

    before: bool | None
    after: bool | None
    later: tuple[tuple[int, bool | None], ...]


_Waiting: TypeAlias = "tuple[Row, int, _Turn]"
"""A row that waits, with its weight."""
_Bucket: TypeAlias = "_Waiting | dict[Row, _Waiting]"
"""Changes at one instant: usually a single row, otherwise several by themselves."""
_LAST: Final[dict[_Turn, _Turn]] = {}
"""The turns with none after them: the same few for all rows."""


class ClockedOperator:
    """Outputs rows while a comparison with NOW() holds; `present` supplies the time of NOW().

    With `marks`, the ids of false and true, every row is output with one more column for the truth, unbound
    for an error. The marks are held until `clear`.

    The state has only rows that time will change, in the order of their next change. For a filter `?t >
    NOW()` these are the rows with a future time, each until its time is reached. A row costs O(log n) when it
    is added, removed or changed by time, with n rows kept.
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
        """The instant at which the first row changes; None if no row will."""
        return self._waiting.peekitem(0)[0] if self._waiting else None

    def update(self, *deltas: Weights) -> Weights:
        """Apply changed rows, and the time that has passed."""
        (delta,) = deltas
        moved: Weights = {}
        now, waiting = self._present.now, self._waiting
        has_waited = bool(waiting)
        # first: a removed row is looked up by its next change as of now
        while waiting and waiting.peekitem(0)[0] <= now:
            _, bucket = waiting.popitem(0)
            for row, weight, turn in bucket.values() if isinstance(bucket, dict) else (bucket,):
                self._give(moved, row, turn.before, -weight)
                truth, due, following = _turn(turn.after, turn.later, now)
                self._give(moved, row, truth, weight)
                if due is None or following is None:
                    self._dictionary.drop(row)
                else:
                    self._put(due, (row, weight, following))
        for row, weight in delta.items():
            truth, due, following = _turn(*self._phases(row), now)
            self._give(moved, row, truth, weight)
            if due is not None and following is not None:
                self._change(due, row, weight, following)
        if has_waited and not waiting:
            self._waiting = SortedDict()  # a dictionary does not shrink
        return moved

    def clear(self) -> None:
        """Discard every row and release the marks; an operator with marks cannot be used again."""
        for bucket in self._waiting.values():
            for row in bucket if isinstance(bucket, dict) else bucket[:1]:
                self._dictionary.drop(row)
        self._waiting.clear()
        self._dictionary.drop(self._marks)
        self._marks = ()

    def containers(self) -> list[Any]:
        """List the order of the rows, if there are any, and the rows that change together."""
        order = [self._waiting] if self._waiting else []
        return [*order, *(bucket for bucket in self._waiting.values() if isinstance(bucket, dict))]

    def _give(self, moved: Weights, row: Row, truth: bool | None, weight: int) -> None:
        if self._marks:
            gather(moved, (*row, UNBOUND if truth is None else self._marks[truth]), weight)
        elif truth:
            gather(moved, row, weight)

    def _change(self, due: int, row: Row, weight: int, turn: _Turn) -> None:
        """Change the weight of a row that waits for an instant."""
        before = self._take(due, row)
        if not before:
            self._dictionary.hold(row)
        if before + weight:
            self._put(due, (row, before + weight, turn))
        else:
            self._dictionary.drop(row)

    def _take(self, due: int, row: Row) -> int:
        """Remove a row that waits for an instant; return its weight, or 0 if it does not wait."""
        bucket = self._waiting.get(due)
        found = bucket.pop(row, None) if isinstance(bucket, dict) else bucket
        if found is None or found[0] != row:
            return 0
        if not isinstance(bucket, dict) or not bucket:
            del self._waiting[due]
        return found[1]

    def _put(self, due: int, one: _Waiting) -> None:
        """Make a new row wait for an instant."""
        bucket = self._waiting.get(due)
        if bucket is None:
            self._waiting[due] = one
        elif isinstance(bucket, dict):
            bucket[one[0]] = one
        else:
            self._waiting[due] = {bucket[0]: bucket, one[0]: one}


def _turn(
    truth: bool | None, later: tuple[tuple[int, bool | None], ...], now: int
) -> tuple[bool | None, int | None, _Turn | None]:
    """Return the truth at an instant, the time of its next change, and that change (None twice for never)."""
    for place, (at, then) in enumerate(later):
        if at > now:
            turn = _Turn(truth, then, later[place + 1 :])
            return truth, at, turn if turn.later else _LAST.setdefault(turn, turn)
        truth = then
    return truth, None, None
