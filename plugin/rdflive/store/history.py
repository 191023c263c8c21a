"""The numbers of a dataset's commits that hold beyond one process."""

from __future__ import annotations

import re
import secrets
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

__all__ = ["History"]

_ID: Final = re.compile(r"([0-9]{1,18})-([0-9a-f]{8})")
_MOST: Final = 1000
"""Runs of numbers that are kept; deltas on their way to their clients are younger."""


@dataclass(slots=True)
class _Run:
    """Commits whose sequences and numbers both grow by one."""

    first: int
    number: int
    """The number of the first one."""
    last: int
    epoch: str


class History:
    """Names the states of a dataset: `epoch` names the history, and a number each commit that changes quads.

    The id `NUMBER-EPOCH` means the state after that commit, on every server of the history and after a
    restart. The sequence of a `Capture` also counts other events, such as the ticks of `NOW()`;
    `number_of` returns the number of the last commit up to a sequence.

    >>> history = History("0000002a", number=7, sequence=0)
    >>> history.commit(1), history.commit(3)  # the second sequence was a tick
    (8, 9)
    >>> [history.number_of(sequence) for sequence in (0, 1, 2, 3, 4)]
    [7, 8, 8, 9, 9]
    >>> history.id(9), history.place("9-0000002a"), history.place("9-ffffffff")
    ('9-0000002a', 9, None)
    """

    def __init__(self, epoch: str = "", *, number: int = 0, sequence: int = 0) -> None:
        self.epoch = epoch or secrets.token_hex(4)
        """Eight hexadecimal digits."""
        self.number = number
        """The number of the last commit."""
        self._next: int | None = None
        self._next_epoch = ""
        self._lock = threading.Lock()
        self._runs: deque[_Run] = deque([_Run(sequence, number, sequence, self.epoch)], maxlen=_MOST)

    def id(self, number: int) -> str:
        """Return the id of the state after a commit."""
        return f"{number}-{self.epoch}"

    def id_of(self, sequence: int) -> str:
        """Return the id of the state at a sequence."""
        run = self._run_of(sequence)  # once, as both parts must be those of one state
        return f"{_number_in(run, sequence)}-{run.epoch}"

    def place(self, name: str) -> int | None:
        """Return the number in an id; None for an id of another history."""
        match = _ID.fullmatch(name)
        return None if match is None or match[2] != self.epoch else int(match[1])

    @property
    def coming(self) -> int:
        """The number of the next commit."""
        return self.number + 1 if self._next is None else self._next

    def commit(self, sequence: int) -> int:
        """Number the commit with a sequence; called under the store's lock."""
        number = self.coming
        with self._lock:
            run = self._runs[-1]
            self.epoch = self._next_epoch or self.epoch
            if sequence == run.last + 1 and number == self.number + 1 and self.epoch == run.epoch:
                run.last = sequence
            else:
                self._runs.append(_Run(sequence, number, sequence, self.epoch))
            self.number = number
        return number

    def number_of(self, sequence: int) -> int:
        """Return the number of the last commit up to a sequence."""
        return _number_in(self._run_of(sequence), sequence)

    def epoch_of(self, sequence: int) -> str:
        """Return the epoch of the last commit up to a sequence."""
        return self._run_of(sequence).epoch

    def _run_of(self, sequence: int) -> _Run:
        with self._lock:
            runs = self._runs
            return next((run for run in reversed(runs) if run.first <= sequence), runs[0])

    @contextmanager
    def numbering(self, number: int, *, epoch: str = "") -> Iterator[None]:
        """Give the commit of the block a number, as a replica does; a block without a commit gives it to the
        present state. Called under the store's lock, around the whole commit.

        With `epoch` the commit begins another history, in which it has this number. A block that raises
        before its commit changes nothing.
        """
        self._next, self._next_epoch = number, epoch
        try:
            yield
            with self._lock:
                run = self._runs[-1]
                self.epoch = epoch or self.epoch
                if self.number != number or run.epoch != self.epoch:
                    self._runs.append(_Run(run.last, number, run.last, self.epoch))
                    self.number = number
        finally:
            self._next, self._next_epoch = None, ""

    def tear(self, sequence: int) -> None:
        """Begin another history with this sequence, because the store may have changed unseen."""
        with self._lock:
            self.epoch, self.number = secrets.token_hex(4), self.number + 1
            self._runs.append(_Run(sequence, self.number, sequence, self.epoch))


def _number_in(run: _Run, sequence: int) -> int:
    return run.number + min(max(sequence, run.first), run.last) - run.first
