"""Events that are recognised: the same triples about other subjects, again and again."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib import BNode, Literal, Namespace, URIRef

from rdflive.api.matching import EventError, Matcher
from rdflive.matching import recurrence
from rdflive.matching.libraries import pyoxigraph
from rdflive.matching.recurrence import Recurrence
from support.effort import examples
from support.matching import (
    NODES,
    PREDICATES,
    VALUES,
    Triple,
    brute,
    counted,
    events,
    from_oxigraph,
    pattern_queries,
    text_of,
    to_oxigraph,
)

E = Namespace("http://e/")
P, Q = E.p, E.q
CHAIN = "PREFIX : <http://e/> SELECT * { ?a :p ?b . ?b :q ?c }"


def pair(n: int, *, link: bool = True) -> list[Triple]:
    """Make an event that the chain matches, if its triples are linked."""
    return [(E[f"a{n}"], P, E[f"b{n}"]), (E[f"b{n}" if link else f"x{n}"], Q, Literal(n))]


def warm(query: str, make: Callable[[int], list[Any]]) -> Matcher:
    """Make a matcher that recognises events of one kind."""
    matcher = Matcher(query)
    for n in range(10):
        matcher.match(make(n))
    assert matcher.stats.recognised == 2
    return matcher


@st.composite
def cases(draw: st.DrawFn) -> tuple[Any, list[list[Triple]]]:
    """A query, and events like one that it matches some with a triple twice or another link."""
    random: Random = draw(st.randoms(use_true_random=False))
    query = draw(pattern_queries())
    template = [triple for _ in range(random.choice((1, 1, 2))) for triple in _instance(random, query[0])]
    template += draw(events(most=2))
    random.shuffle(template)
    stream = []
    for _ in range(6):
        renamed = _renaming(random, template)
        event = [(renamed[s], p, renamed[o]) for s, p, o in template]
        if random.random() < 0.4:
            i, j = random.randrange(len(event)), random.randrange(len(event))
            s, p, _ = event[i]
            event[i] = event[j] if event[j][1] == p and random.random() < 0.7 else (s, p, event[j][2])
        stream.append(event)
    return query, stream


def _instance(random: Random, patterns: list[tuple[Any, ...]]) -> list[Triple]:
    """Give each variable a term of its role."""
    roles = {part: role for role in (2, 0, 1) for pattern in patterns for part in (pattern[role],)}
    choices = (NODES, PREDICATES, [*NODES, *VALUES])
    terms = {part: random.choice(choices[role]) if part[:1] == "?" else part for part, role in roles.items()}
    return [tuple(terms[part] for part in pattern) for pattern in patterns]


def _renaming(random: Random, template: list[Triple]) -> dict[Any, Any]:
    """Exchange resources among each other, and literals."""
    renamed = {}
    for is_literal in (False, True):
        terms = sorted({t for s, _, o in template for t in (s, o) if isinstance(t, Literal) is is_literal})
        renamed.update(zip(terms, random.sample(terms, len(terms)), strict=True))
    return renamed


@settings(max_examples=examples(150), deadline=None, suppress_health_check=list(HealthCheck))
@given(cases())
def test_events_alike_equal_every_assignment_tried(case: Any) -> None:
    """Recognised as soon as can be, in every form an event has the solutions that trying all finds."""
    query, stream = case
    text = text_of(*query)
    plain, native, tuples = Matcher(text), Matcher(text), Matcher(text)
    to_native = pyoxigraph(parts=False).to_native
    with patch.object(recurrence, "_SEEN", 0):
        for event in stream:
            expected = brute(*query, set(event))
            assert counted(plain.match(event)) == expected
            assert from_oxigraph(counted(native.match(to_oxigraph(event)))) == expected
            spelled = [tuple(map(to_native, triple)) for triple in event]
            assert from_oxigraph(counted(tuples.match(spelled))) == expected


def test_recognised_events_make_no_views_and_no_joins() -> None:
    """What was written for the events before answers them, whatever objects their terms are."""
    matcher = warm(CHAIN, pair)
    joins, rows = matcher.stats.joins, matcher.stats.rows
    event = [tuple(URIRef(str(term)) for term in triple) for triple in [(E.a, P, E.b), (E.b, Q, E.c)]]
    assert [s.asdict() for s in matcher.match(event).solutions] == [{"a": E.a, "b": E.b, "c": E.c}]
    assert (matcher.stats.joins, matcher.stats.rows, matcher.stats.recognised) == (joins, rows, 3)
    assert [s["c"] for s in matcher.match(pair(7)).solutions] == [Literal(7)]
    assert (matcher.stats.joins, matcher.stats.rows, matcher.stats.recognised) == (joins, rows, 4)
    assert "4 events recognised" in matcher.explain()


def test_events_with_other_links_have_code_of_their_own() -> None:
    """Two kinds of events with the same predicates are both recognised."""
    matcher = Matcher(CHAIN)
    found = [len(matcher.match(pair(n, link=n % 2 == 0))) for n in range(20)]
    assert found == [1, 0] * 10
    assert matcher.stats.recognised > 4


def test_a_triple_that_is_listed_twice_in_a_known_shape_counts_once() -> None:
    """With objects that are joined and with others, as the first time."""
    for event in (
        [(E.a, P, E.b), (E.a, P, E.c), (E.b, Q, E.d)],
        [(E.b, Q, E.c), (E.b, Q, E.d), (E.a, P, E.b)],
    ):
        matcher = warm(CHAIN, lambda _: event)  # noqa: B023 - called at once
        assert len(matcher.match([event[0], event[0], event[2]])) == 1


@pytest.mark.parametrize(
    "bad",
    [
        [(Literal("a"), P, E.b), (E.b, Q, E.c)],
        [(E.a, P, "b"), ("b", Q, E.c)],
        [(E.a, P, E.b), (E.b, Q, "c")],
        [(E.a, BNode("http://e/p"), E.b), (E.b, Q, E.c)],
        [(E.a, P, E.b), (E.b, Q)],
    ],
)
def test_a_bad_event_of_a_known_shape_is_refused(bad: Any) -> None:
    """However often it comes, and it spoils nothing for others."""
    matcher = warm(CHAIN, pair)
    fresh = Matcher(CHAIN)
    for _ in range(10):
        for one in (matcher, fresh):
            with pytest.raises(EventError):
                one.match(bad)
    assert len(matcher.match(pair(3))) == len(fresh.match(pair(3))) == 1


def test_a_predicate_with_a_line_break_is_taken_for_no_other() -> None:
    """The predicates of a shape are told apart, whatever characters they have."""
    one, other = URIRef("http://e/p\nhttp://e/q"), URIRef("http://e/q\nhttp://e/r")
    matcher = Matcher("SELECT * { ?s <http://e/p> ?o }")
    for n in range(10):
        assert len(matcher.match([(E[f"a{n}"], one, E.b), (E[f"a{n}"], E.r, E.c)])) == 0
        assert len(matcher.match([(E[f"a{n}"], P, E.b), (E[f"a{n}"], other, E.c)])) == 1


def test_an_event_with_many_solutions_is_left_to_the_joins() -> None:
    """No code lists the triples of each of hundreds of solutions."""
    matcher = Matcher("SELECT * { ?a <http://e/p> ?x . ?b <http://e/p> ?y }")
    event = [(E[f"a{n}"], P, E.b) for n in range(20)]
    assert [len(matcher.match(event)) for _ in range(10)] == [400] * 10
    assert matcher.stats.recognised == 0


def test_recurrence_keeps_a_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is full replaces its oldest, and not at every turn."""
    monkeypatch.setattr(recurrence, "_PATIENCE", 30)
    monkeypatch.setattr(recurrence, "_COUNTED", 50)
    kept: dict[int, str] = {}
    seen = Recurrence(kept, 3)
    replaced = 0
    for n in range(600):
        key = n % 6
        if key not in kept and seen.is_due(key):
            replaced += len(kept) == 3
            seen.keep(key, "code")
        assert len(kept) <= 3
        seen.is_due(1000 + n)
        assert len(seen._counts) <= 50
    assert 1 < replaced < 40
