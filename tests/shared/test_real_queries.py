"""The queries that users of real endpoints wrote: nearly all can be followed, and are followed rightly."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import rdflib
from rdflib.plugins.sparql import prepareQuery

import rdflive
from rdflive.errors import QuerySyntaxError, UnsupportedQueryError
from rdflive.syntax.reader import read_query
from rdflive.syntax.tokens import looks_continuous, tokenize
from rdflive.time.languages import parse_continuous
from support.effort import HUNT, sampled
from support.examples import NODE, example_triples, graph_names
from support.shared import ROOT, SHARED, shared
from support.solutions import isomorphic, state_of
from support.w3c_world import Sum
from support.worlds import KINDS

pytestmark = pytest.mark.shared

LEAST = 0.95
"""The share of the queries without SERVICE that must be followed."""
CHUNKS = 10
TURNS = 5
"""The gate has one of so many queries."""
REPORT = ROOT / "build" / "real_queries.txt"
LEAVES_A_CHOICE = {"LIMIT", "OFFSET", "SAMPLE", "GROUP_CONCAT", "FROM"}
"""Words of queries with several right answers, and FROM, which oxrdflib overrides."""
NOT_READ = "rdflib reads it, Oxigraph does not"
NO_JUDGE = {
    "examples/neXtProt/NXQ_00282.ttl": "Oxigraph before 0.5.13 takes ?a - ?b + 1 for ?a - (?b + 1)",
    "examples/Cellosaurus/125.ttl": "Oxigraph knows no path of length zero from a term that the graph lacks",
    "examples/Rhea/103_Select_all_approved_reactions_linked_to_a_given_EC_number.ttl": NOT_READ,
    "examples/UniProt/18_top_level_ec_classification_group_by_count.ttl": NOT_READ,
}
"""Queries whose answers are not compared with Oxigraph's, each with the reason."""


def load() -> dict[str, str]:
    path = SHARED / "data" / "queries" / "sib_examples.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {entry["id"]: entry["query"] for entry in map(json.loads, lines)}


def words(text: str) -> set[str]:
    return {token.text.upper() for token in tokenize(text) if token.kind == "word"}


QUERIES = load()
LOCAL = {name: text for name, text in QUERIES.items() if "SERVICE" not in words(text)}
REMOTE = sorted(QUERIES.keys() - LOCAL.keys())


def test_queries_are_there() -> None:
    """All 1,224 queries are tried below."""
    shared("data", "queries", "sib_examples.jsonl")
    assert len(QUERIES) == 1224
    assert len(LOCAL) > 1100


def test_real_queries_can_be_followed(record_property: Callable[..., None]) -> None:
    """At least 95 in 100 of the queries without SERVICE are parsed and subscribed on an empty graph."""
    shared("data", "queries", "sib_examples.jsonl")
    tried = sampled("real queries", sorted(LOCAL), TURNS)
    dataset = KINDS["dataset"]()
    refused: dict[str, str] = {}
    crashed: dict[str, str] = {}
    for name in tried:
        try:
            rdflive.subscribe(dataset, LOCAL[name]).close()
        except (UnsupportedQueryError, QuerySyntaxError) as error:
            refused[name] = str(error)
        except Exception as error:  # noqa: BLE001 - all that fail are to be named
            crashed[name] = repr(error)
    followed = len(tried) - len(refused) - len(crashed)
    lines = [
        f"{followed} of {len(tried)} queries are followed",
        *(f"{n}: {why}" for n, why in refused.items()),
    ]
    if HUNT:
        REPORT.parent.mkdir(exist_ok=True)
        REPORT.write_text("\n".join(lines) + "\n", encoding="utf-8")
    record_property("real queries", lines[0])
    assert crashed == {}
    assert followed / len(tried) >= LEAST, "\n".join(lines)


def test_real_queries_with_service_are_refused() -> None:
    """SERVICE is refused with its place."""
    shared("data", "queries", "sib_examples.jsonl")
    for name in sampled("queries with SERVICE", REMOTE, TURNS):
        with pytest.raises(UnsupportedQueryError) as refusal:
            rdflive.explain(QUERIES[name])
        assert refusal.value.construct == "SERVICE", name
        line, column = refusal.value.line, refusal.value.column
        assert QUERIES[name].splitlines()[line - 1][column - 1 :].upper().startswith("SERVICE"), name


@pytest.mark.sampled(TURNS, by="chunk")
@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_real_queries_follow_a_small_graph(chunk: int) -> None:
    """On triples made of its own patterns each query gives what Oxigraph gives, until they are gone."""
    pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    wrong = {name: follow(name, LOCAL[name]) for name in sorted(LOCAL)[chunk::CHUNKS]}
    assert {name: what for name, what in wrong.items() if what} == {}


def follow(name: str, text: str) -> str:
    """Fill a dataset in two commits, and empty it again; say what was wrong on the way, if anything was."""
    dataset = KINDS["oxigraph dataset"]()
    try:
        follower = Sum(dataset, text)
    except (UnsupportedQueryError, QuerySyntaxError):
        return ""  # counted above
    except Exception as error:  # noqa: BLE001 - all that fail are to be named
        return repr(error)
    algebra = parsed(text, dict(dataset.namespaces()))
    judged = name not in NO_JUDGE and not words(text) & LEAVES_A_CHOICE
    start, wrong = follower.state, ""
    for sign, literals in ((1, False), (1, True), (-1, False), (-1, True)):
        with rdflive.batch(dataset):
            for graph, triple in examples(dataset, algebra, literals=literals):
                (graph.add if sign > 0 else graph.remove)(triple)
        if judged and not isomorphic(follower.state, expected := state_of(dataset.query(text))):
            wrong = wrong or f"found {follower.state}, expected {expected}"
    if not isomorphic(follower.state, start):
        wrong = wrong or f"began with {start}, ended with {follower.state}"
    follower.close()
    return wrong


def parsed(text: str, namespaces: dict[str, Any]) -> Any:
    """Parse with room for the recursion of rdflib's parser, which begins deep in the stack here."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(4 * limit)
    try:
        return prepareQuery(text, initNs=namespaces).algebra
    finally:
        sys.setrecursionlimit(limit)


def examples(dataset: Any, algebra: Any, *, literals: bool) -> Iterator[tuple[Any, Any]]:
    """Give the triples that the query might match, in each graph that it speaks of."""
    names = [*graph_names(algebra), rdflib.URIRef(NODE + "g")]
    for triple in example_triples(algebra, literals=literals):
        for graph in (dataset, *map(dataset.get_context, names)):
            yield graph, triple


CLAUSE = "FROM STREAM <u:s> [RANGE 1s]\n"
HEAD = "REGISTER RSTREAM <u:q> AS "
CONTINUED = sampled("continuous", sorted(QUERIES), 3)


def pattern_of(text: str) -> int | None:
    """Give where the pattern of a query begins, with its WHERE or its brace."""
    depth, form = 0, ""
    for token in tokenize(text):
        word = token.text.upper()
        if word in ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE") and not depth:
            form = word
        if form and not depth and (word == "WHERE" or (word == "{" and form != "CONSTRUCT")):
            return token.offset
        depth += (word == "{") - (word == "}")
    return None


def test_real_queries_do_not_look_continuous() -> None:
    """No word of a real query is taken for one of a continuous query; each is told that it has no window."""
    assert [name for name in CONTINUED if looks_continuous(QUERIES[name])] == []
    for name in CONTINUED:
        with pytest.raises(QuerySyntaxError, match="it has no window"):
            parse_continuous(QUERIES[name])


def test_real_queries_with_a_window_stay_what_they_are() -> None:
    """With REGISTER and a window in front of WHERE, the tree of every real query is what it was."""
    changed = []
    for name in CONTINUED:
        text = QUERIES[name]
        place = pattern_of(text)
        if place is None:
            continue
        if parse_continuous(HEAD + text[:place] + CLAUSE + text[place:]).tree != read_query(text):
            changed.append(name)
    assert changed == []
