"""From bytes to lines of text: every line with its place, every fault too."""

from __future__ import annotations

import errno
import gzip
import re
import sys
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import BinaryIO, Final, NamedTuple, cast

from rdflive.errors import FeedError

__all__ = [
    "LONGEST",
    "STDIN",
    "Line",
    "blocks",
    "open_bytes",
    "open_lines",
    "to_lines",
    "to_pieces",
    "unreadable",
]

STDIN: Final = "-"
"""The path that stands for standard input."""
LONGEST: Final = 64 << 20
"""The most bytes that a line may have, with its end: a small packed file can hold a line of any length."""
_PIECE: Final = 1 << 20
_PART: Final = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


class Line(NamedTuple):
    """A line of a feed, without its end."""

    text: str
    number: int
    """From 1."""
    start: int = 0
    """Bytes of the feed in front of the line, decompressed."""
    end: int = 0
    """Bytes of the feed up to and including the end of the line."""
    check: int = 0
    """The CRC-32 of those bytes."""
    fault: str = ""
    """Why the line is no text; `text` is empty then."""
    before: int = 0
    """The CRC-32 of the bytes in front of the line."""


@contextmanager
def open_bytes(path: str) -> Iterator[BinaryIO]:
    """Open a feed: a file, one compressed with gzip (`.gz`), or standard input (`-`)."""
    if path == STDIN:
        if sys.stdin is None:  # as Python has it where the process began with it closed
            raise OSError(errno.EBADF, "it is closed; pipe the feed in, or give a file", "standard input")
        yield _stdin()
        return
    with gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb") as stream:
        # a GzipFile is a binary stream, though typeshed does not call it one
        yield cast(BinaryIO, stream)


def _stdin() -> BinaryIO:
    """Give standard input, to threads with a buffer of their own.

    When the process ends, Python needs the lock of `sys.stdin.buffer`, and aborts if a thread that is left
    behind in a read has it.
    """
    if threading.current_thread() is not threading.main_thread():
        with suppress(OSError, AttributeError):  # a stand-in may have no descriptor
            return open(sys.stdin.fileno(), "rb", closefd=False)
    return sys.stdin.buffer


@contextmanager
def open_lines(path: str) -> Iterator[Iterator[Line]]:
    """Open a feed as lines of text."""
    with open_bytes(path) as stream:
        yield to_lines(to_pieces(stream), "standard input" if path == STDIN else path)


def unreadable(source: str, error: OSError) -> FeedError:
    """Say that a feed cannot be opened, and why."""
    return FeedError(source, 0, f"cannot be opened: {error.strerror or error}; give the path of a file")


def blocks(read: Callable[[int], bytes], size: int) -> Iterator[bytes]:
    """Read so many bytes, or as many as there are, in blocks."""
    while size and (block := read(min(size, _PIECE))):
        size -= len(block)
        yield block


def to_pieces(stream: BinaryIO) -> Iterator[bytes]:
    """Read a stream in pieces that end where a line does, or are a part of a long one."""
    return iter(partial(stream.readline, _PIECE), b"")


def to_lines(
    stream: Iterable[bytes],
    source: str,
    *,
    number: int = 0,
    end: int = 0,
    check: int = 0,
    longest: float | None = None,
) -> Iterator[Line]:
    """Decode UTF-8 line by line (ended by LF, CR or CRLF), each as soon as the stream has it.

    A piece of the stream may hold at most one LF, at its end. A line that is not UTF-8, or has more bytes
    than `longest` (by default `LONGEST`), has a `fault`; a stream that cannot be read raises `FeedError`.
    `number`, `end` and `check` are those of the last line read before, where the stream goes on from there.

    >>> [line.text for line in to_lines([b"one\\r\\n", b"t", b"wo"], "feed")]
    ['one', 'two']
    """
    longest = LONGEST if longest is None else longest
    pieces = iter(stream)
    parts: list[bytes] = []
    start, before, rest = end, check, b""
    while True:
        try:
            piece = next(pieces, None)
        except (OSError, EOFError, zlib.error) as error:
            raise FeedError(source, number + 1, f"cannot be read: {error}", offset=end) from error
        whole = rest + (piece or b"") if rest else piece or b""
        rest = b""
        if piece is not None and whole.endswith(b"\r"):
            whole, rest = whole[:-1], b"\r"  # an LF may follow, which ends the same line
        # splitlines would also split at characters that a literal may hold, such as U+2028
        for part in _PART.findall(whole) if b"\r" in whole else (whole,):
            end += len(part)
            check = zlib.crc32(part, check)
            # a line that is too long is counted and checked up to its end, but not held
            if end - start <= longest:
                parts.append(part)
            else:
                parts.clear()
            # the last line needs no end
            if part.endswith((b"\n", b"\r")) or (piece is None and end > start):
                number += 1
                yield _to_line(parts, number, start, end, check, before)
                parts, start, before = [], end, check
        if piece is None:
            return


def _to_line(parts: list[bytes], number: int, start: int, end: int, check: int, before: int) -> Line:
    if not parts:
        fault = f"longer than {LONGEST:,} bytes, the most that a line may have"
        return Line("", number, start, end, check, fault, before)
    parts[-1] = parts[-1].removesuffix(b"\n").removesuffix(b"\r")
    line = parts[0] if len(parts) == 1 else b"".join(parts)
    parts.clear()  # for a long line is held often enough
    if number == 1:
        line = line.removeprefix(b"\xef\xbb\xbf")
    try:
        return Line(line.decode(), number, start, end, check, before=before)
    except UnicodeDecodeError as error:
        fault = f"not UTF-8: byte {line[error.start]:#04x} at place {error.start + 1}"
        return Line("", number, start, end, check, fault, before)
