"""Finds the positions at which a log may be cut, looking at each of its bytes once and reading no row.

A *unit* is a transaction, or a line outside any. A micro-batch ends with a unit. A partition may end with any
line, because a transaction can be larger than memory: its pieces contain the position where it began.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO, Final, NamedTuple

from rdflive.feeds import RowError

__all__ = ["LINE_END", "LogScan", "Piece", "UnendedError"]

_MARK: Final = re.compile(rb"\n[ \t]*T([XCA])(?![A-Z])")
LINE_END: Final = re.compile(rb"\r\n|\n|\r")
"""The ends of lines, as in `rdflive.feeds`."""
_BOM: Final = b"\xef\xbb\xbf"


class Piece(NamedTuple):
    """Consecutive complete lines of a log."""

    start: int
    end: int
    begun: int | None = None
    """The beginning of the transaction that is open at the start of the piece."""
    part: int = 0
    """The number of lines of that transaction before the piece, without its first."""
    aborted: tuple[int, ...] = ()
    """The beginnings of transactions that reach beyond a piece and end with TA."""


class UnendedError(RowError):
    """A transaction has no end."""

    def __init__(self, begun: int) -> None:
        super().__init__("neither TC nor TA ends the transaction that begins here, so it is not applied")
        self.begun = begun
        """The byte at which the transaction begins."""


class LogScan:
    """Scans a log from the beginning of a unit, reading `block` bytes at a time.

    Without `transactions` every line is a unit. A line may end in LF, CRLF or CR. While the log grows, a line
    counts only after its LF, and units without an LF between them stay together.
    """

    def __init__(self, start: int, *, block: int, transactions: bool) -> None:
        self.start = start
        self.complete = start
        """The end of the last unit found."""
        self.known = start
        """The end of the complete lines that were scanned."""
        self._block = block
        self._transactions = transactions
        self._begun: int | None = None
        self._part = 0
        self._cuts: list[Piece] = []
        self._aborted: list[int] = []

    def advance(self, stream: BinaryIO, stop: int, *, until: int, final: bool) -> None:
        """Scan up to byte `stop`, or to the first end of a unit at or after byte `until`.

        With `final` the log ends at `stop`, which ends its last line. Inside a transaction this raises
        `UnendedError`, and so does the beginning of another transaction.
        """
        stream.seek(self.known)
        while self.complete < until:
            block = self._next(stream, stop, final=final)
            if not block:
                if final and self._begun is not None:
                    raise UnendedError(self._begun)
                return
            used = self._look(block, until)
            self.known += used
            if used == len(block):
                self._cuts.append(self._piece_from(block))

    def pieces(self, start: int, end: int) -> list[Piece]:
        """Cut the bytes between two ends of units into pieces, in order."""
        aborted = tuple(begun for begun in self._aborted if start <= begun < end)
        begins = [Piece(start, end), *(cut for cut in self._cuts if start < cut.start < end)]
        ends = [*(begin.start for begin in begins[1:]), end]
        return [begin._replace(end=to, aborted=aborted) for begin, to in zip(begins, ends, strict=True)]

    def forget(self, end: int) -> None:
        """Discard the state before the end of a unit, whose pieces are not requested again."""
        self.start = end
        self._cuts = [cut for cut in self._cuts if cut.start > end]
        self._aborted = [begun for begun in self._aborted if begun >= end]

    def _next(self, stream: BinaryIO, stop: int, *, final: bool) -> bytes:
        """Read some complete lines; return nothing if there is none."""
        left = stop - self.known
        block = stream.read(min(self._block, left))
        if not block.endswith(b"\n"):
            block += stream.readline(left - len(block))
        return block if final else block[: block.rfind(b"\n") + 1]

    def _look(self, block: bytes, until: int) -> int:
        """Find the units of a block, up to the first end at or after `until`; return the scanned length."""
        if _has_lone_cr(block):
            # no LF ends these units, so those of the block stay together
            for start, kind in self._marks(block.replace(b"\r", b"\n")):
                self._mark(start, kind)
            if self._begun is None:
                self.complete = self.known + len(block)
            return len(block)
        at = 0
        for start, kind in self._marks(block):
            if self._begun is None and self._enough(block, at, start, until):
                return self.complete - self.known
            if self._mark(start, kind):
                at = block.find(b"\n", start) + 1 or len(block)
                self.complete = self.known + at
                if self.complete >= until:
                    return at
        if self._begun is None and self._enough(block, at, len(block), until):
            return self.complete - self.known
        return len(block)

    def _marks(self, block: bytes) -> Iterator[tuple[int, bytes]]:
        """Yield the lines of a block that begin or end a transaction."""
        if not self._transactions:
            return
        if self.known == 0 and block.startswith(_BOM):
            # blanks of the same length keep the positions right
            block = b"   " + block[3:]
        # the LF in front lets the first line match too; a match starts at the position of its line
        for match in _MARK.finditer(b"\n" + block):
            yield match.start(), match[1]

    def _mark(self, start: int, kind: bytes) -> bool:
        """Begin or end a transaction; return True if one ended."""
        if kind == b"X":
            if self._begun is not None:
                raise UnendedError(self._begun)
            self._begun = self.known + start
            return False
        if self._begun is None:  # the reader raises
            return False
        # The reader of the piece with the TA sees it. Only readers of earlier pieces need this entry.
        if kind == b"A" and self._cuts and self._cuts[-1].start > self._begun:
            self._aborted.append(self._begun)
        self._begun = None
        return True

    def _enough(self, block: bytes, begin: int, end: int, until: int) -> bool:
        """Take lines outside of transactions; return True if `until` is reached."""
        if self.known + end > until:
            end = block.find(b"\n", max(begin, until - self.known - 1)) + 1 or end
        self.complete = self.known + end
        return self.complete >= until

    def _piece_from(self, block: bytes) -> Piece:
        """Return the piece that begins after a block."""
        begun = self._begun
        if begun is None:
            self._part = 0
        elif begun >= self.known - len(block):
            self._part = _count_lines(block[begun - self.known :]) - 1
        else:
            self._part += _count_lines(block)
        return Piece(self.known, self.known, begun, self._part)


def _has_lone_cr(block: bytes) -> bool:
    return b"\r" in block and block.count(b"\r") != block.count(b"\r\n")


def _count_lines(block: bytes) -> int:
    if b"\r" not in block:
        return block.count(b"\n")
    return sum(1 for _ in LINE_END.finditer(block))
