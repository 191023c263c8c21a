"""From bytes to lines of text: every line counted, every fault with its place."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from rdflive.errors import FeedError

__all__ = ["STDIN", "open_lines", "to_lines"]

STDIN: Final = "-"
"""The path that stands for standard input."""


@contextmanager
def open_lines(path: str) -> Iterator[Iterator[str]]:
    """Open a feed as lines of text: a file, one compressed with gzip (`.gz`), or standard input (`-`)."""
    if path == STDIN:
        yield to_lines(sys.stdin.buffer, "standard input")
        return
    with gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb") as stream:
        yield to_lines(stream, path)


def to_lines(stream: Iterable[bytes], source: str) -> Iterator[str]:
    """Decode UTF-8 line by line (ended by LF, CR or CRLF), each as soon as the stream has it.

    Decoding the whole stream at once would lose the good lines in front of a bad one.
    """
    number = 0
    chunks = iter(stream)
    while True:
        try:
            chunk = next(chunks, None)
        except (OSError, EOFError, zlib.error) as error:
            raise FeedError(source, number + 1, f"cannot be read: {error}") from error
        if chunk is None:
            return
        # splitlines would also split at characters that a literal may hold, such as U+2028
        for line in chunk.removesuffix(b"\n").removesuffix(b"\r").split(b"\r"):
            number += 1
            yield _decode(line.removeprefix(b"\xef\xbb\xbf") if number == 1 else line, source, number)


def _decode(line: bytes, source: str, number: int) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError as error:
        reason = f"not UTF-8: byte {line[error.start]:#04x} at place {error.start + 1}"
        raise FeedError(source, number, reason) from error
