"""The clauses that declare windows, and the pattern that looks into them."""

from __future__ import annotations

import pytest
from rdflib import URIRef

from rdflive.errors import QuerySyntaxError, UnsupportedQueryError
from rdflive.time.languages import StreamWindow, parse_continuous
from rdflive.time.windows import Count, Sliding, Tumbling

S, T, W, V = (URIRef(f"u:{name}") for name in "stwv")

READ = [
    ("ASK FROM STREAM <u:s> [RANGE 5s] {}", [StreamWindow(S, Sliding(5))]),
    ("ASK FROM NAMED STREAM <u:s> [RANGE 5s] { GRAPH <u:s> {} }", [StreamWindow(S, Sliding(5), S)]),
    (
        "ASK FROM STREAM <u:s> [RANGE 5s STEP 1s] FROM <u:g> FROM STREAM <u:t> [TRIPLES 7] {}",
        [StreamWindow(S, Sliding(5, 1)), StreamWindow(T, Count(7, of="triples"))],
    ),
    (
        "SELECT * FROM STREAM <u:s> [RANGE 5s] FROM STREAM <u:s> [RANGE 9s] WHERE {}",
        [StreamWindow(S, Sliding(5)), StreamWindow(S, Sliding(9))],
    ),
    (
        "SELECT * FROM NAMED WINDOW <u:w> ON <u:s> [RANGE PT5S STEP PT1S] WHERE { WINDOW <u:w> {} }",
        [StreamWindow(S, Sliding(5, 1), W)],
    ),
    (
        "SELECT * FROM NAMED WINDOW <u:w> ON STREAM <u:s> [RANGE PT5S TUMBLING] WHERE { ?s ?p ?o }",
        [StreamWindow(S, Tumbling(5, closed="right"), W)],
    ),
    (
        "CONSTRUCT { ?s ?p ?o } FROM NAMED WINDOW <u:w> ON <u:s> [ELEMENTS 3]\n"
        "FROM NAMED WINDOW <u:v> ON <u:s> [RANGE PT9S]\nWHERE { WINDOW <u:v> { ?s ?p ?o } "
        "OPTIONAL { WINDOW <u:w> { { ?s ?p ?o } UNION { ?s ?q ?o } } } GRAPH ?g { ?s ?p ?o } }",
        [StreamWindow(S, Count(3), W), StreamWindow(S, Sliding(9), V)],
    ),
]

WRONG = [
    ("ASK FROM STREAM <u:s> {}", 1, 23, "a window, as in [RANGE 10s STEP 1s]"),
    ("ASK FROM STREAM [RANGE 1s] {}", 1, 17, "expected the name of a stream"),
    ("ASK FROM NAMED WINDOW ON <u:s> [RANGE 1s] {}", 1, 23, "expected the name of the window"),
    ("ASK FROM NAMED WINDOW <u:w> <u:s> [RANGE 1s] {}", 1, 29, "expected ON"),
    ("ASK FROM NAMED WINDOW <u:w> ON LOG <u:s> [RANGE 1s] {}", 1, 32, "expected the name of a stream"),
    ("ASK FROM NAMED WINDOW <u:w> [RANGE 1s] ON STREAM <u:s> {}", 1, 29, "the stream, then the brackets"),
    ("ASK FROM WINDOW <u:w> ON <u:s> [RANGE 1s] {}", 1, 10, "expected NAMED WINDOW"),
    ("ASK FROM WINDOW [RANGE 1s] ON STREAM <u:s> {}", 1, 10, "FROM NAMED WINDOW <w> ON <s> [RANGE 10s "),
    ("ASK FROM STREAM <u:s> [RANGE 1s] ?x {}", 1, 34, "expected FROM, WHERE or {"),
    ("SELECT FROM STREAM <u:s> [RANGE 1s] * {}", 1, 37, "expected FROM, WHERE or {"),
    ("ASK {} FROM STREAM <u:s> [RANGE 1s]", 1, 36, "expected FROM, WHERE or {"),
    ("ASK { { SELECT *\nFROM STREAM <u:s> [RANGE 1s] {} } }", 2, 1, "between the projection and WHERE"),
    ("ASK FROM STREAM <u:s> [RANGE 1s] { WINDOW <u:s> {} }", 1, 43, "no window <u:s>"),
    ("ASK FROM NAMED WINDOW <u:w> ON <u:s> [RANGE 1s] {\n WINDOW <u:v> {} }", 2, 9, "no window <u:v>"),
    ("ASK FROM NAMED WINDOW <u:w> ON <u:s> [RANGE 1s] { WINDOW {} }", 1, 58, "the name of a window"),
    ("ASK FROM NAMED WINDOW <u:w> ON <u:s> [RANGE 1s] { WINDOW <u:w> ?s }", 1, 64, "expected {"),
    ("ASK FROM NAMED WINDOW <u:w> ON <u:s> [RANGE 1s] WINDOW <u:w> {}", 1, 49, "expected FROM, WHERE or {"),
    ("ASK FROM NAMED WINDOW <u:w> ON <u:s> [RANGE 1s] WHERE WINDOW <u:w> {}", 1, 55, "inside the braces"),
    (
        "ASK FROM NAMED WINDOW <u:w> ON <u:s> [RANGE 1s]\nFROM NAMED WINDOW <u:w> ON <u:t> [RANGE 1s] {}",
        2,
        19,
        "<u:w> names a window or graph before",
    ),
    (
        "ASK FROM NAMED WINDOW <u:w> ON <u:s> [RANGE 1s]\nFROM NAMED <u:w> {}",
        2,
        12,
        "<u:w> names a window or graph before",
    ),
    (
        "ASK FROM NAMED <u:w> FROM NAMED\nWINDOW <u:w> ON <u:s> [RANGE 1s] {}",
        2,
        8,
        "<u:w> names a window or graph before",
    ),
    (
        "ASK FROM NAMED WINDOW <u:w> ON <u:s> [RANGE 1s] FROM STREAM <u:s> [RANGE 1s] {}",
        1,
        49,
        "this clause is C-SPARQL, one before it RSP-QL",
    ),
    ("ASK FROM STREAM <u:s> [RANGE 1s] FROM ?g {}", 1, 39, "the name of a graph, NAMED WINDOW or STREAM"),
]

REFUSED = [
    ("{ WINDOW ?w {} }", "WINDOW ?w", 58),
    ("{ WINDOW <u:w> { GRAPH ?g {} } }", "GRAPH inside WINDOW", 66),
    ("{ WINDOW <u:w> { OPTIONAL { GRAPH <u:g> {} } } }", "GRAPH inside WINDOW", 77),
    ("{ WINDOW <u:w> { WINDOW <u:w> {} } }", "WINDOW inside WINDOW", 66),
    ("{} AGGREGATE { (?n, COUNT, {?s}) }", "AGGREGATE", 52),
]


@pytest.mark.parametrize(("text", "windows"), READ)
def test_clauses_declare_windows(text: str, windows: list[StreamWindow]) -> None:
    """Windows come in the order of the text, with their streams, and named in RSP-QL."""
    assert list(parse_continuous(text).windows) == windows


@pytest.mark.parametrize(("text", "line", "column", "message"), WRONG)
def test_clauses_point_at_what_is_wrong(text: str, line: int, column: int, message: str) -> None:
    """What is no clause of a window is named with its place."""
    with pytest.raises(QuerySyntaxError) as caught:
        parse_continuous(text)
    assert message in str(caught.value)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(("pattern", "construct", "column"), REFUSED)
def test_patterns_that_cannot_be_kept_are_refused(pattern: str, construct: str, column: int) -> None:
    """What a window cannot be asked is refused where it stands, with a way around it."""
    with pytest.raises(UnsupportedQueryError, match="Instead: ") as caught:
        parse_continuous(f"ASK FROM NAMED WINDOW <u:w> ON <u:s> [RANGE 5s] {pattern}")
    assert (caught.value.construct, caught.value.column) == (construct, column)


def test_graphs_may_be_called_so() -> None:
    """RSP-QL's FROM GRAPH and FROM NAMED GRAPH are left as SPARQL's FROM and FROM NAMED."""
    text = "ASK FROM GRAPH <u:g> FROM NAMED GRAPH <u:h> FROM STREAM <u:s> [RANGE 1s] {}"
    assert parse_continuous(text).text.split() == ["ASK", "FROM", "<u:g>", "FROM", "NAMED", "<u:h>", "{}"]
