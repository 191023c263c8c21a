"""Logs in pieces, without Spark: where they are cut, what their rows are, and what is refused."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxBytes

from rdflive import FeedError, RdfliveError, ResyncNeeded
from rdflive.feeds import read_entries, to_lines
from rdflive.feeds.nquads import NQUADS
from rdflive_stores.spark.change_rows import POSITIONED
from rdflive_stores.spark.logs.files import STOPPED, LogFiles, still_has
from rdflive_stores.spark.logs.log_rows import LOG_FORMATS, ROWS, BadLineError, read_rows
from rdflive_stores.spark.logs.reading import LogReader, LogSettings, LogStreamReader
from rdflive_stores.spark.logs.scan import Piece
from support.logs import LOGS, ROW_TEXTS, Row, rows_of

ROW = "A <urn:s> <urn:p> <urn:o> ."
T = f"TX .\n{ROW}\nTC .\n"


@contextmanager
def folder(**files: bytes) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        for file, content in files.items():
            Path(name, f"{file}.rdfp").write_bytes(content)
        yield Path(name)


def settings(path: Path, *, partition_bytes: int = 1 << 20, max_bytes: int | None = None) -> LogSettings:
    return LogSettings(LogFiles.at(str(path), None), partition_bytes, max_bytes)


def read(reader: LogReader | LogStreamReader, partitions: list[Any]) -> list[Row]:
    rows: list[Row] = []
    for partition in pickle.loads(pickle.dumps(partitions)):
        for batch in reader.read(partition):
            assert batch.schema == ROWS
            rows.extend(map(without_file, batch.to_pylist()))
    return rows


def without_file(row: dict[str, Any]) -> Row:
    return tuple(value for name, value in row.items() if name != "file")  # type: ignore[return-value]  # ROWS


def batch_rows(path: Path, partition_bytes: int = 1 << 20) -> list[Row]:
    reader = LogReader(settings(path, partition_bytes=partition_bytes))
    return read(reader, reader.partitions())


class Stream:
    """What Spark does with a stream reader, in one process."""

    def __init__(self, path: Path, *, partition_bytes: int = 1 << 20, max_bytes: int | None = None) -> None:
        self.settings = settings(path, partition_bytes=partition_bytes, max_bytes=max_bytes)
        self.offset: dict[str, Any] = {}
        self.rows: list[Row] = []
        self.restart()

    def restart(self) -> None:
        self.reader = LogStreamReader(self.settings)

    def trigger(self, *, restart: bool = False) -> bool:
        """Run one micro-batch, with a restart once its offset is known; false where there was none."""
        end = json.loads(json.dumps(self.reader.latestOffset(self.offset, self.reader.getDefaultReadLimit())))
        if end == self.offset:
            return False
        if restart:
            self.restart()
        self.rows += read(self.reader, self.reader.partitions(self.offset, end))
        self.offset = end
        return True


def drain(stream: Stream) -> None:
    while stream.trigger():
        pass


def error_of(content: bytes) -> FeedError | None:
    try:
        rows_of(content)
    except FeedError as error:
        return error
    return None


@given(LOGS, st.integers(1, 200))
def test_a_batch_reads_what_the_decoder_reads(content: bytes, partition_bytes: int) -> None:
    """Wherever a log is cut, its rows are those of the decoder, in order and with their places."""
    with folder(log=content) as path:
        assert batch_rows(path, partition_bytes) == rows_of(content)


@given(LOGS, st.integers(1, 200), st.one_of(st.none(), st.integers(1, 200)), st.data())
def test_a_stream_reads_what_the_decoder_reads(
    content: bytes, partition_bytes: int, max_bytes: int | None, data: st.DataObject
) -> None:
    """However a log grows, and however often it is started, a stream reads each row once and in order."""
    with folder() as path:
        log = path / "log.rdfp"
        log.touch()
        stream = Stream(path, partition_bytes=partition_bytes, max_bytes=max_bytes)
        for cut in sorted(data.draw(st.lists(st.integers(0, len(content)), max_size=4))):
            log.write_bytes(content[:cut])
            if data.draw(st.booleans()):
                stream.restart()
            stream.trigger(restart=data.draw(st.booleans()))
        log.write_bytes(content)
        (path / "next.rdfp").write_bytes(b"H end <urn:x> .\n")
        drain(stream)
        assert stream.rows == rows_of(content)
        assert stream.offset.get("log.rdfp", {"end": 0})["end"] == len(content)


@given(LOGS, st.integers(1, 60))
def test_an_offset_parts_the_rows_read_from_the_others(content: bytes, max_bytes: int) -> None:
    """A row has been read if and only if its offset is below the file's end in the stream's offset."""
    with folder(log=content, next=b"# end\n") as path:
        stream = Stream(path, max_bytes=max_bytes)
        expected = rows_of(content)
        while stream.trigger():
            end = stream.offset.get("log.rdfp", {"end": 0})["end"]
            assert stream.rows == [row for row in expected if row[-2] < end]


_ODD_LINES = st.sampled_from(["x", "A", "TX", "TC .", "A <a> <urn:p> <urn:o> ."])


@given(st.lists(st.one_of(ROW_TEXTS, _ODD_LINES), min_size=1))
@example(["TX ."])
@example([ROW, "TC ."])
@example(["TX .", ROW, "TX .", "TC ."])
@example(["TX x .", "TC ."])
@example(["TX .", ROW, "TC . ."])
@example(["TX .", "A <urn:s> <urn:p> ."])
def test_a_malformed_log_is_refused_where_the_decoder_refuses_it(lines: list[str]) -> None:
    """What the decoder refuses is refused, with a line and byte of the log."""
    content = "".join(line + "\n" for line in lines).encode()
    expected = error_of(content)
    with folder(log=content) as path:
        if expected is None:
            assert batch_rows(path, 20) == rows_of(content)
            return
        with pytest.raises(FeedError) as caught:
            batch_rows(path, 20)
        assert content[: caught.value.offset].count(b"\n") + 1 == caught.value.line
        if not any(line.startswith("T") for line in lines):  # else several errors may come in another order
            assert (caught.value.line, caught.value.reason) == (expected.line, expected.reason)


_XSD, _RDF = "http://www.w3.org/2001/XMLSchema#", "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_FRAGMENTS = st.sampled_from(
    [
        "A", "D", "A ", "A <urn:s> <urn:p> ", "\t", " ", " .", ".", "# x", "<< >>", "\x00", "\x85",
        "<urn:s>", "<a:é>", "<a:\\u0062>", "<_:b>", "<>", "<rel>", "<a:b c>",
        "_:b", "_:b.c", "_:.b", "_::b", "_:é",
        '"a"', '"a\\tb"', '"\\u00e9"', '"\\""', '"\u2028"', '"a"@en', '"a"@EN-gb', '"a"@1',
        f'"1"^^<{_XSD}integer>', f'"01"^^<{_XSD}integer>', f'" x "^^<{_XSD}token>', f'"x"^^<{_XSD}string>',
        f'"x"^^<{_RDF}langString>', f'"<b>"^^<{_RDF}XMLLiteral>',
    ]
)  # fmt: skip
_ROWS_OR_NOT = st.one_of(
    ROW_TEXTS, st.lists(_FRAGMENTS, max_size=9).map(" ".join), st.lists(_FRAGMENTS).map("".join)
)


@given(_ROWS_OR_NOT)
@example("A <urn:s> <urn:p> _::b .")
@example("A\t<urn:s>\t<urn:p>  _:b.c\t<urn:g> .\t")
def test_a_plain_row_is_read_as_the_decoder_reads_it(text: str) -> None:
    """The expression for plain rows takes none that the decoder refuses or writes in another way."""
    content = text.encode()

    def read_alone() -> list[Row]:
        batch = read_rows(content, Piece(0, len(content)), "log", LOG_FORMATS["rdf-patch"])
        return list(map(without_file, batch.to_pylist()))

    try:
        expected = rows_of(content)
    except RdfliveError as error:
        with pytest.raises(BadLineError, match=re.escape(getattr(error, "reason", str(error)))):
            read_alone()
    else:
        assert read_alone() == expected


@given(st.lists(st.tuples(st.sampled_from("+-"), ROW_TEXTS.map(lambda text: text[2:]))), st.integers(1, 100))
def test_signed_nquads_are_read_line_by_line(lines: list[tuple[str, str]], partition_bytes: int) -> None:
    """Each line of signed N-Quads is a unit that stands where it begins."""
    content = "".join(f"{sign} {text}\n" for sign, text in lines).encode()
    entries = list(read_entries(NQUADS, to_lines(io.BytesIO(content), "log"), "log"))
    with tempfile.TemporaryDirectory() as name:
        log = Path(name, "log.nq")
        log.write_bytes(content)
        rows = batch_rows(log, partition_bytes)
    assert [(row[0], *row[-2:]) for row in rows] == [
        ("A" if entry.batch.changes[0].sign > 0 else "D", entry.frame[0].start, 0) for entry in entries
    ]


def test_the_rows_have_the_columns_that_spark_is_told() -> None:
    """The batches of rows have the schema that the source declares."""
    assert to_arrow_schema(POSITIONED, timezone="UTC") == ROWS


def test_a_compressed_log_is_one_partition(tmp_path: Path) -> None:
    """A batch reads a log compressed with gzip from its beginning to its end, whatever its size."""
    content = (T * 50).encode()
    (tmp_path / "log.rdfp.gz").write_bytes(gzip.compress(content))
    reader = LogReader(settings(tmp_path, partition_bytes=100))
    partitions = reader.partitions()
    assert len(partitions) == 1
    assert read(reader, partitions) == rows_of(content)
    with pytest.raises(RdfliveError, match=r"a compressed file cannot be followed: read it with spark.read"):
        Stream(tmp_path).trigger()


def test_a_large_transaction_is_read_in_parallel(tmp_path: Path) -> None:
    """Pieces of one transaction are read apart and are one unit; an aborted one gives nothing."""
    rows = f"{ROW}\n" * 100
    (tmp_path / "log.rdfp").write_text(f"TX .\n{rows}TC .\nTX .\n{rows}TA .\n")
    reader = LogReader(settings(tmp_path, partition_bytes=500))
    partitions = reader.partitions()
    assert len(partitions) > 5
    assert [row[-2:] for row in read(reader, partitions)] == [(0, part) for part in range(100)]


def test_small_files_share_a_partition(tmp_path: Path) -> None:
    """Files that are smaller than a partition are read together, by name."""
    for i in range(20):
        (tmp_path / f"{i:02}.rdfp").write_text(ROW.replace("urn:o", f"urn:{i}"))
    reader = LogReader(settings(tmp_path))
    partitions = reader.partitions()
    assert len(partitions) == 1
    assert [row[3] for row in read(reader, partitions)] == [f"<urn:{i}>" for i in range(20)]


def test_a_folder_leaves_out_what_is_put_aside(tmp_path: Path) -> None:
    """Hidden files, unfinished copies and folders are no logs; what has no known ending is refused."""
    for name in (".hidden", "_SUCCESS", "part.tmp", "log.rdfp"):
        (tmp_path / name).write_text(T)
    (tmp_path / "below.rdfp").mkdir()
    assert len(batch_rows(tmp_path)) == 1
    (tmp_path / "notes.md").write_text("hello")
    with pytest.raises(
        RdfliveError, match=r"notes.md: no log ends in '.md'; name the format with option feed"
    ):
        batch_rows(tmp_path)


def test_a_stream_waits_for_the_end_of_a_transaction(tmp_path: Path) -> None:
    """A transaction is read when its end is there, to the line's end; one left open is refused."""
    assert batch_rows(tmp_path) == []  # an empty folder is a log without rows
    log = tmp_path / "log.rdfp"
    stream = Stream(tmp_path)
    assert not stream.trigger()
    for text in ("TX .\n", f"TX .\n{ROW}\nTC ."):
        log.write_text(text)
        assert not stream.trigger()
    log.write_text(T)
    assert stream.trigger()
    log.write_text(f"{T}TX .\n{ROW}\n")
    assert not stream.trigger()
    (tmp_path / "next.rdfp").write_text(T)
    with pytest.raises(FeedError, match=r"log.rdfp, line 4: neither TC nor TA ends .* \(byte 38\)"):
        stream.trigger()


def test_a_micro_batch_ends_with_the_unit_that_reaches_the_limit(tmp_path: Path) -> None:
    """A transaction larger than the limit is read whole; the limit holds across files."""
    large = f"TX .\n{ROW * 1}\n{ROW}\n{ROW}\nTC .\n"
    (tmp_path / "a.rdfp").write_text(large + T)
    (tmp_path / "b.rdfp").write_text(T + T)
    stream = Stream(tmp_path, max_bytes=len(T) + 1)
    sizes = []
    while stream.trigger():
        sizes.append(len(stream.rows))
    assert sizes == [3, 5, 6]


def test_available_now_reads_no_further(tmp_path: Path) -> None:
    """What is written after a query for what is available was begun is not read by it; all of that may be."""
    log = tmp_path / "a.rdfp"
    log.write_text(T + T)
    stream = Stream(tmp_path, max_bytes=1)
    stream.reader.prepareForTriggerAvailableNow()
    assert isinstance(stream.reader.getDefaultReadLimit(), ReadMaxBytes)
    assert stream.reader.latestOffset({}, ReadAllAvailable())["a.rdfp"]["end"] == 2 * len(T)
    assert stream.trigger()
    log.write_text(T + T + T)
    (tmp_path / "b.rdfp").write_text(T)
    drain(stream)
    assert len(stream.rows) == 2
    stream.restart()
    drain(stream)
    assert len(stream.rows) == 4


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"b": ""}, "b.rdfp: ends before byte 76, where the last reading ended; resync"),
        ({"b": "", "c": T}, "b.rdfp: ends before byte 76, where the last reading ended; resync"),
        (
            {"b": T},
            "b.rdfp: ends before byte 76, where the last reading ended; resync: read the log from its",
        ),
        (
            {"b": T.replace("urn:o", "urn:x") * 4},
            "b.rdfp: has changed before byte 76, where .*; resync",
        ),
        ({"b": None}, "b.rdfp: is gone, and may have had unread rows; resync"),
        ({"a": T * 3}, "a.rdfp: has grown since b.rdfp, which follows it by name, was started; resync"),
        ({"0": T}, "0.rdfp: has grown since b.rdfp, which follows it by name, was started; resync"),
    ],
)
def test_a_log_that_is_not_the_one_read_needs_a_resync(
    change: dict[str, str | None], reason: str, restart: bool, tmp_path: Path
) -> None:
    """A log that was cut, replaced, taken away or written in another order than its names say is noticed."""
    for name in "ab":
        (tmp_path / f"{name}.rdfp").write_text(T * 2)
    stream = Stream(tmp_path)
    drain(stream)
    for name, text in change.items():
        path = tmp_path / f"{name}.rdfp"
        path.unlink() if text is None else path.write_text(text)
    if restart:
        stream.restart()
    with pytest.raises(ResyncNeeded, match=reason):
        stream.trigger()


def test_a_tail_that_was_never_read_may_change(tmp_path: Path) -> None:
    """A writer that takes back an unfinished transaction and goes on is followed."""
    log = tmp_path / "log.rdfp"
    log.write_text(f"{T}TX .\n{ROW}\n")
    stream = Stream(tmp_path)
    drain(stream)
    log.write_text(f"{T}{ROW}\n{ROW}\n{ROW}\n")
    drain(stream)
    assert [row[-2] for row in stream.rows] == [0, *(len(T) + i * len(f"{ROW}\n") for i in range(3))]


def test_a_file_that_was_read_and_followed_may_be_compressed(tmp_path: Path) -> None:
    """Old files of a rotated log can be compressed where they lie, or go; one that may grow yet cannot."""
    for name in "ab":
        (tmp_path / f"{name}.rdfp").write_text(T)
    stream = Stream(tmp_path)
    drain(stream)
    (tmp_path / "a.rdfp.gz").write_bytes(gzip.compress(T.encode()))
    drain(stream)
    (tmp_path / "a.rdfp").unlink()
    for name in "cd":
        (tmp_path / f"{name}.rdfp").write_text(T)
        stream.restart()
        drain(stream)
    assert len(stream.rows) == 4
    for name in ("a.rdfp.gz", "b.rdfp"):
        (tmp_path / name).unlink()
    (tmp_path / "e.rdfp").write_text(T)
    drain(stream)
    assert len(stream.rows) == 5
    assert stream.offset.keys() == {"c.rdfp", "d.rdfp", "e.rdfp"}
    (tmp_path / "e.rdfp").rename(tmp_path / "e.rdfp.gz")
    with pytest.raises(RdfliveError, match=r"e.rdfp.gz: a compressed file cannot be followed"):
        stream.trigger()


def test_an_offset_says_where_its_files_are(tmp_path: Path) -> None:
    """What an offset says of a file tells whether the file is there, and follows a folder that is moved."""
    before, after = tmp_path / "before", tmp_path / "after"
    before.mkdir()
    for name in "ab":
        (before / f"{name}.rdfp").write_text(T * 150)
    stream = Stream(before)
    drain(stream)
    place = stream.offset["a.rdfp"]
    assert place["path"] == str(before / "a.rdfp")
    assert still_has(**place)
    for change in ({"end": place["end"] + 1}, {"end": place["end"] - 1}, {"check": place["check"] + 1}):
        assert not still_has(**{**place, **change})
    before.rename(after)
    assert not still_has(**place)
    assert not still_has(**{**place, "path": str(after)})
    stream.settings = settings(after)
    stream.restart()
    drain(stream)
    assert len(stream.rows) == 300
    assert [found["path"] for found in stream.offset.values()] == [
        str(after / f"{name}.rdfp") for name in "ab"
    ]


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("follower", ["", T])
def test_a_stream_goes_on_where_a_recording_stopped_and_went_on(
    follower: str, restart: bool, tmp_path: Path
) -> None:
    """What lies before the line is read, then the line is refused, and no offset covers it or passes it."""
    log = tmp_path / "b.rdfp"
    (tmp_path / "a.rdfp").write_text(T)
    log.write_bytes(T.encode() + STOPPED)
    (tmp_path / "c.rdfp").write_text(follower)
    stream = Stream(tmp_path)
    assert stream.trigger()
    assert len(stream.rows) == 2
    with pytest.raises(FeedError, match=r"b.rdfp, line 4: the recording has stopped here.*\(byte 38\)"):
        stream.trigger()
    log.write_text(T * 2)
    if restart:
        stream.restart()
    drain(stream)
    assert len(stream.rows) == 3 + bool(follower)
    assert stream.offset["b.rdfp"]["end"] == 2 * len(T)


@pytest.mark.parametrize("before", ["", "# RECORDING-STOPPED\n", "TX .\n"])
def test_a_log_that_stopped_at_once_is_refused(before: str, tmp_path: Path) -> None:
    """With no unit before the line nothing is read; what only ends like it is a line as any other."""
    (tmp_path / "log.rdfp").write_bytes(before.encode() + STOPPED)
    stream = Stream(tmp_path)
    if before.startswith("#"):
        assert stream.trigger()
    with pytest.raises(FeedError, match="the recording has stopped here") as caught:
        stream.trigger()
    assert caught.value.offset == len(before)


@pytest.mark.parametrize("mended", [T, T + T.replace("urn:o", "urn:x")])
def test_a_log_that_changed_where_it_was_not_applied_needs_no_resync(mended: str, tmp_path: Path) -> None:
    """A micro-batch that was planned and not applied cannot be given; the error says what leads on."""
    log = tmp_path / "log.rdfp"
    log.write_text(T)
    stream = Stream(tmp_path)
    drain(stream)
    log.write_text(f"{T}{ROW}\nbad\n")
    end = stream.reader.latestOffset(stream.offset, ReadAllAvailable())  # type: ignore[arg-type]  # from JSON
    log.write_text(mended)
    stream.restart()
    with pytest.raises(
        RdfliveError, match=r"has changed between byte 38, .*a new checkpoint and the same name"
    ) as caught:
        stream.reader.partitions(stream.offset, end)
    assert not isinstance(caught.value, ResyncNeeded)
    log.write_text(mended.replace("urn:o", "urn:y"))
    with pytest.raises(ResyncNeeded, match="has changed before byte 38"):
        stream.reader.partitions(stream.offset, end)


def test_a_micro_batch_whose_file_is_lost_needs_a_resync(tmp_path: Path) -> None:
    """Neither where bytes are missing when it is read, nor where Spark asks for it again, it is shorter."""
    (tmp_path / "a.rdfp").write_text(T)
    reader = Stream(tmp_path).reader
    end = reader.latestOffset({}, ReadAllAvailable())
    partitions = reader.partitions({}, end)
    (tmp_path / "a.rdfp").write_text("")
    with pytest.raises(ResyncNeeded, match="ends before byte 38"):
        read(reader, partitions)
    (tmp_path / "a.rdfp").unlink()
    with pytest.raises(ResyncNeeded, match=r"a.rdfp: is gone"):
        reader.partitions({}, end)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (T.encode() + b"A \xff .\n", r"line 4: not UTF-8: byte 0xff at position 3 \(byte 38\)"),
        (b"\xef\xbb\xbf\xffA\n", r"line 1: not UTF-8: byte 0xff at position 1$"),
        (b"TX .\r\nA x .\r\nTC .\r\n", r"line 2: the subject must be .* \(byte 6\)"),
        (b"#" * ((1 << 20) - 1) + b"\r\nA x .\r\n", r"line 2: the subject must be .* \(byte 1048577\)"),
        (b"A <urn:s> <urn:p> _::b .\n", "line 1: rdflib.term.BNode\\(':b'\\) cannot be written"),
    ],
)
def test_a_bad_line_is_named(content: bytes, reason: str, tmp_path: Path) -> None:
    """The error of a bad line says its file, its number, and the bytes in front of it."""
    (tmp_path / "log.rdfp").write_bytes(content)
    with pytest.raises(FeedError, match=f"log.rdfp, {reason}"):
        batch_rows(tmp_path, 8)
