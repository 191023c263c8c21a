"""Files as streams of events: with and without pyoxigraph."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rdflib import BNode, Literal, Namespace

from rdflive.api.matching import EventError, match
from rdflive.matching import streams

E = Namespace("http://e/")
QUADS = b"""\
<http://e/a> <http://e/p> <http://e/b> <http://e/g> .
<http://e/b> <http://e/q> "01"^^<http://www.w3.org/2001/XMLSchema#integer> <http://e/g> .

# a run of the default graph
<http://e/a> <http://e/p> _:b .
<http://e/b> <http://e/q> <http://e/c> <http://e/g> .
"""
XSD = b"http://www.w3.org/2001/XMLSchema#"
TRIPLE = b"<u:a> <u:p> <u:b> "


@pytest.fixture(autouse=True, params=[True, False], ids=["pyoxigraph", "rdflib"])
def has_pyoxigraph(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Read with pyoxigraph, and as if it were not there."""
    monkeypatch.setattr(streams, "find_spec", lambda _: request.param or None)


def test_runs_of_quads_are_events(tmp_path: Path) -> None:
    """With or without pyoxigraph a file gives rdflib's terms, runs of one name, and labels of blank nodes."""
    path = tmp_path / "events.nq"
    path.write_bytes(QUADS)
    for stream in (path, str(path), io.BytesIO(QUADS)):
        found = list(match("SELECT ?o { ?s <http://e/q> ?o }", stream))
        assert [(one.name, len(one)) for one in found] == [(E.g, 1), (None, 0), (E.g, 1)]
        assert type(found[0].solutions[0].o) is Literal
        assert str(found[0].solutions[0].o) == "01"
    (blank,) = list(match("SELECT ?o { ?s <http://e/p> ?o }", path))[1].solutions
    assert blank.o == BNode("b")


def test_a_file_is_read_as_far_as_it_is_needed() -> None:
    """The first event comes before the end of the stream is there."""

    class Endless(io.RawIOBase):
        lines = 0

        def readline(self, size: int | None = -1) -> bytes:
            self.lines += 1
            assert self.lines < 100
            return b"<http://e/a> <http://e/p> <http://e/b> <http://e/g%d> .\n" % self.lines

        def __next__(self) -> bytes:
            return self.readline()

    found = match("SELECT * { ?s ?p ?o }", Endless())
    assert [next(found).name for _ in range(3)] == [E.g1, E.g2, E.g3]


@pytest.mark.parametrize(
    ("text", "query", "expected"),
    [
        (b'<u:a> <u:p> "x"^^<%sstring> .' % XSD, 'SELECT ?o { ?s ?p ?o . ?s <u:p> "x" }', ['"x"']),
        (b'<u:a> <u:p> "x" .', f'SELECT ?o {{ ?s ?p ?o . ?s ?p "x"^^<{XSD.decode()}string> }}', ['"x"']),
        (b'<u:a> <u:p> "x" .\n<u:a> <u:p> "x"^^<%sstring> .' % XSD, "SELECT ?o { ?s ?p ?o }", ['"x"']),
        (b'<u:a> <u:p> "x"@EN-us .', 'SELECT ?o { ?s ?p ?o . ?s ?p "x"@en-US }', ['"x"@en-us']),
        (b'<u:a> <u:p> "x"@EN .\n<u:a> <u:p> "x"@en .', "SELECT ?o { ?s ?p ?o }", ['"x"@en']),
        (b"\xef\xbb\xbf<u:a> <u:p> <u:b> .", "SELECT ?o { ?s ?p ?o }", ["<u:b>"]),
    ],
)
def test_literals_are_the_same_with_and_without_pyoxigraph(
    text: bytes, query: str, expected: list[str]
) -> None:
    """Strings are plain, language tags in lower case, in data and query; a byte order mark is neither."""
    (found,) = match(query, io.BytesIO(text))
    assert [solution["o"].n3() for solution in found.solutions] == expected
    (over,) = match(query, io.BytesIO(text), background=[(E.a, E.q, Literal("y", datatype=XSD.decode()))])
    assert [s["o"].n3() for s in over.solutions if s["o"] != Literal("y", datatype=XSD.decode())] == expected


def test_backgrounds_are_spelled_as_files_are() -> None:
    """A string of the background joins that of the file."""
    background = [(E.c, E.q, Literal("x", datatype=f"{XSD.decode()}string"))]
    query = "SELECT * { ?a <u:p> ?x . ?c <http://e/q> ?x }"
    (found,) = match(query, io.BytesIO(b'<u:a> <u:p> "x" .'), background=background)
    assert len(found) == 1


@pytest.mark.parametrize(
    ("text", "events", "line"),
    [
        (TRIPLE + b"<u:g> .\n" + TRIPLE + b"<u:h>", 1, 2),
        (TRIPLE + b"<u:g> .\n" + TRIPLE + b"<u:g>", 0, 2),
        (TRIPLE + b"<u:g> .\n" + TRIPLE, 0, 2),
        (TRIPLE + b"<u:g> .\n" + TRIPLE + b'<u:h> .\n<u:a> <u:p> "x', 1, 3),
        (TRIPLE + b"<u:g> .\noops\n", 0, 2),
        (TRIPLE + b"<u:g> .\n" + TRIPLE + b"<u:h> .\n<u:a> <u:p> <<( <u:a> <u:p> <u:o> )>> .\n", 1, 3),
        (b'<u:a> <u:p> "a"@en--ltr <u:g> .', 0, 1),
    ],
)
def test_a_file_ends_at_a_bad_line(text: bytes, events: int, line: int) -> None:
    """The events before that of the line are handed out; terms of RDF 1.2 are bad too."""
    found = match("SELECT ?s { ?s ?p ?o FILTER(?o != 3) }", io.BytesIO(text))
    assert [len(next(found)) for _ in range(events)] == [1] * events
    with pytest.raises(EventError, match=f"^event {events}: <stream>, line {line}: "):
        next(found)
