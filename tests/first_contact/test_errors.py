"""What a user is told who has made a mistake: where, what was met, what could stand there."""

from __future__ import annotations

import asyncio
import functools
import json
import sys
from collections.abc import Callable
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import rdflib
from hypothesis import given
from hypothesis import strategies as st
from rdflib import Literal, URIRef, Variable
from rdflib.plugins.sparql import prepareQuery

import rdflive
from rdflive import extras
from rdflive.errors import QueryTypeError
from rdflive.query.parse import parse_query

# One row per query: what is typed with the fault between « and », and what is said of it.
BROKEN = [
    # words
    ("«SELCT» ?s { ?s ?p ?o }", "SELECT may be meant"),
    ("SELECT ?s «WEHRE» { ?s ?p ?o }", "WHERE may be meant"),
    ("SELECT ?s { ?s ?p ?o «OPTOINAL» { ?s ?q ?r } }", "OPTIONAL may be meant"),
    ("SELECT ?s { ?s ?p ?o «FITLER»(?o > 3) }", "FILTER may be meant"),
    ("SELECT ?s { ?s ?p ?o FILTER NOT «EXIST» { ?s ?q ?r } }", "EXISTS may be meant"),
    ("SELECT ?s { ?s ?p ?o FILTER(«CONTAIN»(?o, 'x')) }", "CONTAINS may be meant"),
    ("SELECT ?s { ?s ?p «tru» }", "TRUE may be meant"),
    ("«INSERT» DATA { <u:a> <u:b> <u:c> }", "this is an update"),
    ("«late».rq", "to read a file, pass its path, as in pathlib.Path('late.rq')"),
    # triples
    ("SELECT ?s { ?s ?p «}»", "met '}', expected an object; an object is missing: ?s ?p OBJECT"),
    ("SELECT ?s { ?s «}»", "a predicate and an object are missing: ?s PREDICATE OBJECT"),
    ("SELECT ?s { ?s ?p ?o «?s» ?q ?r }", "a dot, which ends a triple, may be missing"),
    ("SELECT ?s { ?s a 'x' «?s» ?q ?r }", "a dot, which ends a triple, may be missing"),
    ("SELECT ?s { «;» ?s ?p ?o }", "';' continues the previous triple, but there is none"),
    ("SELECT ?s { ?s ?p ?o FILTER(?o > 3) «;» ?q ?r }", "';' continues the previous triple"),
    ("SELECT ?s { ?s ?p ?o . «,» ?r }", "',' continues the previous triple"),
    ("SELECT ?s { ?s ?p ?o . «.» }", "there is no triple before this dot"),
    ("SELECT ?s { ?s ?p ?o , «}»", "met '}', expected an object"),
    ("SELECT ?s { ?s «rdf» type ?o }", "a name needs a prefix, as in :rdf or ex:rdf"),
    ("SELECT ?s { ?s «A» ?o }", "a, for rdf:type, is lower case"),
    ("SELECT ?s { ?s «'p'» ?o }", "a predicate is an IRI or a variable"),
    ("SELECT ?s { ?s ?p «?» }", "a variable needs a name, as in ?name"),
    ("SELECT ?s { ?s <u:p>+«*» ?o }", "met '*', expected an operator of paths or an object"),
    # what has no end
    ("SELECT ?s {\n ?s ?p ?o«»", "met the end of the text, *; the brace { of line 1, column 11 is never"),
    ("SELECT ?s { ?s ?p ?o\nOPTIONAL { ?s ?q ?r«»", "the brace { of line 2, column 10 is never closed"),
    ("SELECT ?s { ?s ?p ?o }«}»", "'}' closes nothing"),
    ("SELECT ?s { ?s ?p ?o FILTER(?o > 3 «}»", "the bracket ( of line 1, column 28 is still open"),
    ("SELECT ?s { ?s ?p [ ?q ?r «}»", "the bracket [ of line 1, column 19 is still open"),
    ('SELECT ?s { ?s ?p «"»late }', 'the string that begins here has no end: close it with "'),
    ("SELECT ?s { ?s ?p 'it'«s»' }", r"to have ' in a string write \'"),
    ("SELECT ?s { ?s ?p «“»late” }", 'SPARQL\'s quotation marks are "'),
    ("SELECT ?s { ?s «<»http://e/p ?o }", "the IRI that begins here has no end: close it with >"),
    # prefixes and literals
    ("SELECT ?s {\n ?s «ex:p» ?o }", "prefix ex: of ex:p is not declared; declare it as PREFIX ex: <...>"),
    ("SELECT ?s { ?s «fofa:name» ?o }", "of fofa:name is not declared; the nearest declared prefix is foaf:"),
    ("PREFIX ex: <u:> SELECT ?s { ?s foaf:name ?o ; «e:p» ?q }", "; the nearest declared prefix is ex:"),
    ("«@prefix» ex: <u:> . SELECT ?s { ?s ?p ?o }", "write PREFIX without @"),
    ("PREFIX ex: <u:> «.» SELECT ?s { ?s ?p ?o }", "a PREFIX has no dot at its end"),
    ("PREFIX «ex» <u:> SELECT ?s { ?s ?p ?o }", "a prefix ends with a colon: ex:"),
    ("PREFIX ex: «http:»//e/ SELECT ?s { ?s ?p ?o }", "expected an IRI between < and >"),
    ("SELECT ?s { ?s ?p '5'«^»xsd:integer }", "a datatype follows ^^, as in '5'^^xsd:integer"),
    ("SELECT ?s { ?s ?p '5'«xsd:integer» }", "a datatype follows ^^: '5'^^xsd:integer"),
    ("SELECT ?s { ?s ?p 'x'«@» }", "a language tag consists of letters, as in 'x'@en"),
    # what stands inside a token
    (r'SELECT ?s { ?s ?p «"\q"» }', r"\q is not an escape: write a backslash in a string as \\"),
    (r"SELECT ?s { ?s ?p ?o FILTER(REGEX(?o, «'^\\s\d+$'») }", r"\d is not an escape: write a backslash"),
    (r'SELECT ?s { ?s ?p «"C:\Users"» }', r"as \\; four hexadecimal digits follow \u, eight"),
    (r"SELECT ?s { ?s ?p «<http://x/\u12>» }", r"\u is not an escape of an IRI; four hexadecimal digits"),
    (r"PREFIX ex: <u:> SELECT ?s { ?s ?p «ex:a\b» }", r"\b is not an escape of a name"),
    ("SELECT ?s«\u00a0»{ ?s ?p ?o }", "U+00A0 (NO-BREAK SPACE) is not white space in SPARQL"),
    ("SELECT ?s # \u00a0 '\\d'\n{ ?s ?p ?o }«\u2003»", "U+2003 (EM SPACE) is not white space in SPARQL"),
    ("SELECT ?s { ?s ?p 'x'«@en--up» }", "separate its parts by -, and write -- before ltr or rtl"),
    # what is selected
    ("SELECT ?s«,» ?o { ?s ?p ?o }", "separate variables by spaces, not commas"),
    ("SELECT «s» { ?s ?p ?o }", "a variable begins with a question mark: ?s"),
    ("SELECT «COUNT»(?s) AS ?n { ?s ?p ?o }", "put it in brackets with a name: (COUNT(...) AS ?name)"),
    ("SELECT (COUNT(?s)«)» { ?s ?p ?o }", "expected an operator or AS; name the value: (... AS ?name)"),
    ("SELECT «{» ?s ?p ?o }", "met '{', expected DISTINCT, REDUCED, a variable, '(' or '*'"),
    ("«»", "the query is empty"),
    ("«#» nothing\n", "the query is empty"),
    # clauses
    ("SELECT ?s { ?s ?p ?o OPTIONAL «?s» ?q ?r }", "OPTIONAL takes a group: OPTIONAL { ... }"),
    ("SELECT ?s { ?s ?p ?o «UNION» { ?s ?q ?r } }", "write UNION between groups: { ... } UNION { ... }"),
    ("SELECT ?s { ?s ?p ?o FILTER «?o» > 3 }", "put the condition in brackets: FILTER(...)"),
    ("SELECT ?s { ?s ?p ?o BIND «?o» AS ?x }", "brackets are missing: BIND(... AS ?name)"),
    ("SELECT ?s { ?s ?p ?o BIND(?o + 1«)» }", "name the value: (... AS ?name)"),
    ("SELECT ?s { GRAPH «{» ?s ?p ?o } }", "met '{', expected a variable or an IRI"),
    ("SELECT ?s { ?s ?p ?o } ORDER «?s»", "write ORDER BY"),
    ("SELECT ?s { ?s ?p ?o } ORDER BY DESC «?s»", "brackets are missing: DESC(...)"),
    ("SELECT ?s { ?s ?p ?o } LIMIT 9 «ORDER» BY ?s", "the order is GROUP BY, HAVING, ORDER BY, LIMIT and"),
    ("SELECT ?s { ?s ?p ?o «LIMIT» 9 }", "LIMIT must follow the last brace of the query"),
    ("SELECT ?s { ?s ?p ?o } LIMIT «ten»", "met 'ten', expected a whole number"),
    # expressions
    ("SELECT ?s { ?s ?p ?o FILTER(?o =«=» 3) }", "compare terms with a single ="),
    ("SELECT ?s { ?s ?p ?o FILTER(?o > 3 «&» ?o < 5) }", "write &&"),
    ("SELECT ?s { ?s ?p ?o FILTER(?o > 3 «or» ?o < 5) }", "write ||"),
    ("SELECT ?s { ?s ?p ?o FILTER(?o «<>» 5) }", "write !="),
    ("SELECT ?s { ?s ?p ?o FILTER(?o «LIKE» 'x%') }", "compare texts with CONTAINS or REGEX"),
    ("SELECT ?s { ?s ?p ?o FILTER(STRLEN(?o«,» 3) > 2) }", "met ',', expected an operator or ')'"),
    ("SELECT ?s { ?s ?p ?o FILTER(REGEX(?o «'x'»)) }", "expected an operator or ','"),
    ("SELECT ?s { ?s ?p ?o FILTER(?o > «)» }", "met ')', expected an expression"),
    ("SELECT ?s { ?s ?p ?o FILTER(?o IN «1», 2) }", "expected a list in brackets"),
    ("SELECT ?s { ?s ?p ?o FILTER(?o«<?s&&?o>»?p) }", "this begins an IRI: to compare, put a space after <"),
    ("SELECT ?s { ?s ?p ?o FILTER(?o = (1«,» 2)) }", "write a list of values after IN: ?o IN (...)"),
    ("SELECT ?s { ?s ?p ?o FILTER(IF(?o > 1, 2«)») }", "IF takes a condition and two values"),
    ("SELECT ?s { ?s ?p ?o FILTER(CONTAINS(?o«)») }", "CONTAINS takes two texts"),
    ("SELECT ?s { ?s ?p ?o FILTER(BOUND(?o«,» ?p)) }", "BOUND takes one variable"),
    ("SELECT (GROUP_CONCAT(?o«,» ' ') AS ?all) { ?s ?p ?o }", "GROUP_CONCAT(?x; SEPARATOR=', ')"),
    # habits of other languages
    ("SELECT ?s { ?s ?p ?o FILTER(?o «IS» NULL) }", "write !BOUND(?o)"),
    ("SELECT ?s { ?s ?p ?o FILTER(?o «IS» NOT NULL) }", "write BOUND(?o)"),
    ("SELECT ?s { ?s ?p ?o FILTER(?o «BETWEEN» 1 AND 5) }", "write a range as ?o >= ... && ?o <= ..."),
    ("SELECT ?s { ?s ?p ?o FILTER(NOT «?o») }", "write !(...)"),
    ("SELECT «TOP» 10 ?s { ?s ?p ?o }", "write LIMIT 10 after the last brace"),
    ("SELECT ?s { ?s ?p ?o } LIMIT 10«,» 20", "to skip rows, write OFFSET"),
    ("SELECT ?s { ?s ?p ?o } ORDER BY ?s DESC«»", "write it before the key: DESC(?s)"),
    ("SELECT ?s { ?s ?p ?o } GROUP BY ?s«,» ?p", "separate variables by spaces, not commas"),
    ("SELECT ?s { ?s ?p ?o «LET» (?x := 1) }", "assign a variable with BIND(... AS ?name)"),
    ("SELECT ?s { ?s ?p ?o «/»/ all\n }", "a comment begins with #"),
    ("SELECT ?s { ?s ?p ?o «-»- all\n }", "a comment begins with #"),
    ("SELECT ?s { { ?s ?p ?o } UNION «ALL» { ?o ?p ?s } }", "UNION already keeps duplicates"),
    ("SELECT ?s { VALUES ?s «(» 1 2 ) }", "write the values in braces: VALUES ?s { ... }"),
    ("SELECT ?s { VALUES (?s ?o) { «1» 2 } }", "write each row in brackets: { (1 2) (3 4) }"),
    ("SELECT ?s «AS» ?x { ?s ?p ?o }", "name a value in brackets: (?s AS ?x)"),
    ("SELECT DISTINCT (?s«)» { ?s ?p ?o }", "name the value: (... AS ?name)"),
    ("SELECT ?s WHERE «?s» ?p ?o", "WHERE takes a group: WHERE { ... }"),
    ("SELECT ?s { ?s ?p ?o FILTER EXISTS «(»?s ?q ?r) }", "EXISTS takes a group: EXISTS { ... }"),
    ("PREFIX ex: «\"http://e/\"» SELECT ?s { ?s ?p ?o }", "expected an IRI between < and >"),
    ("PREFIX ex:«=» <http://e/> SELECT ?s { ?s ?p ?o }", "expected an IRI between < and >"),
    ("SELECT ?s { ?s ?p ?o FILTER(LANG(?o) = «en») }", "a string needs quotation marks: 'en'"),
    ("SELECT ?s FROM <u:g>«,» <u:h> { ?s ?p ?o }", "write a FROM for each graph"),
]  # fmt: skip


def marked(text: str) -> tuple[str, int, int, str]:
    """Take the marks out of a query; gives its fault's line, column and text."""
    before, _, rest = text.partition("«")
    fault, _, after = rest.partition("»")
    return before + fault + after, before.count("\n") + 1, len(before) - before.rfind("\n"), fault


@pytest.mark.parametrize(("text", "said"), BROKEN)
def test_a_syntax_error_shows_the_line_a_caret_and_what_could_stand_there(text: str, said: str) -> None:
    """The caret is under the first token that cannot stand there."""
    query, line, column, fault = marked(text)
    with pytest.raises(rdflive.QuerySyntaxError) as caught:
        rdflive.explain(query)
    error = caught.value
    assert (error.line, error.column) == (line, column)
    first, shown, carets = str(error).split("\n")
    assert first.startswith(f"not SPARQL at line {line}, column {column}: ")
    for part in said.split("*; ") if "*; " in said else [said]:
        assert part in first
    assert shown == f"{line} | {query.splitlines()[line - 1] if query else ''}"
    assert carets == f"{' ' * len(str(line))} | {' ' * (column - 1)}{'^' * max(1, len(fault))}"


def test_what_nobody_sees_is_named() -> None:
    """A mark at the beginning of a file, and what a web page puts between words."""
    with pytest.raises(rdflive.QuerySyntaxError, match="begins with a byte order mark: remove it"):
        rdflive.explain("\ufeffSELECT ?s { ?s ?p ?o }")
    with pytest.raises(rdflive.QuerySyntaxError, match=r"U\+200B \(ZERO WIDTH SPACE\) is invisible"):
        rdflive.explain("SELECT ?s { ?s\u200b ?p ?o }")


@given(st.text(alphabet="SELECT ?s{}().;,<u:p>\"'+1\n\t\\^@#", max_size=40))
def test_any_text_is_diagnosed(text: str) -> None:
    """Whatever is typed, the error has a place in it and shows that line."""
    try:
        parse_query(text)
    except rdflive.QuerySyntaxError as error:
        lines = text.split("\n")
        assert 1 <= error.line <= len(lines)  # noqa: PT017 - it may be a query
        assert 1 <= error.column <= len(lines[error.line - 1]) + 1  # noqa: PT017
        assert str(error).count("\n") == 2  # noqa: PT017
    except rdflive.UnsupportedQueryError:
        pass


def test_a_long_text_is_diagnosed_without_being_nested() -> None:
    """Depth is no matter to the diagnosis, and a long line is cut around the caret."""
    with pytest.raises(rdflive.QuerySyntaxError) as caught:
        parse_query("SELECT ?s { " + "{ " * 20_000)
    first, shown, caret = str(caught.value).split("\n")
    assert "the brace { of line 1, column" in first
    assert len(shown) < 120
    assert caret.rstrip("^").count(" ") == len(caret) - caret.count("^") - 1


def test_tabs_wide_letters_and_what_steers_a_terminal_are_shown_in_place() -> None:
    """The caret stands where the terminal shows the token."""
    with pytest.raises(rdflive.QuerySyntaxError) as caught:
        parse_query("ASK {\n\t?s <u:中\u200e> ?o FITLER(1) }")
    assert str(caught.value).split("\n")[1:] == [
        "2 | \t?s <u:中·> ?o FITLER(1) }",
        "  | \t              ^^^^^^",
    ]


def test_a_continuous_query_is_shown_as_it_was_written() -> None:
    """Not as the SPARQL that is left of it."""
    text = "REGISTER QUERY q AS SELECT ?s\nFROM STREAM <u:s> [RANGE 1s STEP 1s] WHERE { ?s ?p }"
    with pytest.raises(rdflive.QuerySyntaxError) as caught:
        rdflive.register(text, streams={"u:s": rdflive.Stream()})
    assert str(caught.value).split("\n")[1] == f"2 | {text.splitlines()[1]}"
    with pytest.raises(rdflive.QuerySyntaxError, match=r"FROM STREAM <u:s> \[RANG 1s\] {}\n +\| +\^{4}$"):
        rdflive.register("ASK FROM STREAM <u:s> [RANG 1s] {}", streams={})


# Files

QUERY = "SELECT ?s { ?s <u:p> ?o }"
TAKES: dict[str, Callable[[Any], Any]] = {
    "subscribe": lambda query: rdflive.subscribe(rdflib.Graph(), query).query,
    "explain": lambda query: rdflive.explain(query).names,
    "Matcher": lambda query: rdflive.Matcher(query).match([]).names,
    "match": lambda query: list(rdflive.match(query, [])),
    "reformulate": lambda query: rdflive.reformulate(query, rdflib.Graph()).query,
    "LiveGraph": lambda query: rdflive.LiveGraph().subscribe(query).query,
    "connect": lambda query: rdflive.connect("http://127.0.0.1:9", timeout=1).subscribe(query),
    "register": lambda query: rdflive.register(query, streams={"u:s": rdflive.Stream()}),
}


def test_a_path_of_a_file_is_taken_for_a_query(tmp_path: Path) -> None:
    """It gives what its text gives, with or without a byte order mark; so for a continuous query."""
    path = tmp_path / "late.rq"
    for name in TAKES.keys() - {"connect", "register"}:
        for encoding in ("utf-8", "utf-8-sig"):
            path.write_text(QUERY, encoding=encoding)
            assert TAKES[name](path) == TAKES[name](QUERY), name
    path.write_text("ASK FROM STREAM <u:s> [RANGE 10s STEP 1s] { ?s ?p ?o }")
    TAKES["register"](path).close()


@pytest.mark.parametrize("name", [name for name in TAKES if name != "connect"])  # see tests/client
def test_errors_in_a_file_name_it(name: str, tmp_path: Path) -> None:
    """In front of the place, which is there once."""
    path = tmp_path / "late.rq"
    path.write_text(
        "SELECT ?s\n{ ?s FITLER }" if name != "register" else "ASK FROM\nSTREAM <u:s> [RANG 1s] {}"
    )
    with pytest.raises(rdflive.QuerySyntaxError) as caught:
        TAKES[name](path)
    line, column = caught.value.line, caught.value.column
    assert line == 2
    assert str(caught.value).startswith(f"{path}, line {line}, column {column}: not ")
    assert str(caught.value).count(f"line {line}, column {column}") == 1


@pytest.mark.parametrize("name", TAKES)
def test_a_file_that_cannot_be_read_says_so(name: str, tmp_path: Path) -> None:
    """One that is not there, a folder, and one that is not UTF-8."""
    with pytest.raises(FileNotFoundError, match=r"none\.rq"):
        TAKES[name](tmp_path / "none.rq")
    with pytest.raises(OSError, match=r"directory|denied"):
        TAKES[name](tmp_path)
    (tmp_path / "latin.rq").write_bytes(b"# fine\n# \xe9\n")
    with pytest.raises(rdflive.QuerySyntaxError, match=r"latin\.rq, line 2: not UTF-8"):
        TAKES[name](tmp_path / "latin.rq")


# Arguments


def two(delta: object, error: object) -> None:
    """Takes the arguments of `on_error`."""


def print_one(given: object) -> None:
    """Takes the argument of a callback."""


def by_name(delta: object, *, line: str) -> None:
    """Cannot be called without a name."""


async def await_nothing() -> None:
    """Takes no delta."""


RSP = (
    "REGISTER <o> AS SELECT * FROM NAMED WINDOW <w> ON <urn:s> [RANGE PT1S] WHERE { WINDOW <w> { ?s ?p ?o } }"
)
STREAMS = {"urn:s": rdflive.Stream()}
GRAPH = rdflib.Graph()
PREPARED = prepareQuery("ASK { ?s ?p ?o }")
PREFIXED = "SELECT ?s { ?s :p ?o }"
URL = "http://127.0.0.1:9/sparql"
WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: rdflive.subscribe(GRAPH, print, QUERY), r"query must be .*print.*query and callback swapped\?"),
    (lambda: rdflive.subscribe(GRAPH, rdflive.prepare(QUERY)), r"query must be .*pass its text, \.query"),
    (lambda: rdflive.subscribe(QUERY, GRAPH), r"query must be .*Graph.*are graph and query swapped\?"),
    (lambda: rdflive.subscribe(GRAPH, QUERY, QUERY), "callback must be callable or None, got 'SELECT"),
    (lambda: rdflive.subscribe(GRAPH, PREPARED), "query must be .*rdflib has prepared it: pass its text"),
    (lambda: rdflive.subscribe(GRAPH, QUERY.encode()), "query must be .*decode it first"),
    (lambda: rdflive.subscribe(GRAPH, None), "query must be .*or a pathlib.Path .*got NoneType: None"),
    (lambda: rdflive.explain(7), "query must be .*got int: 7"),
    (lambda: rdflive.Matcher(print), "query must be .*print"),
    (lambda: list(rdflive.match(GRAPH, [])), "query must be .*Graph"),
    (lambda: rdflive.reformulate(GRAPH, QUERY), "query must be .*are graph and query swapped"),
    (lambda: rdflive.register(GRAPH, streams={}), "query must be .*Graph"),
    (lambda: rdflive.connect("http://127.0.0.1:9").subscribe(print), "query must be .*print"),
    (lambda: rdflive.explain(QUERY, initBindings={"s": ["x"]}), r"initBindings\['s'\] must be .*got \['x'\]"),
    (lambda: rdflive.explain(QUERY, initBindings={"s": "x"}), r"got 'x'; give Literal\('x'\)"),
    (lambda: rdflive.explain(QUERY, initBindings={"s": None}), r"initBindings\['s'\] must be .*got None"),
    (lambda: rdflive.explain(QUERY, initBindings={"s": Variable("o")}), "URIRef, Literal or BNode"),
    (lambda: rdflive.explain(QUERY, initBindings=["s"]), "initBindings must map names of variables to terms"),
    (lambda: rdflive.explain(QUERY, initBindings={5: Literal(1)}), "initBindings must have names .*got 5"),
    (lambda: rdflive.Matcher(QUERY, initBindings={"s": 1}), r"got 1; give Literal\(1\)"),
    (lambda: rdflive.explain(QUERY, initNs=["ex"]), "initNs must map prefixes to IRIs"),
    (lambda: rdflive.explain(QUERY, initNs={"ex": 5}), "initNs must map prefixes to IRIs, got 5 for 'ex'"),
    (lambda: rdflive.Matcher(QUERY, initNs={"ex": None}), "initNs must map prefixes to IRIs, got None"),
    (lambda: rdflive.connect("http://127.0.0.1:9").subscribe(QUERY, initNs=[1]), "initNs must map"),
    (lambda: rdflive.subscribe(GRAPH, QUERY, budget=5), r"budget must be an rdflive.Budget, .*got 5"),
    (lambda: rdflive.explain(QUERY, initBindings={"s": GRAPH}), r"initBindings\['s'\] must be .*got <Graph>"),
    (lambda: rdflive.endpoint(URL, queries=[QUERY], initNs={"ex": 5}), "initNs must map .*got 5 for 'ex'"),
    (lambda: rdflive.endpoint(URL, queries=5), "queries must be a list of SPARQL texts or None, got 5"),
    (lambda: rdflive.subscribe("late.ttl", PREFIXED), "str 'late.ttl': the graph must be an rdflib Graph"),
    (lambda: rdflive.subscribe(None, PREFIXED), "the graph must be an rdflib Graph or Dataset"),
    (lambda: rdflive.subscribe([], PREFIXED), "the graph must be an rdflib Graph or Dataset"),
    (lambda: rdflive.explain(PREFIXED, graph="railway.ttl"), "the graph must be an rdflib Graph or Dataset"),
    (lambda: rdflive.subscribe("railway.ttl", QUERY), "str 'railway.ttl': the graph must be an rdflib Graph"),
    (lambda: rdflive.subscribe(None, QUERY), "the graph must be an rdflib Graph or Dataset, or a LiveStore"),
    (lambda: rdflive.explain(GRAPH, QUERY), r"query must be .*Graph.*are graph and query swapped\?"),
    (lambda: rdflive.explain(rdflive.LiveStore(), QUERY), r"query must be .*are graph and query swapped\?"),
    (lambda: rdflive.subscribe(GRAPH, QUERY, lambda: 0), "callback must take one .*too many positional"),
    (lambda: rdflive.subscribe(GRAPH, QUERY, two), "callback must take one .*missing a required .*'error'"),
    (lambda: rdflive.subscribe(GRAPH, QUERY, partial(two, 1, 2)), "callback must take one .*too many"),
    (lambda: rdflive.subscribe(GRAPH, QUERY, Path.cwd), "callback must take one argument, the delta, as"),
    (lambda: rdflive.subscribe(GRAPH, QUERY, by_name), "callback must take one argument, the delta, as"),
    (lambda: rdflive.subscribe(GRAPH, QUERY, await_nothing), "callback must take one .*too many positional"),
    (lambda: rdflive.prepare(QUERY).subscribe(GRAPH, two, []), "callback must take one argument, the delta"),
    (lambda: rdflive.validate(GRAPH, GRAPH, two), "callback must take one argument, the delta"),
    (lambda: rdflive.register(RSP, two, streams=STREAMS), "callback must take one argument, the delta"),
    (lambda: rdflive.connect(URL).subscribe(QUERY, two), "callback must take one argument, the delta"),
    (lambda: rdflive.subscribe(GRAPH, QUERY, on_error=print_one), "on_error must take two arguments, the"),
    (lambda: rdflive.subscribe(GRAPH, QUERY, clock=print_one), "clock must be a function without arguments"),
    (lambda: rdflive.mirror(GRAPH, "x.nq", on_entry=two), "on_entry must be a function of an Entry or None"),
    (lambda: rdflive.mirror(GRAPH, "x.nq", on_resync=two), "on_resync must be a function of a Snapshot"),
    (lambda: rdflive.mirror(GRAPH, "x.nq", snapshot=two), "snapshot must be .*, a function that returns"),
    (lambda: asyncio.run(rdflive.amirror(GRAPH, "x.nq", on_entry=await_nothing)), "on_entry must be a funct"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "said"), WRONG)
def test_a_wrong_argument_names_itself_and_what_is_accepted(call: Callable[[], Any], said: str) -> None:
    """A TypeError each, before anything is done; what is no query is an error of its syntax too."""
    with pytest.raises(TypeError, match=said) as caught:
        call()
    assert isinstance(caught.value, QueryTypeError) is said.startswith("query must")
    assert issubclass(QueryTypeError, rdflive.QuerySyntaxError)


class Board:
    """Objects and methods that take a delta."""

    def __call__(self, delta: object, more: object = None) -> None:
        pass

    def show(self, delta: object) -> None:
        pass


def timed(function: Callable[..., Any]) -> Callable[[Any], Any]:
    """Return a function of one argument that has the name of a function of two."""

    @functools.wraps(function)
    def wrapper(delta: Any) -> Any:
        return function(delta, None)

    return wrapper


@pytest.mark.parametrize(
    "callback",
    [
        print, [].append, lambda *deltas: None, lambda delta, more=1: None, lambda delta, /: None, Board,
        Board(), Board().show, functools.partial(two, error=None), functools.partial(two, 1), timed(two),
        Mock(),
    ],
)  # fmt: skip
def test_whatever_can_be_called_with_a_delta_is_a_callback(callback: Any) -> None:
    """Also a function of C, whose arguments Python does not know."""
    if callback is Board:
        callback = Board().__call__
    with rdflive.subscribe(rdflib.Graph(), QUERY, callback, on_error=lambda *_: pytest.fail("failed")):
        pass


def test_shapes_that_are_no_turtle_have_an_error_with_the_line() -> None:
    """A text as a file does; rdflib's own error would show the bytes around the fault."""
    for call in (rdflive.validate, rdflive.guard):
        with pytest.raises(rdflive.ShapesError, match=r"^shapes, line 2: objectList expected$"):
            call(rdflib.Graph(), shapes="@prefix sh: <urn:x> .\n sh:a sh:b .. .")  # type: ignore[operator]


@pytest.mark.parametrize("iri", ["http://e/ <", "http://e/>", "a b", int])
def test_a_prefix_is_of_an_iri(iri: Any) -> None:
    """A text that is none would make names that no graph holds."""
    for call in (rdflive.explain, rdflive.Matcher, partial(rdflive.subscribe, GRAPH)):
        with pytest.raises(ValueError, match=r"initNs binds 'ex' to .*, which is no IRI of SPARQL"):
            call(QUERY, initNs={"ex": iri})


def test_what_may_be_given_is_taken() -> None:
    """Names of bindings with or without a question mark, namespaces of rdflib, no bindings at all."""
    for bindings in ({"s": URIRef("u:s")}, {Variable("s"): Literal(1)}, {"?s": rdflib.BNode()}, {}, None):
        rdflive.explain(QUERY, initBindings=bindings)
    for names in ({"ex": "u:"}, {"ex": rdflib.Namespace("u:")}, {"ex": rdflib.FOAF}, {"ex": URIRef("u:")}):
        rdflive.explain("ASK { ?s ex:name ?o }", initNs=names)
    graph = rdflib.Graph()
    graph.bind("odd", "http://e/a b")  # as RDF/XML may
    rdflive.explain(QUERY, initNs=dict(graph.namespaces()))


# Extras


def installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, record: object) -> str:
    """Give the command for an installation with this record of where it came from."""
    info = tmp_path / "rdflive-1.0.dist-info"
    info.mkdir(exist_ok=True)
    (info / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: rdflive\nVersion: 1.0\n"
        'Requires-Dist: rdflib>=7.3\nRequires-Dist: starlette>=1.10; extra == "server"\n'
        "Requires-Dist: oxrdflib>=0.5; extra == 'oxigraph'\n"
    )
    (info / "direct_url.json").unlink(missing_ok=True)
    if record is not None:
        (info / "direct_url.json").write_text(record if isinstance(record, str) else json.dumps(record))
    monkeypatch.setattr(metadata, "distribution", lambda _: metadata.Distribution.at(info))
    monkeypatch.setattr(extras, "find_spec", lambda _: True)
    monkeypatch.setattr(extras.shutil, "which", lambda name: sys.executable if name == "python" else None)
    extras.install_command.cache_clear()
    try:
        return extras.install_command("server")
    finally:
        extras.install_command.cache_clear()


def test_a_missing_extra_names_a_command_for_where_rdflive_came_from(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An index, a folder, an editable one, an archive, a repository; the packages where that is gone."""
    here = (tmp_path / "my project").as_uri()
    wheel = tmp_path / "rdflive-1.0-py3-none-any.whl"
    (tmp_path / "my project").mkdir()
    wheel.touch()
    git = {"url": "https://e/r.git", "vcs_info": {"vcs": "git", "commit_id": "12ab"}}
    pip = "python -m pip install"
    expected = [
        (None, f"{pip} 'rdflive[server]'"),
        ({"url": here, "dir_info": {"editable": True}}, f"{pip} -e '{tmp_path}/my project[server]'"),
        ({"url": here, "dir_info": {}}, f"{pip} '{tmp_path}/my project[server]'"),
        ({"url": wheel.as_uri(), "archive_info": {}}, f"{pip} 'rdflive[server] @ {wheel.as_uri()}'"),
        ({"url": "https://e/r.whl", "archive_info": {}}, f"{pip} 'rdflive[server] @ https://e/r.whl'"),
        (git, f"{pip} 'rdflive[server] @ git+https://e/r.git@12ab'"),
        ({**git, "subdirectory": "a"}, f"{pip} 'rdflive[server] @ git+https://e/r.git@12ab#subdirectory=a'"),
        ({"url": "file:///gone/r.whl", "archive_info": {}}, f"{pip} 'starlette>=1.10'"),
        ("{", f"{pip} 'starlette>=1.10'"),
        ("[]", f"{pip} 'starlette>=1.10'"),
    ]
    assert [installed(monkeypatch, tmp_path, record) for record, _ in expected] == [
        said for _, said in expected
    ]


def test_the_command_uses_the_python_that_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By its path where `python` is another one, and uv where there is no pip."""
    installed(monkeypatch, tmp_path, None)
    monkeypatch.setattr(extras.shutil, "which", lambda name: f"/elsewhere/{name}")
    assert extras.install_command("spark") == f"{sys.executable} -m pip install 'rdflive[spark]'"
    extras.install_command.cache_clear()
    monkeypatch.setattr(extras, "find_spec", lambda _: None)
    command = extras.install_command("spark")
    assert command == f"uv pip install --python {sys.executable} 'rdflive[spark]'"
    extras.install_command.cache_clear()


def test_a_checkout_that_was_never_installed_names_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with PYTHONPATH."""

    def missing(name: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "distribution", missing)
    extras.install_command.cache_clear()
    root = Path(rdflive.__file__).resolve().parents[2]
    command = extras.install_command("server")
    extras.install_command.cache_clear()
    if (root / "pyproject.toml").exists():
        assert command.endswith(f" -e '{root}[server]'")
    else:
        assert command.endswith(" 'rdflive[server]'")


# The same text everywhere
