"""Explanations say what is kept where the plan runs, also where queries that differ in constants share it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
import rdflib
from rdflib import Literal, URIRef

import rdflive
from rdflive.query.bgp import Variable

LATE = "SELECT ?t { ?t :delay ?m FILTER(?m > 5) }"
QUERIES = [
    LATE,
    "SELECT ?t { ?t :delay ?m FILTER(?m = 5) }",
    "SELECT ?t { ?t :delay ?m FILTER(?m != 5) }",
    "SELECT ?t { ?t :delay ?m FILTER(?m > 5 || ?m < 2) }",
    "SELECT ?t { ?t :delay ?m FILTER(?m > 3 && ?m < 7) }",
    "SELECT ?t { ?t :delay 5 }",
    "SELECT ?t { ?t ?p 5 }",
    "SELECT ?t { ?t ?p ?o }",
    "SELECT ?t { ?t :next ?t }",
    "SELECT ?t { ?t :next ?t ; a :C1 }",
    "ASK { :t1 :delay 5 }",
    "ASK { :t1 :delay 5 . :t2 :delay 5 }",
    "ASK { :t1 :delay ?m FILTER(?m > 5) }",
    "ASK { :t1 ?p :t1 . :t1 :next :t1 . ?p a :C1 FILTER(?p = :next) }",
    "SELECT ?t { ?t a :C1 ; :line :L1 }",
    "SELECT ?t { ?t a :C1 ; :line ?l }",
    "SELECT ?t { ?t a :C1 ; :line ?l ; :delay ?m ; :stop ?p FILTER(?m > 5) }",
    "SELECT ?t { ?t :line ?l ; :delay ?m ; :stop ?p }",
    "SELECT ?t { ?t a ?c . ?l :delay ?k FILTER(?k > 5) }",
    "SELECT ?t { ?t a :C1 . ?l :delay 5 }",
    "SELECT ?t { ?a :next ?b . ?b :next ?c . ?a :next ?c }",
    "SELECT ?t { ?t :line ?l . ?l :in ?x . ?t :stop ?s . ?s :in ?x FILTER(?x = :X) }",
    "SELECT ?t { ?t :delay ?m OPTIONAL { ?t :stop ?p FILTER(?m > 5) } }",
    "SELECT ?t { ?t :delay ?m FILTER(?m > 5) FILTER NOT EXISTS { ?t :closed true } }",
    "SELECT ?t (COUNT(?m) AS ?n) { ?t :delay ?m FILTER(?m > 5) } GROUP BY ?t",
    "SELECT ?t { { ?t :delay ?m } UNION { ?t :line :L1 } }",
    "SELECT ?t { ?t :next/:line ?l FILTER(?l >= :L1) }",
    "SELECT ?t { ?t :next+/:line :L1 }",
    "SELECT ?t { GRAPH :g { ?t :delay ?m FILTER(?m > 5) } }",
    "SELECT ?t { GRAPH ?g { ?t :delay ?m ; :line :L1 FILTER(?m > 5) } }",
]
PREFIX = "PREFIX : <u:> "


def subscribed(query: str, **options: Any) -> rdflive.Subscription:
    """Subscribe to a query on a few trains."""
    graph = rdflib.Dataset()
    for i in range(9):
        train = URIRef(f"u:t{i}")
        graph.add((train, URIRef("u:delay"), Literal(i)))
        graph.add((train, URIRef("u:line"), URIRef(f"u:L{i % 3}")))
        graph.add((train, rdflib.RDF.type, URIRef(f"u:C{i % 3}")))
    return rdflive.subscribe(graph, PREFIX + query, initial=False, **options)


def kept(subscription: rdflive.Subscription) -> Iterator[tuple[tuple[str, ...], str]]:
    """Read from the engine which patterns of a query have access paths, and of which kind."""
    plan = subscription._question.plan
    values = dict(zip(plan.parameters, subscription._terms, strict=True))
    states = iter(subscription._use.query.states)
    for basic in plan.basics:
        for segment in basic.segments:
            state = next(states)
            for written, pattern in zip(segment.patterns, state.patterns, strict=True):
                paths = [path for of, path in state.paths if of is pattern]
                if paths:
                    terms = (basic.graph, *written)
                    named = tuple(name(values.get(t, t) if isinstance(t, Variable) else t) for t in terms)
                    yield named, "neighbours" if len(paths[0]) < pattern.arity else "matches"


def name(term: Any) -> str:
    """Write a term, and `made` for the planner's own variables, whose numbers differ between plans."""
    return "made" if isinstance(term, Variable) and not term.distinguished else str(term)


@pytest.mark.parametrize("options", [{}, {"algorithm": "join"}, {"budget": rdflive.Budget()}], ids=str)
@pytest.mark.parametrize("query", QUERIES)
def test_what_patterns_keep_is_what_the_engine_keeps(query: str, options: dict[str, Any]) -> None:
    """Access paths and match states are those of the running plan, shared or not."""
    with subscribed(query, **options) as subscription:
        explanation = subscription.explain()
        # in a shared plan the IRI stands where the filter has the variable, unless that is a predicate
        equal = dict(re.findall(r"(\?[^p]) = :(\w+)", query))
        said = {
            (tuple(f"u:{equal[term]}" if term in equal else term for term in map(name, (graph, *p))), what)
            for (graph, p), what in explanation._kept.items()
        }
        assert said == set(kept(subscription))
        states = sum(len(segment.centres) for basic in explanation._plan.basics for segment in basic.segments)
        assert states == sum(len(state.stars) for state in subscription._use.query.states)


def test_a_comparison_with_a_constant_keeps_every_match_that_walks_look_up() -> None:
    """Who compares with another constant shares them, so none is dropped before."""
    query = "SELECT ?t { ?t :line ?l ; :delay ?m FILTER(?m > 5) }"
    with subscribed(query) as subscription:
        assert subscription.stats.entries == 27
        text = str(subscription.explain())
    assert (
        "filter ?m > 5, where the last variable is bound: queries with other constants share the plan" in text
    )
    assert "before anything is cached" not in text
    assert "cached: neighbours in 2 patterns\n" in text
    assert str(rdflive.explain(PREFIX + query)) == text


def test_one_pattern_compared_with_a_constant_keeps_nothing() -> None:
    """A member that comes reads the graph; over windows, which may be ahead of what is told, it cannot."""
    with subscribed(LATE) as subscription:
        assert subscription.stats.entries == 0
        text = str(subscription.explain())
    assert "cached: nothing\n" in text
    assert "an update costs: a search for the queries of the plan whose constant fits" in text
    assert str(rdflive.explain(PREFIX + LATE)) == text
    with rdflive.subscribe(rdflive.Stream(), PREFIX + LATE, window=rdflive.Sliding(9)) as windowed:
        text = str(windowed.explain())
    assert "cached: the matches of p1\n" in text
    assert "an update costs: one entry, and a search for the queries of the plan whose constant fits" in text


def test_a_query_with_an_algorithm_of_a_class_keeps_what_passes() -> None:
    """It shares its plan with none: a comparison with a constant runs before anything is kept."""
    with subscribed(LATE, algorithm="connected") as subscription:
        assert subscription.stats.entries == 0
        text = str(subscription.explain())
    assert "filter ?m > 5, before anything is cached" in text
    assert "cached: nothing\n" in text
    assert str(rdflive.explain(PREFIX + LATE, algorithm="connected")) == text


def test_the_last_line_counts_what_has_happened() -> None:
    """Changes, matches and entries are those of `stats`; without a change there is no such line."""
    graph = rdflib.Graph()
    with rdflive.subscribe(graph, PREFIX + "SELECT ?m { ?t :line ?l ; :delay ?m }") as subscription:
        assert "counted" not in str(subscription.explain())
        for name in ("line", "delay", "colour"):
            graph.add((URIRef("u:t1"), URIRef(f"u:{name}"), Literal(7)))
        stats = subscription.stats
        assert (stats.updates, stats.matched) == (3, 2)
        line = str(subscription.explain()).splitlines()[-1]
    assert line == f"counted so far: changes 3, matches 2, entries kept {stats.entries}"


def test_pictures_mark_the_match_states_that_are_kept() -> None:
    """A star whose constants may differ is found by its neighbours, and has no state of its own."""
    query = PREFIX + "SELECT ?t { ?t a :C1 ; :line :L1 }"
    assert "variable state" not in rdflive.explain(query).svg()
    assert "variable state" in rdflive.explain(query, algorithm="star").svg()
