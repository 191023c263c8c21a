"""Decoding of bytes into lines with positions and faults."""

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
"""The path of standard input."""
LONGEST: Final = 64 << 20
"""Maximum bytes of a line with its end; a small compressed file can expand to a line of any length."""
_PIECE: Final = 1 << 20
_PART: Final = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


class Line(NamedTuple):
    """A line of a feed, without its line end."""

    text: str
    number: int
    """From 1."""
    start: int = 0
    """Number of decompressed bytes of the feed before the line."""
    end: int = 0
    """Number of bytes of the feed up to and including the line's end."""
    check: int = 0
    """The CRC-32 of those bytes."""
    fault: str = ""
    """The reason why the line has no valid text; `text` is empty then."""
    before: int = 0
    """The CRC-32 of the bytes before the line."""


@contextmanager
def open_bytes(path: str) -> Iterator[BinaryIO]:
    """Open a file, a gzip-compressed file (`.gz`) or standard input (`-`)."""
    if path == STDIN:
        if sys.stdin is None:  # the process was started with it closed
            raise OSError(errno.EBADF, "it is closed; pipe the feed in, or give a file", "standard input")
        yield _stdin()
        return
    with gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb") as stream:
        # typeshed does not declare GzipFile as a binary stream
        yield cast(BinaryIO, stream)


def _stdin() -> BinaryIO:
    """Return standard input; threads other than the main one receive a buffer of their own.

    At exit, Python needs the lock of `sys.stdin.buffer` and aborts if a thread that is still reading holds
    the lock.
    """
    if threading.current_thread() is not threading.main_thread():
        with suppress(OSError, AttributeError):  # a stand-in may have no descriptor
            return open(sys.stdin.fileno(), "rb", closefd=False)
    return sys.stdin.buffer


@contextmanager
def open_lines(path: str) -> Iterator[Iterator[Line]]:
    """Open a feed as an iterator of lines."""
    with open_bytes(path) as stream:
        yield to_lines(to_pieces(stream), "standard input" if path == STDIN else path)


def unreadable(source: str, error: OSError) -> FeedError:
    """Return the error for a feed that cannot be opened."""
    return FeedError(source, 0, f"cannot be opened: {error.strerror or error}; give the path of a file")


def blocks(read: Callable[[int], bytes], size: int) -> Iterator[bytes]:
    """Read up to `size` bytes in blocks."""
    while size and (block := read(min(size, _PIECE))):
        size -= len(block)
        yield block


def to_pieces(stream: BinaryIO) -> Iterator[bytes]:
    """Read a stream in pieces, each a line or a part of a long line."""
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
    """Decode UTF-8 line by line (ended by LF, CR or CRLF); yield each line when it arrives.

    A piece of the stream may hold at most one LF, at its end. A line that is not UTF-8, or is longer than
    `longest` bytes (default `LONGEST`), has a `fault`. An unreadable stream raises `FeedError`. Where the
    stream continues an earlier one, `number`, `end` and `check` are those of the last line read.

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
            whole, rest = whole[:-1], b"\r"  # an LF that ends the same line may follow
        # splitlines would also split at characters that a literal may hold, such as U+2028
        for part in _PART.findall(whole) if b"\r" in whole else (whole,):
            end += len(part)
            check = zlib.crc32(part, check)
            # a line that is too long counts for position and checksum, but is not kept
            if end - start <= longest:
                parts.append(part)
            else:
                parts.clear()
            # the last line needs no line end
            if part.endswith((b"\n", b"\r")) or (piece is None and end > start):
                number += 1
                yield _to_line(parts, number, start, end, check, before)
                parts, start, before = [], end, check
        if piece is None:
            return


def _to_line(parts: list[bytes], number: int, start: int, end: int, check: int, before: int) -> Line:
    if not parts:
        fault = f"longer than {LONGEST:,} bytes, the maximum for a line"
        return Line("", number, start, end, check, fault, before)
    parts[-1] = parts[-1].removesuffix(b"\n").removesuffix(b"\r")
    line = parts[0] if len(parts) == 1 else b"".join(parts)
    parts.clear()  # a long line should not be in memory twice
    if number == 1:
        line = line.removeprefix(b"\xef\xbb\xbf")
    try:
        return Line(line.decode(), number, start, end, check, before=before)
    except UnicodeDecodeError as error:
        fault = f"not UTF-8: byte {line[error.start]:#04x} at position {error.start + 1}"
        return Line("", number, start, end, check, fault, before)
