"""Lines of text from bytes."""

from __future__ import annotations

import gzip
import io
import tracemalloc
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import Graph

import rdflive
from rdflive import FeedError
from rdflive.feeds import Line, decode, open_lines, to_lines
from rdflive.feeds.lines import LONGEST, to_pieces
from rdflive.feeds.nquads import NQUADS


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
    assert [line.text for line in to_lines(io.BytesIO(content), "x")] == lines


def test_lines_that_end_with_cr_do_not_wait_for_the_end_of_the_stream() -> None:
    """What comes behind a CR tells that no LF does."""
    given: list[str] = []

    def stream() -> Iterator[bytes]:
        for number in range(3):
            given.append(f"piece {number}")
            yield b"line %d\r" % number

    lines = to_lines(stream(), "x")
    assert (next(lines).text, given) == ("line 0", ["piece 0", "piece 1"])
    assert [line.text for line in lines] == ["line 1", "line 2"]


def test_bytes_that_are_not_utf8_have_a_fault() -> None:
    """The line has no text, and the lines around it are given."""
    lines = list(to_lines(io.BytesIO(b"one\r\ntwo\nab\xffd\nfour"), "latin.rdfp"))
    assert [line.text for line in lines] == ["one", "two", "", "four"]
    assert [line.fault for line in lines] == ["", "", "not UTF-8: byte 0xff at position 3", ""]
    with pytest.raises(FeedError, match=r"latin\.rdfp, line 3: not UTF-8: .* \(byte 9\)"):
        list(decode(NQUADS, lines[2:], "latin.rdfp"))


@given(st.lists(st.sampled_from([b"a", b"\r", b"\n", b"\xc3\xa9", b"\xff"]), max_size=30).map(b"".join))
def test_places_of_lines_are_those_of_their_bytes(content: bytes) -> None:
    """Lines cover the feed without a gap, and the check of each is that of all bytes up to its end."""
    lines = list(to_lines(io.BytesIO(content), "x"))
    assert [line.number for line in lines] == list(range(1, len(lines) + 1))
    assert [line.start for line in lines] == [0, *(line.end for line in lines)][: len(lines)]
    assert [line.check for line in lines] == [zlib.crc32(content[: line.end]) for line in lines]
    assert not lines or lines[-1].end == len(content)


@given(
    st.lists(st.sampled_from([b"a", b"\r", b"\n", b"\xc3\xa9", b"\xff"]), max_size=30).map(b"".join),
    st.integers(1, 4),
    st.integers(1, 9),
)
def test_pieces_make_no_difference(content: bytes, size: int, longest: int) -> None:
    """However a stream is cut, its lines are the same; one that is too long has a fault and its place."""
    whole = list(to_lines(io.BytesIO(content), "x"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rdflive.feeds.lines._PIECE", size)
        assert list(to_lines(to_pieces(io.BytesIO(content)), "x")) == whole
        patch.setattr("rdflive.feeds.lines.LONGEST", longest)
        expected = [
            line._replace(text="", fault=f"longer than {longest} bytes, the maximum for a line")
            if line.end - line.start > longest
            else line
            for line in whole
        ]
        assert list(to_lines(to_pieces(io.BytesIO(content)), "x")) == expected


def test_a_line_that_is_too_long_is_not_held(tmp_path: Path) -> None:
    """A small packed file cannot fill the memory, and the record behind it is read."""
    path = tmp_path / "x.nq.gz"
    with gzip.open(path, "wb", compresslevel=1) as stream:
        stream.write(b'+ <urn:s> <urn:p> "')
        for _ in range(1 + (LONGEST >> 20)):
            stream.write(b"x" * (1 << 20))
        stream.write(b'" .\n+ <urn:s> <urn:p> "1" .\n')
    tracemalloc.start()
    try:
        done = rdflive.mirror(Graph(), path, on_bad="skip", dead_letters=tmp_path / "bad")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (done.entries, done.skipped) == (1, 1)
    assert peak < 1.5 * LONGEST
    assert f"longer than {LONGEST:,} bytes" in (tmp_path / "bad").read_text()


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
    read: list[Line] = []
    with pytest.raises(FeedError, match="cannot be read") as caught, open_lines(str(path)) as lines:
        read.extend(lines)
    assert caught.value.line == len(read) + 1
    assert bool(read) == (cut != "not gzip")
