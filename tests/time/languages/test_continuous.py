"""What is left of a continuous query is SPARQL, with every part where it was."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import Graph, URIRef
from rdflib.plugins.sparql import prepareQuery

import rdflive
from rdflive.errors import QuerySyntaxError, UnsupportedQueryError
from rdflive.query.parse import parse_query
from rdflive.syntax.reader import read_query
from rdflive.syntax.tokens import looks_continuous, tokenize
from rdflive.syntax.tree import Tree, walk
from rdflive.time.languages import ContinuousQuery, StreamWindow, parse_continuous
from rdflive.time.windows import Count, Sliding, Tumbling, Window
from support.effort import examples
from support.queries import make_query

SPACES = [" ", "\n", "\t", " \r\n ", " # REGISTER QUERY x AS\n", " #] FROM STREAM <u:s> [RANGE 1s] {\n"]
TRAPS = [
    '?window ex:FROM "FROM STREAM <u:s> [RANGE 1s]" . ',
    "?stream <http://e/WINDOW> 'REGISTER \\' WINDOW <u:w> {' . ",
    '?s ex:p """FROM NAMED WINDOW\n"" \\""" } ] AGGREGATE {""" . ',
    "_:WINDOW{n} window:FROM '''WINDOW :w\n{''' , 1e3 , -2 , 'x'@window , '5'^^window:STREAM . ",
    "# FROM NAMED STREAM <u:s> [TRIPLES 1] }\n",
    "FILTER(?window < 3 && ?from > 2) ",
    "VALUES ?x { 'a'window:b \"c\"<http://e/GRAPH> true } ",
    "OPTIONAL { ?every <#STEP> $range } ",
    "{ ?s ?p ?o } UNION { SELECT ?s { ?s a window: } GROUP BY ?s } ",
    "?s (ex:REGISTER|^ex:FROM)/ex:WINDOW* [ ex:p () ] . ",
    "BIND(IF(BOUND(?aggregate), 'GRAPH', ?window) AS ?b{n}) ",
    "FILTER NOT EXISTS { ?s ex:p ?FROM MINUS { ?s ex:q ?WINDOW } } ",
]
MEASURES: list[tuple[list[str], Window]] = [
    (["[", "RANGE", "PT10S", "STEP", "PT1S", "]"], Sliding(10, 1)),
    (["[", "RANGE", "10s", "]"], Sliding(10)),
    (["[", "range", "5", "min", "tumbling", "]"], Tumbling(300, closed="right")),
    (["[", "TRIPLES", "7", ",", "STEP", "3", "]"], Count(7, 3, of="triples")),
    (["[", "ELEMENTS", "7", "]"], Count(7)),
]
KEPT = ["FROM <u:g1>", "FROM ex:g2", "FROM NAMED <u:window>", "FROM\nNAMED ex:STREAM"]


@dataclass(frozen=True)
class Case:
    """A continuous query, what is to be read from it, and the text without windows."""

    text: str
    query: ContinuousQuery
    left: str


class Writer:
    """Writes a query piece by piece, and beside it what is left, which every piece knows by itself."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.text = ""
        self.left = ""
        self.windows: list[StreamWindow] = []
        self.traps = 0

    def keep(self, text: str) -> None:
        self.text += text
        self.left += text

    def space(self, *more: str) -> None:
        self.keep(self.random.choice([*SPACES, *more]))

    def cut(self, words: list[str]) -> None:
        clause = words[0] + "".join(self.random.choice(SPACES) + word for word in words[1:])
        self.text += clause
        self.left += "".join(each if each in "\t\r\n" else " " for each in clause)

    def window(self, *, rsp_ql: bool) -> None:
        number = len(self.windows)
        measures, window = self.random.choice(MEASURES)
        stream, name = URIRef(f"http://e/s{number % 2}"), URIRef(f"http://e/w{number}")
        shown = self.random.choice([f"ex:s{number % 2}", f"<{stream}>"])
        if rsp_ql:
            on = self.random.choice([["ON"], ["ON", "STREAM"]])
            self.cut(["FROM", "NAMED", "WINDOW", f"ex:w{number}", *on, shown, *measures])
        else:
            self.cut(["from", "STREAM", shown, *measures])
        self.windows.append(StreamWindow(stream, window, name if rsp_ql else None))

    def pattern(self, depth: int = 0) -> None:
        named = [window for window in self.windows if window.name is not None]
        for _ in range(self.random.randint(0, 4)):
            self.traps += 1
            self.keep(self.random.choice(TRAPS).replace("{n}", str(self.traps)))
            if named and not depth and self.random.random() < 0.5:
                self.text += "WINDOW"
                self.left += "GRAPH "
                self.space("")
                self.keep(f"<{self.random.choice(named).name}>")
                self.space()
                self.keep("{ ")
                self.pattern(depth + 1)
                self.keep("} ")


def make_case(random: Random) -> Case:
    """Make a query with traps: the words of the languages in strings, names, variables and comments."""
    rsp_ql = random.random() < 0.5
    writer = Writer(random)
    registered = random.random() < 0.8
    prefixes = ["PREFIX ex: <http://e/>", "PREFIX window: <http://e/REGISTER/>", "BASE <http://e/FROM>"]
    before = random.randint(0, 3) if registered else 0
    for prefix in prefixes[:before]:
        writer.keep(prefix)
        writer.space()
    if registered:
        writer.cut(["REGISTER", "ISTREAM", "<http://e/q>", "AS"])
        writer.space()
    for prefix in prefixes[before:]:
        writer.keep(prefix)
        writer.space()
    writer.keep(random.choice(["SELECT *", "ASK", "CONSTRUCT { ?s ex:FROM 'WINDOW' }", "SELECT ?window"]))
    writer.space()
    kept = random.sample(KEPT, random.randint(0, 2))
    for number in range(random.randint(1, 3)):
        for clause in kept[number : number + 1]:
            writer.keep(clause)
            writer.space()
        writer.window(rsp_ql=rsp_ql)
        writer.space("", "")
    writer.keep(random.choice(["WHERE {", "{", "WHERE{ "]))
    writer.pattern()
    writer.keep("} ")
    writer.keep(random.choice(["", "# WINDOW", "LIMIT 5 # FROM"] if "ASK" not in writer.text else [""]))
    return Case(
        writer.text,
        ContinuousQuery(
            URIRef("http://e/q") if registered else None,
            "istream" if registered else "delta",
            None,
            tuple(writer.windows),
            read_query(writer.left),
            "RSP-QL" if rsp_ql else "C-SPARQL",
        ),
        writer.left,
    )


def places(tree: Tree) -> list[tuple[str, int, int]]:
    return [(node.name, node.begin, node.end) for node in walk(tree.query)]


@settings(max_examples=examples(300))
@given(st.integers(0, 2**32))
def test_queries_are_read_and_all_else_stays(seed: int) -> None:
    """What is read is what the text with blanks for clauses and GRAPH for WINDOW gives, part by part."""
    case = make_case(Random(seed))
    query = parse_continuous(case.text)
    assert query == case.query
    assert places(query.tree) == places(case.query.tree)
    assert looks_continuous(case.text)
    assert not looks_continuous(query.text)


@settings(max_examples=examples(40))
@given(st.integers(0, 2**32))
def test_what_is_left_is_sparql(seed: int) -> None:
    """rdflib reads what is left of a query as it reads the text without windows."""
    case = make_case(Random(seed))
    ours, theirs = (prepareQuery(text).algebra for text in (parse_continuous(case.text).text, case.left))
    assert (ours.name, ours.PV, ours.datasetClause) == (theirs.name, theirs.PV, theirs.datasetClause)


@settings(max_examples=examples(100))
@given(st.integers(0, 2**32), st.booleans())
def test_plain_queries_stay_what_they_are(seed: int, graphs: bool) -> None:
    """A query without windows is refused, and with one clause more it is left as it was."""
    query = make_query(Random(seed), graphs=graphs)
    assert not looks_continuous(str(query))
    with pytest.raises(QuerySyntaxError, match="it has no window"):
        parse_continuous(str(query))
    clause = "FROM STREAM <u:s> [RANGE 1s]"
    left, plain = (
        parse_continuous(query.select.text(clause)).tree,
        read_query(query.select.text(" " * len(clause))),
    )
    assert left == plain
    assert places(left) == places(plain)


@settings(max_examples=examples(500))
@given(st.integers(0, 2**32))
def test_any_text_is_read_or_refused(seed: int) -> None:
    """However a text is spoilt, what is left of it can be read, or an error says where it is wrong."""
    random = Random(seed)
    text = make_case(random).text
    tokens = [token.text for token in tokenize(text)]
    extra = [
        *"{}[]<>\"'\\#:,\n?^_-.",
        *tokens,
        "\\u00e9",
        "\x00",
        "é",
        "9" * 5000,
        "P1Y",
        "NOW",
        "<//[>",
        "<>",
    ]
    for _ in range(random.randint(1, 4)):
        place = random.randrange(len(text) + 1)
        text = text[:place] + random.choice(extra) + text[place + random.choice([0, 0, 1, 7]) :]
    looks_continuous(text)
    try:
        query = parse_continuous(text)
    except (QuerySyntaxError, UnsupportedQueryError) as error:
        lines = text.split("\n")
        assert 1 <= error.line <= len(lines)  # noqa: PT017 - either outcome is right
        assert 1 <= error.column <= len(lines[error.line - 1]) + 1  # noqa: PT017
        assert f"line {error.line}, column {error.column}" in str(error)  # noqa: PT017
    else:
        assert read_query(query.text).query.name == query.tree.query.name


def test_errors_behind_a_clause_have_their_place() -> None:
    """What is wrong in the SPARQL that is left is found where it stands in the whole text."""
    text = "REGISTER QUERY q AS SELECT ?s\nFROM STREAM <u:s> [RANGE 1s\nSTEP 1s] WHERE {\n ?s ?p }"
    with pytest.raises(QuerySyntaxError) as caught:
        parse_continuous(text)
    assert (caught.value.line, caught.value.column) == (4, 8)
    text = text.replace("?p }", "?p ?o FILTER(?o < NOW()) }")
    with pytest.raises(UnsupportedQueryError) as refused:
        parse_query(text, tree=parse_continuous(text).tree)
    assert (refused.value.line, refused.value.column) == (4, 23)


def test_depth_is_refused() -> None:
    """A query that is nested too deeply is refused as one without windows is."""
    deep = "{ " * 2000 + "WINDOW <u:w> { ?s ?p ?o }" + " }" * 2000
    with pytest.raises(UnsupportedQueryError, match="nested too deeply"):
        parse_continuous(f"ASK FROM NAMED WINDOW <u:w> ON <u:s> [RANGE 1s] {deep}")


def test_prefixes_of_the_graph_serve_in_the_names_of_windows() -> None:
    """Those of `initNs` come first, then those of the graph that the streams stand beside."""
    graph = Graph()
    graph.bind("r", "http://e/")
    graph.bind("q", "http://other/")
    one, two = rdflive.Stream(), rdflive.Stream(graph)
    text = """ASK FROM NAMED WINDOW r:w ON r:s [RANGE 9s] FROM NAMED WINDOW q:v ON r:t [RANGE 9s]
        { WINDOW r:w { ?s r:p ?o } WINDOW q:v { ?o q:p ?z } }"""
    asked = rdflive.register(text, streams={"http://e/s": one, "http://e/t": two}, initNs={"q": "http://e/"})
    one.add((URIRef("u:a"), URIRef("http://e/p"), URIRef("u:b")), at=1)
    assert len(asked.answers()) == 0
    two.add((URIRef("u:b"), URIRef("http://e/p"), URIRef("u:c")), at=1)
    assert len(asked.answers()) == 1
    prepareQuery(asked.query)


def test_queries_are_made_of_text() -> None:
    """Anything but text is refused by what it is."""
    with pytest.raises(QuerySyntaxError, match="NoneType"):
        parse_continuous(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "continuous"),
    [
        ("register query q as ask {}", True),
        ("ASK FROM STREAM <u:s> {}", True),
        ("ASK FROM NAMED\nSTREAM <u:s> {}", True),
        ("ASK FROM NAMED WINDOW <u:w> {}", True),
        ("ASK { window <u:w> {} }", True),
        ("", False),
        ("ASK FROM <u:STREAM> FROM NAMED <u:WINDOW> { ?WINDOW a 'REGISTER' } # WINDOW", False),
        ("ASK { unfinished WINDOW", True),
    ],
)
def test_continuous_texts_look_so(text: str, continuous: bool) -> None:
    """A word of the languages tells, even in a text that cannot be read; strings and names do not."""
    assert looks_continuous(text) is continuous
