"""N-Quads, with and without signs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import BNode, URIRef

from rdflive import Batch, Change, FeedError, Quad, feeds
from rdflive.feeds import Line, read_nquads, to_lines
from rdflive.feeds.nquads import NQUADS, encode_nquads
from support.effort import examples
from support.feeds import CHANGES, write_quad

TRIPLE = "<http://e/s> <http://e/p> _:o"


def numbered(lines: list[str]) -> list[Line]:
    return [Line(text, number) for number, text in enumerate(lines, start=1)]


QUAD = Quad(URIRef("http://e/s"), URIRef("http://e/p"), BNode("o"))


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (f"+ {TRIPLE} .", Change(1, QUAD)),
        (f"- {TRIPLE} .", Change(-1, QUAD)),
        (f"+{TRIPLE} . # why", Change(1, QUAD)),
        (f"  -\t{TRIPLE}\t.\r\n", Change(-1, QUAD)),
        (f"+ {TRIPLE} <http://e/g> .", Change(1, QUAD._replace(graph=URIRef("http://e/g")))),
        (f"+ {TRIPLE} _:g .", Change(1, QUAD._replace(graph=BNode("g")))),
    ],
)
def test_a_line_is_a_batch(line: str, expected: Change) -> None:
    """Each signed line is one batch with one change, numbered from 1."""
    assert list(feeds.decode(NQUADS, [line, line])) == [Batch((expected,), 1), Batch((expected,), 2)]


def test_empty_lines_and_comments_group_nothing() -> None:
    """They are skipped, and count as lines only."""
    lines = ["# first", f"+ {TRIPLE} .", "", "   ", "# + nothing", f"- {TRIPLE} ."]
    assert [[change.sign for change in batch.changes] for batch in feeds.decode(NQUADS, lines)] == [[1], [-1]]
    assert list(feeds.decode(NQUADS, [])) == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f"{TRIPLE} .", "a line begins with + or -, not '<http://e/s> <http:/'"),
        (f"A {TRIPLE} .", "a line begins with + or -"),
        (f"+ {TRIPLE}", "the dot that ends the row is missing"),
        (f"+ + {TRIPLE} .", "the subject must be an IRI"),
        ("+", "the subject is missing"),
        ("- .", "the subject is missing"),
        (f'+ "s" {TRIPLE} .', "the subject is the literal '\"s\"'; it must be an IRI or a blank node"),
        (f"+ {TRIPLE} . {TRIPLE} .", "the row continues after its dot"),
    ],
)
def test_a_bad_line_names_its_line_and_reason(line: str, reason: str) -> None:
    """The first bad line stops the feed; the lines in front of it have been given."""
    given_before: list[Batch] = []
    with pytest.raises(FeedError) as caught:
        given_before.extend(feeds.decode(NQUADS, ["#", f"+ {TRIPLE} .", line], "feed"))
    assert (caught.value.source, caught.value.line, len(given_before)) == ("feed", 3, 1)
    assert reason in caught.value.reason


def test_plain_nquads_keep_their_labels() -> None:
    """Reading N-Quads gives quads with the labels of the file, and refuses a sign."""
    lines = ["# data", f"{TRIPLE} .", "", f"{TRIPLE} _:g ."]
    assert list(read_nquads(numbered(lines))) == [QUAD, QUAD._replace(graph=BNode("g"))]
    with pytest.raises(FeedError, match="file, line 1: the subject must be an IRI"):
        list(read_nquads(numbered([f"+ {TRIPLE} ."]), "file"))


@settings(max_examples=examples(100))
@given(st.lists(CHANGES, max_size=8), st.booleans())
def test_what_was_written_is_read_again(changes: list[Change], ascii_only: bool) -> None:
    """Random changes, written here and by other code, are the same changes, each a batch of its own."""
    rows = [write_quad(quad, ascii_only=ascii_only) for _, quad in changes]
    lines = [f"{'+' if sign > 0 else '-'} {text}" for (sign, _), text in zip(changes, rows, strict=True)]
    encoded = encode_nquads(Batch(tuple(changes))).encode()
    for source in (lines, to_lines(encoded.splitlines(keepends=True), "log")):
        assert [batch.changes for batch in feeds.decode(NQUADS, source)] == [(change,) for change in changes]
    assert list(read_nquads(numbered(rows))) == [quad for _, quad in changes]


@pytest.mark.parametrize("rest", ["", "<http://e/g>", " <http://e/g#é>  "])
@pytest.mark.parametrize(
    "object_", ["<urn:o>", '"o"', '""', '"é . <x>"', '"01"^^<http://www.w3.org/2001/XMLSchema#integer>']
)
def test_plain_rows_are_read_as_others_are(object_: str, rest: str) -> None:
    """A comment behind a row has it read term by term."""
    row = f"<http://e/s>\t<http://e/p>{object_}{rest}."
    quads = [next(read_nquads([Line(text, 1)])) for text in (row, f"{row} ", f"{row} # why")]
    assert quads[0] == quads[1] == quads[2]
    assert [[type(term) for term in quad] for quad in quads[:2]] == [[type(term) for term in quads[2]]] * 2
