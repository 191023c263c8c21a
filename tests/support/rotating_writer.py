"""A program that writes a log of RDF Patch and rotates it the way that it is told.

    python -m support.rotating_writer LOG WAY TRANSACTIONS RATE

Transaction n takes the value n - 50 and gives the value n, so a state has 50 values. Before LOG is cut, the
number of transactions that are then in front of its beginning is in LOG.before.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from pathlib import Path
from typing import BinaryIO

KEPT = 50
WAYS = ("create", "late", "copytruncate")
_WRITTEN_LATE = 20
"""Transactions that are written to a renamed file, or behind a copy."""


def patch(number: int) -> bytes:
    old = f'D <urn:s> <urn:n> "{number - KEPT}" .\n' if number >= KEPT else ""
    return f'TX .\n{old}A <urn:s> <urn:n> "{number}" .\nTC .\n'.encode()


def write(path: Path, way: str, transactions: int, rate: float) -> None:
    stream: BinaryIO = path.open("ab", buffering=0)
    start, every, left = time.monotonic(), max(200, int(rate)), 0
    for number in range(transactions):
        turn = number % every
        if number >= every and turn == 0:
            left = _begin(path, way)
        elif number >= every and turn == left:
            stream = _end(stream, path, way, number)
        stream.write(patch(number))
        time.sleep(max(0.0, start + number / rate - time.monotonic()))
    stream.close()


def _begin(path: Path, way: str) -> int:
    """Begin a rotation, and give after how many transactions it is ended."""
    if way == "copytruncate":
        shutil.copy(path, f"{path}.1")
        return _WRITTEN_LATE
    for number in (2, 1):
        former = Path(f"{path}.{number}")
        if former.exists():
            former.rename(f"{path}.{number + 1}")
    path.rename(f"{path}.1")
    if way == "create":
        path.touch()
    return _WRITTEN_LATE


def _end(stream: BinaryIO, path: Path, way: str, number: int) -> BinaryIO:
    """End it, and give the file to write on to."""
    if way == "copytruncate":
        note = Path(f"{path}.new")
        note.write_text(str(number))
        note.rename(f"{path}.before")
        os.truncate(path, 0)
        return stream
    stream.close()
    return path.open("ab", buffering=0)


if __name__ == "__main__":
    write(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), float(sys.argv[4]))
