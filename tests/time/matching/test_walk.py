"""Small events, which are answered by walking through their triples."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib import BNode, Literal, Namespace, URIRef

from rdflive.api.matching import EventError, Matcher
from rdflive.matching import walk
from support.effort import examples
from support.matching import NODES, Triple, counted, events, pattern_queries, text_of

E = Namespace("http://e/")
P, Q, R = E.p, E.q, E.r
CHAIN = "PREFIX : <http://e/> SELECT * { ?a :p ?b . ?b :q ?c }"


def joined() -> Any:
    """Leave all events to views and joins."""
    return patch.multiple(walk, _LARGEST=-1, _FEW=-1)


def order_of(pattern: str) -> list[str]:
    """List the loops of the walk, patterns being named after their predicates."""
    matcher = Matcher(f"PREFIX : <http://e/> SELECT * {{ {pattern} }}")
    (automaton,) = matcher._automata
    return [f"{way} {automaton.patterns[i].predicate[-1:]}" for way, i in walk._steps(automaton)]


@settings(max_examples=examples(60), deadline=None, suppress_health_check=list(HealthCheck))
@given(pattern_queries(), st.lists(st.tuples(events(least=40, most=75, nodes=40), st.booleans()), max_size=4))
def test_larger_events_are_walked_and_joined_alike(query: Any, stream: list[Any]) -> None:
    """On both sides of the size to which events are walked, walks and joins find the same."""
    patterns, filters = query
    text = text_of(patterns[:2], filters)
    plain = Matcher(text)
    for event, is_padded in stream:
        noise = [(NODES[0], E.noise, Literal(n)) for n in range(70 * is_padded)]
        with joined():
            expected = counted(Matcher(text).match(event + noise))
        with patch.multiple(walk, _LARGEST=1000, _FEW=1000):
            assert counted(Matcher(text).match(event + noise)) == expected
        assert counted(plain.match(noise + event)) == expected


def test_small_events_make_no_views_and_no_joins() -> None:
    """Up to 64 triples, from the first event on."""
    matcher = Matcher(CHAIN)
    event = [(E.a, P, E.b), (E.b, Q, E.c), *((E.a, R, Literal(n)) for n in range(62))]
    assert [s.asdict() for s in matcher.match(event).solutions] == [{"a": E.a, "b": E.b, "c": E.c}]
    assert (matcher.stats.joins, matcher.stats.rows, matcher.stats.small) == (0, 0, 1)
    assert "1 walked" in matcher.explain()
    assert "nothing joined yet" in matcher.explain()
    assert len(matcher.match([*event, (E.a, R, E.a)])) == 1
    assert (matcher.stats.joins, matcher.stats.rows, matcher.stats.small) == (1, 2, 1)


def test_the_walk_finds_early_what_lacks() -> None:
    """It begins where it can go on from subject to object, and enters last what leads nowhere."""
    star = "?h :a ?x ; :b ?y ; :c ?z"
    assert order_of(star) == ["list a", "open a", "open b", "open c"]
    # what is compared with a constant is tested before other loops are entered
    assert order_of(star + " FILTER(?z > 5)") == ["list c", "open c", "open a", "open b"]
    assert order_of("?h :a ?x ; :c :yes ; :b ?y") == ["list c", "open c", "open a", "open b"]
    assert order_of("?h :a ?x ; :b ?y . ?y :c ?z") == ["list b", "open b", "open a", "open c"]
    assert order_of("?y :c ?z . ?h :b ?y") == ["list b", "open b", "open c"]
    assert order_of("?x :a ?z . ?y :b ?z") == ["list a", "open a", "turn b"]
    # parts without a common variable: each is listed before the loops that lead nowhere
    assert order_of("?x :a ?y . ?y :b ?x . ?p :c ?q") == ["list c", "list a", "open a", "open b", "open c"]


@pytest.mark.parametrize(
    "pattern", ["?a :p ?b . ?b :q ?c", "?a :p ?b . ?d :p ?b . ?b :q ?c", "?a ?p ?b . ?b ?q ?c"]
)
def test_a_triple_that_is_listed_twice_counts_once(pattern: str) -> None:
    """Wherever a loop comes by it, and whatever objects its terms are."""
    event = [(E.a, P, E.b), (E.x, P, E.y), (E.b, Q, E.d), (E.b, Q, E.e), (E.c, Q, Literal(5))]
    again = [tuple(type(term)(str(term)) for term in triple) for triple in event[:3]]
    query = f"PREFIX : <http://e/> SELECT * {{ {pattern} }}"
    assert counted(Matcher(query).match(event + again)) == counted(Matcher(query).match(event))
    assert len(Matcher(query).match(event)) == 2


def test_a_filter_of_one_pattern_is_tested_once_per_triple() -> None:
    """However often the loops come by the triple."""
    tested: list[str] = []

    def note(source: Any, condition: Any, *args: Any) -> str:
        text = walk_test(source, condition, *args)
        return f"({source.name(lambda: tested.append(condition.text))}() or {text})"

    walk_test = walk.write_test
    query = "SELECT * { ?h <http://e/p> ?x ; <http://e/q> ?y FILTER(?x > 1) FILTER regex(?y, '[ab]') }"
    event = [(E.h, P, Literal(n)) for n in range(5)] + [(E.h, Q, Literal(text)) for text in "abcd"]
    with patch.object(walk, "write_test", note):
        assert len(Matcher(query).match(event)) == 6
    assert len(tested) == 9


def test_all_subjects_of_an_object_are_found() -> None:
    """Also where a pattern is entered from its object."""
    event = [(E[f"{p[-1]}{n}"], p, E.o) for p in (P, Q) for n in range(3)]
    found = Matcher("PREFIX : <http://e/> SELECT * { ?x :p ?o . ?y :q ?o }").match(event)
    assert {(s.x, s.y) for s in found.solutions} == {
        (E[f"p{i}"], E[f"q{j}"]) for i in range(3) for j in range(3)
    }


@pytest.mark.parametrize(
    "bad",
    [
        [(Literal("a"), P, E.b), (E.b, Q, E.c)],
        [(E.a, P, "b"), ("b", Q, E.c)],
        [(E.a, P, E.b), (E.b, Q, "c")],
        [(E.a, P, E.b), (E.b, Q, E.c), (E.b, Q, "c")],
        [(E.a, BNode("http://e/p"), E.b), (E.b, Q, E.c)],
        [(E.a, Literal("http://e/r"), E.b), (E.b, Q, E.c)],
        [(E.a, P, E.b), (E.b, Q)],
    ],
)
def test_a_bad_event_is_refused(bad: Any) -> None:
    """However it is matched, and it spoils nothing for others."""
    good = [(E.a, P, E.b), (E.b, Q, Literal(3))]
    for padding in ([], [(E.a, R, E.b)] * 70):
        matcher = Matcher(CHAIN)
        for _ in range(2):
            with pytest.raises(EventError):
                matcher.match(bad + padding)
            assert len(matcher.match(good + padding)) == 1


def test_predicates_of_a_subclass_are_the_same() -> None:
    """Terms of a subclass of `URIRef` are accepted and matched, in small events and in large ones."""

    class Mine(URIRef):
        pass

    event: list[Triple] = [(E.a, Mine("http://e/p"), E.b), (E.b, Q, E.c)]
    assert [len(Matcher(CHAIN).match(event + [(E.a, R, E.b)] * n)) for n in (0, 70)] == [1, 1]


def test_queries_of_many_patterns_are_left_to_the_joins() -> None:
    """Python does not compile more than 20 loops in each other."""
    for count, small in ((15, 1), (16, 0), (30, 0)):
        patterns = " . ".join(f"?s <http://e/p{n}> ?o{n}" for n in range(count))
        matcher = Matcher(f"SELECT * {{ {patterns} }}")
        assert len(matcher.match([(E.a, E[f"p{n}"], Literal(n)) for n in range(count)])) == 1
        assert matcher.stats.small == small


@pytest.mark.parametrize("query", ["?h :p ?x . ?g :q ?y", "?h :p ?x ; :q ?y FILTER(?x < ?y)"])
def test_walks_that_list_pairs_are_for_few_triples(query: str) -> None:
    """Joins sort what is compared, and stop at an empty view."""
    matcher = Matcher(f"PREFIX : <http://e/> SELECT * {{ {query} }}")
    event = [(E.h, p, Literal(n)) for p in (P, Q) for n in range(10)]
    sizes = [len(matcher.match(event[6:14])), matcher.stats.small, len(matcher.match(event))]
    assert sizes == ([16, 1, 100] if "FILTER" not in query else [0, 1, 45])
    assert matcher.stats.small == 1
