"""IRIs of the names of streams and windows."""

from __future__ import annotations

import pytest
from rdflib import URIRef
from rdflib.plugins.sparql import prepareQuery

from rdflive.errors import QuerySyntaxError
from rdflive.time.languages import parse_continuous

PROLOGUES = [
    "PREFIX ex: <http://e/> PREFIX : <http://d/#> PREFIX foaf: <u:other/>",
    "BASE <http://b/x/y> PREFIX ex: <rel/> PREFIX : <#> PREFIX foaf: <../up#>",
    "PREFIX ex: <u:1/> PREFIX ex: <u:2/> PREFIX : <u:3/> PREFIX foaf: <u:4/> BASE <u:b>",
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


def test_names_may_have_unicode_escapes() -> None:
    """An escape in an IRI stands for its character."""
    query = parse_continuous("ASK FROM STREAM <http://e/caf\\u00e9> [RANGE 1s] {}")
    assert query.windows[0].stream == URIRef("http://e/café")


@pytest.mark.parametrize(
    ("term", "message"),
    [
        ("none:s", "declare PREFIX none: <...>"),
        (r"ex:a\-b", "has an escape: write the IRI between < and >"),
        ("<//[>", "is no IRI"),
        ("?s", "expected the name of a stream, found '\\?s'"),
        ('"s"', "expected the name of a stream"),
    ],
)
def test_names_that_are_none_have_a_place(term: str, message: str) -> None:
    """What is no name of a stream is refused where it stands."""
    with pytest.raises(QuerySyntaxError, match=message) as caught:
        parse_continuous(f"BASE <http://b/>\nPREFIX ex: <u:> ASK\nFROM STREAM {term} [RANGE 1s] {{}}")
    assert (caught.value.line, caught.value.column) == (3, 13)
