"""Regular expressions of subscriptions: those that could hold up the server are refused, and no others."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterable
from re import _parser  # type: ignore[attr-defined]  # no stub has it; the very reading that Python matches by
from typing import Any, NamedTuple
from urllib.parse import urlencode

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from websockets.sync.client import connect

from rdflive.server.failures import Problem
from rdflive.server.patterns import refuse_slow_patterns, slow_part
from support.effort import examples
from support.protocol import asked, updated
from support.serving import serving

GOOD = [
    "",
    "^IC",
    "delay(ed)?",
    "[0-9]{4}-[0-9]{2}",
    "foo.*bar",
    "(a|b)c+",
    r"\d+(,\d+)?",
    r"^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$",
    r"^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}$",
    "^(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)-[0-9]+$",
    "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve",
    "(abc)+ (?:def)*",
    r"\(a+\)+",
    "[(a+)]+",
    r"[]a+)]+[^](\]|]*",
    r"\\d+",
    "(a+)?",
    "a{},b{x}{",
    "a{1000}",
    "a?" * 10,
]
REPEATED = "a repeated group that holds a quantifier or an alternative"
BAD = {
    **dict.fromkeys(
        ["(a+)+", "(a*)*", "(a|aa)+", "(a|a?)+", "([a-z]+)*", "(x+x+)+y", "((a+))+", "(?:a+)+"], REPEATED
    ),
    **dict.fromkeys(
        ["(a{1,9}){1,9}", "(a+){30}", "(a+){,}", "(a*){2,}", "(a+)*?", "(a+)++", "(a|b){2}"], REPEATED
    ),
    **dict.fromkeys(["((a?)?b)*", "(a{2}){2}", "(x(a|b)y)+", r"([^\]+]+)+", "(a(b+)?)+", "(a|b)*"], REPEATED),
    "a?" * 11: "too many parts that vary",
    "(a|a)" * 11: "too many parts that vary",
    "a*" * 11: "too many parts that vary",
    "((a|b|c|d)(a|b|c|d)){0}" + "x": REPEATED,
    "(a|b|c|d|e|f)" * 4: "too many parts that vary",
    r"(a)\1": "a back-reference",
    r"(a)(b)\2+": "a back-reference",
    "(?i)a": "an extension of Python's",
    "(?P<x>a)": "an extension of Python's",
    "(?=a+)b": "an extension of Python's",
    "a{1001}": "too high a number",
    "(){0,4294967294}": "too high a number",
}


@pytest.mark.parametrize("pattern", GOOD)
def test_pattern_without_nested_repetition_passes(pattern: str) -> None:
    """What one writes to find a text is accepted."""
    re.compile(pattern)
    assert slow_part(pattern) is None


@pytest.mark.parametrize(("pattern", "part"), BAD.items())
def test_pattern_that_may_take_exponential_time_is_refused(pattern: str, part: str) -> None:
    """The part that makes it slow is named."""
    assert slow_part(pattern) == part


class Built(NamedTuple):
    """A pattern, and what the rule says of it."""

    text: str
    varies: bool = False
    ways: int = 1
    is_bad: bool = False


def join(parts: list[Built]) -> Built:
    ways = 1
    for part in parts:
        ways *= part.ways
    return Built(
        "".join(part.text for part in parts), any(p.varies for p in parts), ways, any(p.is_bad for p in parts)
    )


def choose(branches: list[Built]) -> Built:
    return Built(
        "(" + "|".join(b.text for b in branches) + ")",
        len(branches) > 1 or branches[0].varies,
        sum(b.ways for b in branches),
        any(b.is_bad for b in branches),
    )


def repeat(part: Built, quantifier: str) -> Built:
    is_exact = quantifier[0] == "{" and "," not in quantifier
    return Built(
        part.text + quantifier,
        True,
        part.ways + (not is_exact),
        part.is_bad or (part.varies and quantifier[0] != "?"),
    )


ATOMS = st.sampled_from([*"ab.!", r"\+", r"\(", r"\\", "[a+]", "[^(]", r"[\])*]", "[]|]", "{", "{}"]).map(
    Built
)
QUANTIFIERS = st.sampled_from(["?", "*", "+", "??", "*?", "{2}", "{1,3}", "{,2}", "{2,}", "{,}"])


def grow(parts: st.SearchStrategy[Built]) -> st.SearchStrategy[Built]:
    group = st.lists(st.lists(parts, max_size=3).map(join), min_size=1, max_size=3).map(choose)
    nested = group.map(lambda inner: choose([inner]))
    return group | st.builds(repeat, group | nested | ATOMS, QUANTIFIERS)


@settings(deadline=None, max_examples=examples(400))
@given(st.lists(st.recursive(ATOMS, grow, max_leaves=12), max_size=8).map(join))
def test_pattern_is_judged_by_how_it_is_built(built: Built) -> None:
    """A pattern is refused exactly where one of its groups breaks the rule, or too many parts vary."""
    assert (slow_part(built.text) is not None) == (built.is_bad or built.ways > 1024)


REPEATS = {_parser.MAX_REPEAT, _parser.MIN_REPEAT, *(getattr(_parser, "POSSESSIVE_REPEAT", ()),)}


def parts(node: Any) -> Iterable[tuple[Any, Any]]:
    """Walk what Python read, outer parts first."""
    if isinstance(node, _parser.SubPattern):
        node = list(node)
    if isinstance(node, tuple) and node and type(node[0]).__name__ == "_NamedIntConstant":
        yield node[:2]
    if isinstance(node, list | tuple):
        for inner in node:
            yield from parts(inner)


def is_nested(pattern: str) -> bool:
    """Tell whether Python repeats, more than once, what has a repetition or alternatives in it."""
    for kind, content in parts(_parser.parse(pattern)):
        if kind in REPEATS and content[1] != 1:
            inner = {kind for kind, _ in parts(content[2])}
            if inner & {*REPEATS, _parser.BRANCH}:
                return True
        if kind in (_parser.GROUPREF, _parser.GROUPREF_EXISTS, _parser.ASSERT, _parser.ASSERT_NOT):
            return True
    return False


@settings(deadline=None, max_examples=examples(1000))
@given(st.text("ab()()[]|**++?{}12,\\^-.:P ", max_size=16))
def test_pattern_that_passes_has_no_nested_repetition_for_python(pattern: str) -> None:
    """However the characters come, what Python itself would nest is never taken for harmless."""
    if slow_part(pattern) is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what sets may mean in times to come
            try:
                nested = is_nested(pattern)
            except (re.error, OverflowError):
                return  # an error of the expression, whatever it is applied to
        assert not nested


REGEX = "regex(?o, '(a+)+')"
PLACES = [
    "ASK { ?s ?p ?o FILTER REGEX }",
    "SELECT * { ?s ?p ?o BIND(REGEX AS ?x) }",
    "SELECT (REGEX AS ?x) { ?s ?p ?o }",
    "SELECT (COUNT(IF(REGEX, 1, 2)) AS ?x) { ?s ?p ?o }",
    "SELECT ?o { ?s ?p ?o } GROUP BY ?o HAVING(REGEX)",
    "SELECT ?x { ?s ?p ?o } GROUP BY (REGEX AS ?x)",
    "SELECT * { ?s ?p ?o } ORDER BY REGEX LIMIT 3",
    "SELECT * { ?s ?p ?o OPTIONAL { ?s ?q ?o FILTER REGEX } }",
    "SELECT * { ?s ?p ?o FILTER NOT EXISTS { ?s ?q ?o FILTER(!REGEX) } }",
    "SELECT ?o { ?s ?p ?o } GROUP BY ?o HAVING(EXISTS { ?o ?q ?o FILTER REGEX })",
    "SELECT * { ?s ?p ?o FILTER(EXISTS { ?s ?q ?o FILTER EXISTS { ?o ?q ?o FILTER REGEX } } || true) }",
    "SELECT * { { SELECT ?s { ?s ?p ?o FILTER REGEX } } UNION { ?s ?q ?o } }",
    "SELECT * { ?s ?p ?o MINUS { ?s ?q ?o FILTER(1 + 1 IN (2, COALESCE(REGEX))) } }",
    "SELECT * { GRAPH ?g { ?s ?p ?o FILTER REGEX } }",
    "CONSTRUCT { ?s ?p ?x } { ?s ?p ?o BIND(STR(REGEX) AS ?x) }",
]
CALLS = [
    "REGEX(?o, ('(a+)+'))",
    "rEgEx(?o, '(a+)+', 'i')",
    r"\u0052EGEX(?o, '(a+)+')",
    "REGEX(?o, '(a +)+', 'x')",
    "REGEX(?o, '(a{2}) +', 'x')",
    "REGEX(?o, '''(a{2})\n{2}''', 'x')",
    r"REGEX(?o, '(a\u002B)+')",
    "REGEX(?o, '(a+)+'^^<http://www.w3.org/2001/XMLSchema#string>)",
    "REGEX(?o, ?s)",
    "REGEX(?o, STR(?s))",
    "REGEX(?o, CONCAT('(a+', ')+'))",
    "REGEX(?o, 'a', ?s)",
    "REGEX(?o, <urn:a>)",
    "STRLEN(REPLACE(?o, '(a+)+', 'b'))",
    "STRLEN(REPLACE(?o, ?s, 'b', 'i'))",
    "regex('a', REPLACE(?o, 'a', '+'))",
]
KEPT = [
    "REGEX(?o, '^IC')",
    "REGEX(?o, '(a+)+', 'q')",
    "REGEX(?o, '[( a+)]+', 'x')",
    "REGEX(REPLACE(?o, 'a+', ?s), 'b$', 'm')",
    "REGEX(?o, '(')",
    "CONTAINS(?o, '(a+)+')",
]


@pytest.mark.parametrize("query", [place.replace("REGEX", REGEX) for place in PLACES])
def test_slow_pattern_is_found_wherever_it_stands(query: str) -> None:
    """403 names the function, the pattern and what is accepted."""
    with pytest.raises(Problem, match=r"REGEX with the pattern '\(a\+\)\+' could .* no quantifier") as caught:
        refuse_slow_patterns(query, {})
    assert caught.value.status == 403


@pytest.mark.parametrize("call", CALLS)
def test_slow_pattern_is_found_however_it_is_written(call: str) -> None:
    """Case, escapes, brackets and flags hide nothing, and what is no constant is refused."""
    with pytest.raises(Problem, match=r"RE(GEX|PLACE) with (the|a) pattern"):
        refuse_slow_patterns(f"ASK {{ ?s ?p ?o FILTER({call}) }}", {})


@pytest.mark.parametrize("call", KEPT)
def test_other_patterns_are_kept(call: str) -> None:
    """Literal patterns, those of other functions, and those that do not compile harm nobody."""
    refuse_slow_patterns(f"ASK {{ ?s ?p ?o FILTER({call}) }}", {"ex": "urn:"})


LATENT = (
    f'SELECT * {{ ?s <urn:soon> ?o BIND("{"a" * 40}!" AS ?x) FILTER(regex(?x, "(a+)+$") || <urn:f>(ex:x)) }}'
)


@pytest.mark.posix("the server forks")
@pytest.mark.parametrize("store", ["default", "Oxigraph"])
def test_subscription_with_a_slow_pattern_is_refused(store: str) -> None:
    """With entailment or without, over events and SEPA; what comes later is written in no time."""
    if store == "Oxigraph":
        pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    dataset = rdflib.Dataset(store)
    dataset.bind("ex", "urn:ex:")
    with serving(dataset) as server:
        for more in ({}, {"entailment": "rdfs"}):
            reply = asked(server, "GET", "/subscribe?" + urlencode({"query": LATENT} | more))
            assert (reply.status, "(a+)+$" in reply.json["detail"]) == (403, True), reply.body
        with connect(f"ws://127.0.0.1:{server.port}/subscribe", proxy=None) as socket:
            socket.send(json.dumps({"subscribe": {"sparql": LATENT}}))
            assert json.loads(socket.recv(timeout=30))["status_code"] == 403
            socket.send(json.dumps({"subscribe": {"sparql": LATENT.replace("(a+)+$", "^a+!$")}}))
            assert "addedResults" in json.loads(socket.recv(timeout=30))["notification"]
            assert updated(server, "INSERT DATA { <urn:a> <urn:soon> 1 }").status == 204
            assert len(server.service.topics) == 1
