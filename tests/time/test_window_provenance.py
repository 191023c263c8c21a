"""Solutions over windows that know where they came from."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from random import Random
from typing import Any

import pytest
import rdflib
from rdflib import RDF, RDFS

import rdflive
from support.effort import drawn_from, rounds

EX = rdflib.Namespace("http://example.org/")
TRANSITIVE = f"@prefix : <{EX}> . {{ ?x :in ?y . ?y :in ?z }} => {{ ?x :in ?z }} . "
RULES = TRANSITIVE + "{ ?x :near ?y } => { ?y :near ?x } ."
QUERY = f"SELECT ?x ?y {{ ?x <{EX['in']}> ?y }}"
EXPLICIT = rdflive.Origin(inferred=False)
WAYS = ("labels", "keep-all", "dred", "recompute")
WINDOWS = (
    rdflive.Sliding(4),
    rdflive.Sliding(4, 2),
    rdflive.Tumbling(3),
    rdflive.Count(4),
    rdflive.Landmark(2, step=3),
)


def inferred(*rules: str) -> rdflive.Origin:
    return rdflive.Origin(inferred=True, rules=rules)


@pytest.mark.parametrize("expiry", ["labels", "keep-all"])
def test_rdfs_over_a_window_names_its_rules(expiry: Any) -> None:
    """The schema beside the stream and a triple in the window give a solution by the rules of RDFS."""
    schema, told = rdflib.Graph(), []
    schema.add((EX.Dog, RDFS.subClassOf, EX.Animal))
    stream = rdflive.Stream(schema)
    text = f"SELECT ?x {{ ?x a <{EX.Animal}> }}"
    options: Any = {"entailment": "rdfs", "expiry": expiry, "provenance": True}
    with rdflive.subscribe(stream, text, told.append, window=rdflive.Sliding(5), **options) as subscription:
        stream.add((EX.rex, RDF.type, EX.Dog), at=1)
        stream.add((EX.tom, RDF.type, EX.Animal), at=2)
        assert [s.origin for delta in told for s in delta.added] == [inferred("rdfs9"), EXPLICIT]
        whole = next(subscription.deltas())
        assert {s.x: s.origin for s in whole.added} == {EX.rex: inferred("rdfs9"), EX.tom: EXPLICIT}
        assert whole.time == 2


def test_what_only_a_longer_window_holds_is_not_explicit() -> None:
    """Windows share what a stream holds: what has left a short one and still follows there is inferred."""
    stream, told = rdflive.Stream(), []
    options: Any = {"rules": RULES, "initial": False}
    long = rdflive.subscribe(stream, QUERY, window=rdflive.Landmark(), **options)
    with rdflive.subscribe(stream, QUERY, told.append, window=rdflive.Sliding(5), provenance=True, **options):
        stream.add((EX.a, EX["in"], EX.c), at=1)
        stream.advance_to(9)
        stream.add((EX.a, EX["in"], EX.b), at=10)
        stream.add((EX.b, EX["in"], EX.c), at=11)
    assert {(s.x, s.y): s.origin.inferred for s in told[-1].added} == {
        (EX.b, EX.c): False,
        (EX.a, EX.c): True,
    }
    long.close()


def test_a_text_and_other_outputs_are_traced() -> None:
    """What came is told with its origin, and so is each whole answer; what only goes is not lost count of."""
    for form in ("ISTREAM", "RSTREAM", "DSTREAM"):
        stream, told = rdflive.Stream(), []
        text = (
            f"REGISTER {form} <urn:q> AS SELECT ?x ?y FROM NAMED WINDOW <urn:w> ON <urn:s> "
            f"[RANGE PT4S STEP PT1S] WHERE {{ WINDOW <urn:w> {{ ?x <{EX.near}> ?y }} }}"
        )
        subscription = rdflive.register(
            text, told.append, streams={"urn:s": stream}, rules=RULES, provenance=True
        )
        for at in (1, 2, 20, 21, 40):
            stream.add((EX.a, EX.near, EX.b), at=at)
        stream.advance_to(60)
        found = {(s.x, s.origin.inferred) for delta in told for s in (*delta.added, *delta.removed)}
        assert found == {(EX.a, False), (EX.b, True)}, form
        subscription.close()


def fail(_: Any, error: Exception) -> None:
    raise error


def _play(random: Random, window: Any, beside: bool) -> Iterator[None]:
    """Follow one window in all ways that entailed triples are kept, and compare each origin with the book."""
    graph = rdflib.Graph()
    stream = rdflive.Stream(graph) if beside else rdflive.Stream(lateness=random.choice((None, 3)))
    explicit: set[Any] = set()
    present: dict[Any, rdflive.Origin] = {}

    def take(delta: Any) -> None:
        explicit.difference_update((s.x, s.y) for s in delta.removed)
        explicit.update((s.x, s.y) for s in delta.added)

    def compare(way: str, delta: Any) -> None:
        for s in delta.removed:
            assert present.pop((way, s.x, s.y)) == s.origin, way
        for s in delta.added:
            assert s.origin.inferred == ((s.x, s.y) not in explicit), (way, s)
            assert bool(s.origin.rules) == s.origin.inferred
            present[way, s.x, s.y] = s.origin

    # told first, because it is opened first
    held = rdflive.subscribe(stream, QUERY, take, window=window, on_error=fail)
    options: Any = {"window": window, "rules": RULES, "provenance": True, "on_error": fail}
    opened = [rdflive.subscribe(stream, QUERY, partial(compare, way), expiry=way, **options) for way in WAYS]
    nodes, at = [EX[name] for name in "abcd"], 3

    def check() -> None:
        answers = {(s.x, s.y) for s in opened[0].answers()}
        assert {key[1:] for key in present} == answers
        assert len(present) == len(answers) * len(WAYS)

    check()
    for _ in range(25):
        at += random.choice((0, 0, 1, 1, 2))
        triple = random.choice(nodes), EX["in"], random.choice(nodes)
        kind = random.choice(("add", "add", "add", "remove", "write", "advance"))
        if kind == "advance":
            at += 1
            stream.advance_to(at)
            at += 1
        elif kind == "write" and beside and window in (WINDOWS[0], WINDOWS[3]):
            (graph.add if random.random() < 0.6 else graph.remove)(triple)
        elif kind == "remove":
            stream.remove(triple, at=at)
        else:
            stream.add(triple, at=at)
        check()
        yield
    graph.remove((None, None, None))
    stream.advance_to(at + 100)
    for subscription in (held, *opened):
        subscription.close()


@pytest.mark.parametrize("window", WINDOWS, ids=repr)
def test_origins_follow_the_book(window: Any) -> None:
    """Whichever way entailed triples are kept, a solution is inferred when the window itself lacks it."""
    for number in range(rounds(4)):
        for _ in _play(drawn_from(repr(window), number), window, number % 2 == 0):
            pass
