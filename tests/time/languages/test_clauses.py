"""The clauses of continuous queries: what they say, and where an error in them is."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rdflib import URIRef
from rdflib.plugins.sparql import prepareQuery

from rdflive.errors import QuerySyntaxError, UnsupportedQueryError
from rdflive.syntax.excerpt import excerpt
from rdflive.syntax.reader import read_query
from rdflive.time.languages import StreamWindow, parse_continuous
from rdflive.time.windowed import Output
from rdflive.time.windows import Count, Sliding, Tumbling, Window

S, T, W, V = (URIRef(f"u:{name}") for name in "stwv")
AROUND = {
    "brackets": "ASK FROM STREAM <u:s>\n{}{{}}",
    "dataset": "{}",
    "prologue": "{}",
    "names": "BASE <http://b/>\nPREFIX ex: <u:> ASK\nFROM STREAM {} [RANGE 1s] {{}}",
}
"""The query that a part of it is tried in."""
TAIL = "FROM STREAM <u:s> [RANGE 1s] {}"


def window_of(brackets: str, every: str = "") -> Window:
    """Read the window of a query that is computed so often."""
    head = f"REGISTER QUERY q COMPUTE EVERY {every} AS " if every else ""
    return parse_continuous(head + AROUND["brackets"].format(brackets)).windows[0].window


WINDOWS: list[tuple[str, Window]] = [
    ("[RANGE PT10S STEP PT1S]", Sliding(10, 1)),
    ("[RANGE PT10S]", Sliding(10)),
    ("[range pt10s step pt0.5s]", Sliding(10, 0.5)),
    ("[RANGE PT1H30M STEP P1D]", Sliding(5400, 86400)),
    ("[RANGE PT10S, SLIDE PT5S]", Sliding(10, 5)),
    ("[RANGE PT10S SLIDE PT5S]", Sliding(10, 5)),
    ("[RANGE PT10S TUMBLING]", Tumbling(10, closed="right")),
    ("[RANGE 10sec STEP 1sec]", Sliding(10, 1)),
    ("[RANGE 30m STEP 5m]", Sliding(1800, 300)),
    ("[RANGE 30 MIN STEP 5 MIN]", Sliding(1800, 300)),
    ("[RANGE 1h TUMBLING]", Tumbling(3600, closed="right")),
    ("[RANGE 1.5h STEP 250ms]", Sliding(5400, 0.25)),
    ("[ RANGE\n 2d # two days\n STEP 1h ]", Sliding(172800, 3600)),
    ("[ #] STEP 1s]\nRANGE 2d]", Sliding(172800)),
    ("[FROM NOW-PT35M TO NOW STEP PT5M]", Sliding(2100, 300)),
    ("[FROM NOW - 10s TO NOW]", Sliding(10)),
    ("[RANGE TRIPLES 10]", Count(10, of="triples")),
    ("[TRIPLES 10]", Count(10, of="triples")),
    ("[RANGE TRIPLES 10 TUMBLING]", Count(10, 10, of="triples")),
    ("[ELEMENTS 10 STEP 5]", Count(10, 5)),
    ("[ITEM 10 SLIDE 2]", Count(10, 2)),
    ("[ITEMS 3, TUMBLING]", Count(3, 3)),
]

WRONG: dict[str, list[tuple[str, int, int, str]]] = {
    "brackets": [
        ("RANGE 10s]", 2, 1, "a window, as in"),
        ("", 2, 1, "met '{', expected a window, as in [RANGE 10s STEP 1s]"),
        ("[]", 2, 1, "a window, as in"),
        ("[PT10S]", 2, 2, "RANGE, TRIPLES or ELEMENTS"),
        ("[RANGE]", 2, 7, "met ']', expected TRIPLES or a duration, as in 10s or PT10S"),
        ("[RANGE ?d]", 2, 8, "a duration"),
        ("[RANGE 10]", 2, 8, "10 has no unit"),
        ("[RANGE\n 10 STEP 2]", 3, 2, "10 has no unit"),
        ("[RANGE 10s STEP 2]", 2, 17, "2 has no unit"),
        ("[RANGE 10 parsecs]", 2, 8, "'10parsecs' is not a duration"),
        ("[RANGE soon]", 2, 8, "'soon' is not a duration"),
        ("[RANGE P1Y]", 2, 8, "years or months"),
        ("[RANGE PT0S]", 2, 8, "greater than zero"),
        ("[RANGE P1H]", 2, 8, "is not a duration"),
        ("[RANGE 10s STEP]", 2, 16, "a duration"),
        ("[RANGE 10s,]", 2, 12, "TUMBLING, STEP or SLIDE"),
        ("[RANGE 10s STEP 1s TICK]", 2, 20, "met 'TICK', expected ']'"),
        ("[RANGE 10s STEP 1s", 2, 19, "met '{', expected ']'"),
        ("[TRIPLES]", 2, 9, "a whole number"),
        ("[TRIPLES 0]", 2, 10, "at least 1"),
        ("[TRIPLES 1.5]", 2, 10, "a whole number"),
        ("[ELEMENTS 10 STEP PT1S]", 2, 19, "met 'PT1S', expected a whole number"),
        (f"[ELEMENTS {'9' * 5000}]", 2, 11, "up to 18 digits"),
        ("[FROM PT10S]", 2, 7, "met 'PT10S', expected NOW"),
        ("[FROM NOW-PT10S TO THEN]", 2, 20, "met 'THEN', expected NOW"),
    ],
    "dataset": [
        ("ASK FROM STREAM <u:s> {}", 1, 23, "a window, as in [RANGE 10s STEP 1s]"),
        ("ASK FROM STREAM [RANGE 1s] {}", 1, 17, "expected the name of a stream"),
        ("ASK FROM NAMED WINDOW ON <u:s> [RANGE 1s] {}", 1, 23, "expected the name of the window"),
        ("ASK FROM NAMED WINDOW <u:w> <u:s> [RANGE 1s] {}", 1, 29, "expected ON"),
        ("ASK FROM NAMED WINDOW <u:w> ON LOG <u:s> [RANGE 1s] {}", 1, 32, "STREAM or the name of a stream"),
        ("ASK FROM NAMED WINDOW <u:w> [RANGE 1s] ON STREAM <u:s> {}", 1, 29, "the stream, then the brackets"),
        ("ASK FROM WINDOW <u:w> ON <u:s> [RANGE 1s] {}", 1, 10, "or NAMED WINDOW"),
        ("ASK FROM WINDOW [RANGE 1s] ON STREAM <u:s> {}", 1, 10, "FROM NAMED WINDOW <w> ON <s> [RANGE 10s "),
        ("ASK FROM STREAM <u:s> [RANGE 1s] ?x {}", 1, 34, "met '?x', expected FROM or '{'"),
        ("SELECT FROM STREAM <u:s> [RANGE 1s] * {}", 1, 8, "FROM must be between the projection and WHERE"),
        ("ASK {} FROM STREAM <u:s> [RANGE 1s]", 1, 8, "FROM must be between the projection and WHERE"),
        ("ASK { { SELECT *\nFROM STREAM <u:s> [RANGE 1s] {} } }", 2, 1, "between the projection and WHERE"),
        ("ASK FROM STREAM <u:s> [RANGE 1s] { WINDOW <u:s> {} }", 1, 43, "no window <u:s>"),
        ("ASK FROM NAMED WINDOW <u:w> ON <u:s> [RANGE 1s] {\n WINDOW <u:v> {} }", 2, 9, "no window <u:v>"),
        ("ASK FROM NAMED WINDOW <u:w> ON <u:s> [RANGE 1s] { WINDOW {} }", 1, 58, "the name of a window"),
        (
            "ASK FROM NAMED WINDOW <u:w> ON <u:s> [RANGE 1s] { WINDOW <u:w> ?s }",
            1,
            64,
            "met '?s', expected '{'",
        ),
        (
            "ASK FROM NAMED WINDOW <u:w> ON <u:s> [RANGE 1s] WINDOW <u:w> {}",
            1,
            49,
            "expected FROM or '{'; WINDOW must be inside the braces of WHERE",
        ),
        (
            "ASK FROM NAMED WINDOW <u:w> ON <u:s> [RANGE 1s] WHERE WINDOW <u:w> {}",
            1,
            55,
            "WINDOW must be inside the braces of WHERE",
        ),
        (
            "ASK FROM NAMED WINDOW <u:w> ON <u:s> [RANGE 1s]\nFROM NAMED WINDOW <u:w> ON <u:t> [RANGE 1s] {}",
            2,
            19,
            "<u:w> is already the name of a window or graph",
        ),
        (
            "ASK FROM NAMED WINDOW <u:w> ON <u:s> [RANGE 1s]\nFROM NAMED <u:w> {}",
            2,
            12,
            "<u:w> is already the name of a window or graph",
        ),
        (
            "ASK FROM NAMED <u:w> FROM NAMED\nWINDOW <u:w> ON <u:s> [RANGE 1s] {}",
            2,
            8,
            "<u:w> is already the name of a window or graph",
        ),
        (
            "ASK FROM NAMED WINDOW <u:w> ON <u:s> [RANGE 1s] FROM STREAM <u:s> [RANGE 1s] {}",
            1,
            49,
            "this clause is C-SPARQL, an earlier one RSP-QL",
        ),
        ("ASK FROM STREAM <u:s> [RANGE 1s] FROM ?g {}", 1, 39, "GRAPH, an IRI, STREAM or NAMED WINDOW"),
    ],
    "prologue": [
        ("", 1, 1, "the query is empty"),
        ("INSERT DATA {}", 1, 1, "met 'INSERT', expected BASE, PREFIX, VERSION, REGISTER, SELECT, CONSTRUCT"),
        ("REGISTER AS SELECT", 1, 10, "the name of the query"),
        ("REGISTER QUERY AS SELECT", 1, 16, "the name of the query"),
        ("REGISTER QUERY 1st AS SELECT", 1, 16, "the name of the query"),
        ("REGISTER QUERY q SELECT", 1, 18, "met 'SELECT', expected COMPUTE, COMPUTED, UNDER or AS"),
        ("REGISTER QUERY q COMPUTE 1s AS SELECT", 1, 26, "expected EVERY"),
        ("REGISTER QUERY q\nCOMPUTE EVERY 1 AS ASK {}", 2, 15, "1 has no unit"),
        ("REGISTER QUERY q AS REGISTER QUERY r AS SELECT", 1, 21, "expected BASE, PREFIX, VERSION, SELECT"),
        ("REGISTER QUERY ex:q AS SELECT", 1, 16, "declare it as PREFIX ex: <...>"),
        ("PREFIX ex <u:> SELECT", 1, 8, "a prefix such as ex:"),
        ("PREFIX ex:a <u:> SELECT", 1, 8, "a prefix such as ex:"),
        ("PREFIX ex: u SELECT", 1, 12, "an IRI between < and >"),
        ("BASE ex: SELECT", 1, 6, "an IRI between < and >"),
        ("REGISTER RSTREAM <u:q> AS\nSELECT ISTREAM * " + TAIL, 2, 8, "two operators, RSTREAM and ISTREAM"),
    ],
    "names": [
        ("none:s", 3, 13, "declare it as PREFIX none: <...>"),
        (r"ex:a\b", 3, 13, r"\b is not an escape of a name"),
        ("?s", 3, 13, "met '?s', expected the name of a stream"),
        ('"s"', 3, 13, "expected the name of a stream"),
    ],
}
"""Parts that are wrong, each with the line and column of it and a part of the message."""


@pytest.mark.parametrize(
    ("around", "text", "line", "column", "message"),
    [(AROUND[part], *each) for part, wrong in WRONG.items() for each in wrong],
)
def test_clauses_point_at_what_is_wrong(around: str, text: str, line: int, column: int, message: str) -> None:
    """What is no part of a query is named with its place and what would be right."""
    place = f"not RSP-QL or C-SPARQL at line {line}, column {column}: "
    with pytest.raises(QuerySyntaxError, match=place) as caught:
        parse_continuous(around.format(text))
    first, _, shown = str(caught.value).partition("\n")
    assert message in first
    assert shown == excerpt(around.format(text), line, column)
    assert (caught.value.line, caught.value.column) == (line, column)


@pytest.mark.parametrize(("text", "window"), WINDOWS)
def test_brackets_say_a_window(text: str, window: Window) -> None:
    """Every way to write a window that engines read gives the window it means."""
    assert window_of(text) == window


def test_brackets_refuse_windows_of_the_past() -> None:
    """A window that ends before the present is refused at its end."""
    with pytest.raises(UnsupportedQueryError, match=r"Instead: use \[FROM NOW-PT2H TO NOW\]") as caught:
        window_of("[FROM NOW-PT2H\n TO NOW-PT1H]")
    assert (caught.value.construct, caught.value.line, caught.value.column) == (
        "a window that ends in the past",
        3,
        8,
    )


@pytest.mark.parametrize(
    ("text", "every", "window"),
    [
        ("[RANGE 10s]", "2s", Sliding(10, 2)),
        ("[RANGE 10s STEP 1m]", "60s", Sliding(10, 60)),
        ("[RANGE 1h TUMBLING]", "PT60M", Tumbling(3600, closed="right")),
    ],
)
def test_every_is_the_step_of_a_window_without_one(text: str, every: str, window: Window) -> None:
    """COMPUTE EVERY gives a window its step, or says the same as the one it has."""
    assert window_of(text, every) == window


@pytest.mark.parametrize(
    ("text", "column"),
    [("[RANGE 10s STEP 1s]", 12), ("[RANGE 1h TUMBLING]", 11), ("[TRIPLES 5 STEP 5]", 10)],
)
def test_every_may_not_differ_from_the_step(text: str, column: int) -> None:
    """Two lengths for one thing are refused, and so is a length of time for a window without time."""
    with pytest.raises(UnsupportedQueryError, match="Instead: ") as caught:
        window_of(text, "2s")
    assert (caught.value.construct, caught.value.line, caught.value.column) == ("COMPUTE EVERY", 2, column)


UNITS = {"ms": 1, "s": 1000, "sec": 1000, "SECONDS": 1000, "m": 60_000, "MIN": 60_000, "minutes": 60_000,
    "h": 3_600_000, "Hours": 3_600_000, "d": 86_400_000, "DAY": 86_400_000}  # fmt: skip


@given(
    st.integers(1, 10**6),
    st.sampled_from(sorted(UNITS)),
    st.sampled_from(["", " ", "\n", " # STEP 1s ]\n"]),
    st.sampled_from(["]", " ]", ", STEP 1s]", " SLIDE 1 SEC]"]),
)
def test_duration_is_a_number_and_its_unit(number: int, unit: str, space: str, after: str) -> None:
    """A duration is the same however its number and unit are spaced, and ends before what follows."""
    step = None if after.strip() == "]" else 1
    assert window_of(f"[RANGE {number}{space}{unit}{after}") == Sliding(
        Fraction(number * UNITS[unit], 1000), step
    )


DECLARED = [
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


REFUSED = [
    ("{ WINDOW ?w {} }", "WINDOW ?w", 58),
    ("{ WINDOW <u:w> { GRAPH ?g {} } }", "GRAPH inside WINDOW", 66),
    ("{ WINDOW <u:w> { OPTIONAL { GRAPH <u:g> {} } } }", "GRAPH inside WINDOW", 77),
    ("{ WINDOW <u:w> { WINDOW <u:w> {} } }", "WINDOW inside WINDOW", 66),
    ("{} AGGREGATE { (?n, COUNT, {?s}) }", "AGGREGATE", 52),
]


@pytest.mark.parametrize(("text", "windows"), DECLARED)
def test_clauses_declare_windows(text: str, windows: list[StreamWindow]) -> None:
    """Windows come in the order of the text, with their streams, and named in RSP-QL."""
    assert list(parse_continuous(text).windows) == windows


@pytest.mark.parametrize(("pattern", "construct", "column"), REFUSED)
def test_patterns_that_cannot_be_kept_are_refused(pattern: str, construct: str, column: int) -> None:
    """What a window cannot be asked is refused where it stands, with a way around it."""
    with pytest.raises(UnsupportedQueryError, match="Instead: ") as caught:
        parse_continuous(f"ASK FROM NAMED WINDOW <u:w> ON <u:s> [RANGE 5s] {pattern}")
    assert (caught.value.construct, caught.value.column) == (construct, column)


def test_graphs_may_be_called_so() -> None:
    """RSP-QL's FROM GRAPH and FROM NAMED GRAPH are SPARQL's FROM and FROM NAMED."""
    text = "ASK FROM GRAPH <u:g> FROM NAMED GRAPH <u:h> FROM STREAM <u:s> [RANGE 1s] {}"
    assert parse_continuous(text).tree == read_query("ASK FROM <u:g> FROM NAMED <u:h> {}")


HEADS: list[tuple[str, str | URIRef | None, Output, int | None]] = [
    ("ASK", None, "delta", None),
    ("REGISTER QUERY Delays AS ASK", "Delays", "delta", None),
    ("register query Delays as ask", "Delays", "delta", None),
    ("REGISTER QUERY Delays COMPUTE EVERY 1sec AS ASK", "Delays", "delta", 1),
    ("REGISTER STREAM Delays COMPUTED EVERY 1 m AS CONSTRUCT {}", "Delays", "delta", 60),
    ("REGISTER STREAM <u:out> COMPUTED EVERY PT1S AS SELECT *", URIRef("u:out"), "delta", 1),
    ("REGISTER RSTREAM <u:out> AS SELECT *", URIRef("u:out"), "rstream", None),
    ("REGISTER IStream <u:out> AS SELECT *", URIRef("u:out"), "istream", None),
    ("REGISTER DSTREAM <u:out> AS SELECT *", URIRef("u:out"), "dstream", None),
    ("REGISTER <u:out> AS SELECT *", URIRef("u:out"), "delta", None),
    ("REGISTER QUERY Count AS ASK", "Count", "delta", None),
    ("REGISTER STREAM stream COMPUTE EVERY 1s AS ASK", "stream", "delta", 1),
    ("REGISTER RSTREAM a AS ASK", "a", "rstream", None),
    ("PREFIX : <u:> REGISTER RSTREAM :out AS SELECT *", URIRef("u:out"), "rstream", None),
    ("REGISTER RSTREAM ex:out AS PREFIX ex: <u:> SELECT *", URIRef("u:out"), "rstream", None),
    (r"REGISTER ex:o\-t AS PREFIX ex: <u:> ASK", URIRef("u:o-t"), "delta", None),
    ("BASE <http://b/> REGISTER RSTREAM <out> AS SELECT *", URIRef("http://b/out"), "rstream", None),
    ("REGISTER RSTREAM <out> AS BASE <http://b/> SELECT *", URIRef("http://b/out"), "rstream", None),
    ("REGISTER RSTREAM <out> AS SELECT *", URIRef("out"), "rstream", None),
    ("REGISTER STREAM <u:out> AS CONSTRUCT ISTREAM {}", URIRef("u:out"), "istream", None),
    ("SELECT dstream ?s", None, "dstream", None),
    ("ASK DSTREAM", None, "dstream", None),
    ("REGISTER RSTREAM <u:out> AS SELECT RSTREAM ?s", URIRef("u:out"), "rstream", None),
    ("REGISTER RSTREAM <u:out> AS SELECT rstream ?s", URIRef("u:out"), "rstream", None),
]


@pytest.mark.parametrize(("text", "name", "output", "every"), HEADS)
def test_prologue_says_name_output_and_pace(
    text: str, name: str | URIRef | None, output: Output, every: int | None
) -> None:
    """REGISTER names the query, what it gives and how often, and may stand among the prefixes."""
    query = parse_continuous(f"{text} {TAIL}")
    assert (query.name, query.output) == (name, output)
    assert query.every == (None if every is None else every * 10**9)


def test_prologue_refuses_entailment() -> None:
    """A text cannot choose the entailment of its query."""
    with pytest.raises(UnsupportedQueryError, match="when you register the query") as caught:
        parse_continuous("REGISTER STREAM <u:q>\n UNDER ENTAILMENT REGIME <u:rdfs> AS ASK " + TAIL)
    assert (caught.value.line, caught.value.column) == (2, 2)


def test_prefixes_may_be_given() -> None:
    """What the text does not declare stands for what is given, in windows and in the rest."""
    query = parse_continuous("ASK FROM STREAM ex:s [RANGE 1s] { ?s ex:p ?o }", {"ex": "u:"})
    assert query.windows[0].stream == S
    assert query.tree == read_query("ASK { ?s <u:p> ?o }")


PROLOGUES = [
    "PREFIX ex: <http://e/> PREFIX : <http://d/#> PREFIX foaf: <u:other/>",
    "BASE <http://b/x/y> PREFIX ex: <rel/> PREFIX : <#> PREFIX foaf: <../up#>",
    "PREFIX ex: <u:1/> PREFIX ex: <u:2/> PREFIX : <u:3/> PREFIX foaf: <u:4/> BASE <http://u/b>",
    "BASE <http://b/> BASE <http://c/d/> PREFIX ex: <s> PREFIX : <> PREFIX foaf: <//h/>",
]
TERMS = [
    "ex:s",
    "ex:",
    ":",
    ":a.b",
    "ex:a:b%20",
    "foaf:x",
    "<s>",
    "<../s>",
    "<#s>",
    "<>",
    "<u:s>",
    "<http:s>",
]


@pytest.mark.parametrize("prologue", PROLOGUES)
@pytest.mark.parametrize("term", TERMS)
def test_names_are_those_that_rdflib_gives_graphs(prologue: str, term: str) -> None:
    """The name of a window is that of the graph that rdflib makes of it, whatever the prefixes are."""
    query = parse_continuous(f"{prologue} ASK FROM NAMED WINDOW {term} ON {term} [RANGE 1s] {{ ?s ?p ?o }}")
    clauses = prepareQuery(f"{prologue} ASK FROM NAMED {term} {{ ?s ?p ?o }}").algebra.datasetClause
    assert [query.windows[0].name, query.windows[0].stream] == [clauses[0].named] * 2


def test_names_may_have_escapes() -> None:
    """An escape in an IRI or a name stands for its character."""
    query = parse_continuous("ASK FROM STREAM <http://e/caf\\u00e9> [RANGE 1s] {}")
    assert query.windows[0].stream == URIRef("http://e/café")
    query = parse_continuous(
        r"PREFIX e: <u:> ASK FROM NAMED WINDOW e:a\-b ON e:s [RANGE 1s] { WINDOW e:a\-b {} }"
    )
    assert query.windows[0].name == URIRef("u:a-b")
    assert query.tree == read_query("ASK { GRAPH <u:a-b> {} }")


NAMESPACE = "http://larkc.eu/csparql/sparql/jena/ext#"
QUERY = "PREFIX f: <%s>\nASK FROM STREAM <u:s> [RANGE 5s] { ?s ?p ?o FILTER(%s > 1) }"


@pytest.mark.parametrize("name", ["f:timestamp", f"<{NAMESPACE}timestamp>", "f:other"])
def test_calls_are_refused_where_they_stand(name: str) -> None:
    """A filter with one would hold for nothing; the error says what to do."""
    with pytest.raises(
        UnsupportedQueryError, match=r"without their instants. Instead: add the inst"
    ) as caught:
        parse_continuous(QUERY % (NAMESPACE, f"{name} (?s, ?p, ?o)"))
    assert (caught.value.line, caught.value.column) == (2, 52)
    assert caught.value.construct == f"the function {name}"


def test_other_functions_and_plain_names_stay() -> None:
    """A function of another namespace is none of these, and an IRI of this one may be a term."""
    assert parse_continuous(QUERY % ("http://e/", "f:timestamp(?o)"))
    assert parse_continuous(QUERY % (NAMESPACE, "?p = f:timestamp && (?o)"))
