"""Lines of text from bytes."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pytest

from rdflive import FeedError
from rdflive.feeds import open_lines, to_lines


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"a\nb\r\nc\rd", ["a", "b", "c", "d"]),
        (b"\n\na\n", ["", "", "a"]),
        (b"\xef\xbb\xbfa\n\xef\xbb\xbfb", ["a", "\ufeffb"]),
        ("a\u2028\x85\x0b\x0c\x1c\x1eé\n".encode(), ["a\u2028\x85\x0b\x0c\x1c\x1eé"]),
    ],
)
def test_lines_end_as_in_nquads(content: bytes, lines: list[str]) -> None:
    """LF, CR and CRLF end a line and nothing else does; a byte order mark in front is dropped."""
    assert list(to_lines(io.BytesIO(content), "x")) == lines


def test_bytes_that_are_not_utf8_have_a_line() -> None:
    """Every line in front of the bad one is given."""
    lines = to_lines(io.BytesIO(b"one\r\ntwo\nab\xffd\nfour"), "latin.rdfp")
    assert [next(lines), next(lines)] == ["one", "two"]
    with pytest.raises(FeedError, match=r"latin\.rdfp, line 3: not UTF-8: byte 0xff at place 3"):
        next(lines)


def test_gzip_is_read_by_its_ending(tmp_path: Path) -> None:
    """A file that ends in .gz is decompressed as it is read."""
    path = tmp_path / "x.rdfp.gz"
    path.write_bytes(gzip.compress(b"one\ntwo\n"))
    with open_lines(str(path)) as lines:
        assert list(lines) == ["one", "two"]


@pytest.mark.parametrize("cut", ["truncated", "not gzip", "damaged"])
def test_a_damaged_gzip_file_has_a_line(tmp_path: Path, cut: str) -> None:
    """What cannot be decompressed is a feed error behind the lines that could."""
    whole = gzip.compress(b"".join(b"%d\n" % number for number in range(100_000)))
    damaged = {
        "truncated": whole[:-2000],
        "not gzip": b"TX .\n",
        "damaged": whole[:9000] + b"\0" * 40 + whole[9040:],
    }
    path = tmp_path / "x.gz"
    path.write_bytes(damaged[cut])
    count = 0
    with pytest.raises(FeedError, match="cannot be read") as caught, open_lines(str(path)) as lines:
        for count, line in enumerate(lines, start=1):  # noqa: B007 - the count is wanted after the error
            pass
    assert caught.value.line == count + 1
    assert (count > 0) == (cut != "not gzip")
