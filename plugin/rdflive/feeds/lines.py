"""From bytes to lines of text: every line with its place, every fault too."""

from __future__ import annotations

import errno
import gzip
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, Final, NamedTuple, cast

from rdflive.errors import FeedError

__all__ = ["STDIN", "Line", "open_bytes", "open_lines", "to_lines"]

STDIN: Final = "-"
"""The path that stands for standard input."""


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
        yield sys.stdin.buffer
        return
    with gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb") as stream:
        # a GzipFile is a binary stream, though typeshed does not call it one
        yield cast(BinaryIO, stream)


@contextmanager
def open_lines(path: str) -> Iterator[Iterator[Line]]:
    """Open a feed as lines of text."""
    with open_bytes(path) as stream:
        yield to_lines(stream, "standard input" if path == STDIN else path)


def to_lines(
    stream: Iterable[bytes], source: str, *, number: int = 0, end: int = 0, check: int = 0
) -> Iterator[Line]:
    """Decode UTF-8 line by line (ended by LF, CR or CRLF), each as soon as the stream has it.

    A line that is not UTF-8 has a `fault`; a stream that cannot be read raises `FeedError`. `number`,
    `end` and `check` are those of the last line read before, where the stream goes on from there.

    >>> [line.text for line in to_lines([b"one\\r\\n", b"two"], "feed")]
    ['one', 'two']
    """
    chunks = iter(stream)
    while True:
        try:
            chunk = next(chunks, None)
        except (OSError, EOFError, zlib.error) as error:
            raise FeedError(source, number + 1, f"cannot be read: {error}", offset=end) from error
        if chunk is None:
            return
        # splitlines would also split at characters that a literal may hold, such as U+2028
        *inner, last = chunk.split(b"\r") if b"\r" in chunk else (chunk,)
        if last == b"\n" and inner:
            inner, last = inner[:-1], inner[-1] + b"\r\n"
        parts = [part + b"\r" for part in inner]
        if last:
            parts.append(last)
        for part in parts:
            number, start, end = number + 1, end, end + len(part)
            before, check = check, zlib.crc32(part, check)
            line = part.removesuffix(b"\n").removesuffix(b"\r")
            if number == 1:
                line = line.removeprefix(b"\xef\xbb\xbf")
            try:
                yield Line(line.decode(), number, start, end, check, before=before)
            except UnicodeDecodeError as error:
                fault = f"not UTF-8: byte {line[error.start]:#04x} at place {error.start + 1}"
                yield Line("", number, start, end, check, fault, before)
