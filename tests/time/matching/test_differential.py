"""Matches against SPARQL by the book, and against every assignment tried: events, windows, backgrounds."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib import Graph

from rdflive.api.matching import Matcher, match
from rdflive.errors import UnsupportedQueryError
from rdflive.matching import walk
from rdflive.time.windows import Tumbling
from support.effort import examples
from support.evaluate import answer
from support.matching import (
    Triple,
    brute,
    counted,
    events,
    from_oxigraph,
    matched_events,
    parsed,
    pattern_queries,
    text_of,
    to_oxigraph,
)
from support.queries import make_quad, make_query
from support.solutions import folded_row, row
from support.syntax import Query

WINDOW = Tumbling(10)

EXAMPLES = settings(
    max_examples=examples(60, share=10), deadline=None, suppress_health_check=list(HealthCheck)
)


@settings(EXAMPLES, max_examples=examples(120, share=12))
@given(st.data(), pattern_queries())
def test_patterns_equal_every_assignment_tried(data: st.DataObject, query: Any) -> None:
    """Walked or joined, in every form, a matcher finds for each event what trying every assignment finds."""
    text = text_of(*query)
    stream = data.draw(st.lists(events() | matched_events(query[0]), min_size=1, max_size=6))
    for most in (64, -1):
        with patch.multiple(walk, _LARGEST=most, _FEW=most):
            plain, copied, triples, tuples = (Matcher(text) for _ in range(4))
            for event in stream:
                expected = brute(*query, set(event))
                assert counted(plain.match(event)) == expected
                assert counted(copied.match(parsed(event))) == expected
                assert from_oxigraph(counted(triples.match(to_oxigraph(event)))) == expected
                assert from_oxigraph(counted(tuples.match(to_oxigraph(event, parts=False)))) == expected


@EXAMPLES
@given(pattern_queries(), events(), st.lists(events(most=6), min_size=1, max_size=4))
def test_a_background_joins_every_event(query: Any, static: list[Triple], stream: list[list[Triple]]) -> None:
    """The answer is that over the union; an event leaves nothing to the next."""
    background = Graph()
    for triple in static:
        background.add(triple)
    matcher = Matcher(text_of(*query), background=background)
    for event in stream:
        assert counted(matcher.match(event)) == brute(*query, set(event) | set(static))
    assert counted(matcher.match([])) == brute(*query, set(static))


@pytest.mark.parametrize("is_lazy", [True, False], ids=["lazy", "eager"])
@EXAMPLES
@given(
    query=pattern_queries(), stream=st.lists(events(most=5), min_size=1, max_size=8), static=events(most=3)
)
def test_updates_give_what_is_new(
    is_lazy: bool, query: Any, stream: list[list[Triple]], static: list[Triple]
) -> None:
    """Each update gives the union's answer less the one before; a window leaves nothing to the next."""
    background = Graph()
    for triple in static:
        background.add(triple)
    matcher = Matcher(text_of(*query), window=WINDOW, lazy=is_lazy, background=background)
    held = set(static)
    for at, update in enumerate(stream * 2):
        if at % 10 == 0:
            held = set(static)
        new = held | set(update)
        expected = brute(*query, new)
        expected.subtract(brute(*query, held))
        assert counted(matcher.match((update, at))) == +expected
        held = new
    matcher.match(([], 10 * at + 10))
    (machine,) = matcher._machines.values()
    sizes = [tuple(len(kept._kept[i].rows) for i in range(len(kept._kept))) for kept in machine._kept]
    fresh = Matcher(text_of(*query), window=WINDOW, background=background)
    fresh.match(([], 0))
    assert [tuple(s) for s in fresh._machines[next(iter(fresh._machines))].sizes] == sizes


@st.composite
def nested_queries(draw: st.DrawFn) -> Query:
    random: Random = draw(st.randoms(use_true_random=False))
    return make_query(random, graphs=False, depth=random.choice((1, 1, 2, 2)))


@st.composite
def plain_events(draw: st.DrawFn) -> list[Triple]:
    random: Random = draw(st.randoms(use_true_random=False))
    return [make_quad(random, graphs=False)[:3] for _ in range(random.choice((0, 3, 6, 10)))]


def by_the_book(query: Query, triples: set[Triple]) -> Counter[Any]:
    found = answer(query, [(*triple, None) for triple in triples])
    if isinstance(found, bool):
        return Counter([folded_row(row(()))] * found)
    return Counter(folded_row(row(solution.items())) for solution in found)


def folded(found: Any, *, removed: bool = False) -> Counter[Any]:
    solutions = found.removed if removed else found.solutions
    return Counter(folded_row(row(solution.asdict().items())) for solution in solutions)


def compiled(query: Query, **options: Any) -> Matcher | None:
    try:
        return Matcher(str(query), **options)
    except UnsupportedQueryError:
        return None


@settings(EXAMPLES, max_examples=examples(100, share=12))
@given(nested_queries(), st.lists(plain_events(), min_size=1, max_size=3), plain_events())
def test_all_operators_equal_sparql_by_the_book(
    query: Query, stream: list[list[Triple]], static: list[Triple]
) -> None:
    """OPTIONAL, MINUS, UNION, subqueries, paths, aggregates and slices are evaluated per event."""
    matcher = compiled(query)
    if matcher is None:
        return
    for event in [*stream, stream[0]]:
        assert folded(matcher.match(event)) == by_the_book(query, set(event))
    background = Graph()
    for triple in static:
        background.add(triple)
    over = compiled(query, background=background)
    assert over is not None
    for event in stream:
        assert folded(over.match(event)) == by_the_book(query, set(event) | set(static))


@settings(EXAMPLES, max_examples=examples(60, share=10))
@given(nested_queries(), st.lists(plain_events(), min_size=1, max_size=4))
def test_windows_of_all_operators_equal_sparql_by_the_book(query: Query, stream: list[list[Triple]]) -> None:
    """In a window what appears and what disappears add up to the answer over all updates."""
    matcher = compiled(query, window=WINDOW)
    if matcher is None:
        return
    for start in (0, 10):
        held: set[Triple] = set()
        state = by_the_book(query, held)
        for at, update in enumerate(stream, start):
            held |= set(update)
            found = matcher.match((update, at))
            state.update(folded(found))
            state.subtract(folded(found, removed=True))
            assert +state == by_the_book(query, held)
            assert not -state


@settings(EXAMPLES, max_examples=examples(5))
@given(pattern_queries(), st.lists(events(), min_size=1, max_size=20))
def test_workers_change_nothing(query: Any, stream: list[list[Triple]]) -> None:
    """Two processes give the matches of one, in order."""
    text = text_of(*query)
    alone = [(found.number, counted(found)) for found in match(text, stream)]
    assert [(found.number, counted(found)) for found in match(text, stream, workers=2)] == alone
    background = Graph()
    for triple in stream[0]:
        background.add(triple)
    over = [
        [counted(found) for found in match(text, stream, background=background, workers=n)] for n in (1, 2)
    ]
    assert over[0] == over[1]
