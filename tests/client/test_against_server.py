"""The client and the server together, with a network between them that breaks anywhere."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import pytest
import rdflib
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from rdflib import RDFS, Literal, URIRef

import rdflive
from support.effort import examples
from support.event_server import PATIENCE, QUICK, Cable

pytest.importorskip("starlette", reason="needs the extra rdflive[server]")
pytest.importorskip("uvicorn", reason="needs the extra rdflive[server]")

from rdflive.client.server import Server
from rdflive.http import Address
from support.serving import Serving, serving
from support.waiting import until

pytestmark = pytest.mark.posix("the server forks")

P = URIRef("http://e/p")
NODES = [URIRef(f"http://e/{letter}") for letter in "abc"]
OBJECTS = [*NODES, Literal("é\n\u2028"), Literal("x", lang="en")]
Triples = frozenset[tuple[Any, Any, Any]]
Rows = Counter[tuple[Any, ...]]


def edges(triples: Triples) -> Rows:
    return Counter((s, o) for s, _, o in triples)


def ends(triples: Triples) -> Rows:
    return Counter((o,) for _, _, o in triples)


def ways(triples: Triples) -> Rows:
    return Counter((a, c) for (a, _, b), (d, _, c) in product(triples, triples) if b == d)


def truth(triples: Triples) -> Rows:
    return Counter([()] if any(s == o for s, _, o in triples) else [])


def turned(triples: Triples) -> Rows:
    return Counter((o, P, s) for s, _, o in triples if isinstance(o, URIRef))


QUERIES: dict[str, Callable[[Triples], Rows]] = {
    "SELECT ?s ?o { ?s <http://e/p> ?o }": edges,
    "SELECT ?o { ?s <http://e/p> ?o }": ends,
    "SELECT ?a ?c { ?a <http://e/p> ?b . ?b <http://e/p> ?c }": ways,
    "ASK { ?s <http://e/p> ?s }": truth,
    "CONSTRUCT { ?o <http://e/p> ?s } WHERE { ?s <http://e/p> ?o FILTER(isIRI(?o)) }": turned,
}


def row(solution: Any) -> tuple[Any, ...]:
    return tuple(solution)


@dataclass
class Follower:
    """Adds up what a callback is told, and keeps every answer that this led to."""

    answers: list[Rows] = field(default_factory=list)
    sequences: list[int] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def __call__(self, delta: rdflive.Delta) -> None:
        with self.changed:
            answer = Counter() if delta.initial else self.answers[-1].copy()
            answer.update(map(row, delta.added))
            answer.subtract(map(row, delta.removed))
            self.answers.append(+answer)
            self.sequences.append(delta.sequence)
            self.changed.notify_all()

    def reach(self, answer: Rows) -> None:
        """Wait until the answer is this one."""
        with self.changed:
            assert self.changed.wait_for(lambda: self.answers[-1] == answer, PATIENCE), (self.answers, answer)


class Network:
    """A dataset, a server of it that can be restarted, and a cable to it."""

    def __init__(self) -> None:
        self.dataset = rdflib.Dataset()
        self.triples: Triples = frozenset()
        self.history: list[Triples] = [self.triples]
        self._running = ExitStack()
        self.server: Serving = self._running.enter_context(serving(self.dataset))
        self.cable = Cable(self.server.port)

    def write(self, add: Triples, remove: Triples) -> None:
        """Make a commit."""
        with rdflive.batch(self.dataset):
            for triple in remove:
                self.dataset.remove((*triple, None))
            for triple in add:
                self.dataset.add(triple)
        self.triples = (self.triples - remove) | add
        self.history.append(self.triples)

    def stop(self) -> None:
        """Stop the server; the dataset stays, and may change."""
        self._running.close()

    def start(self) -> None:
        """Start a new server, on another port."""
        self.server = self._running.enter_context(serving(self.dataset))
        self.cable.target = self.server.port

    def client(self) -> Server:
        """Make a client behind the cable."""
        address = Address.parse(f"http://127.0.0.1:{self.cable.port}", None)
        return Server(address, timeout=PATIENCE, pace=QUICK)


@contextmanager
def network() -> Iterator[Network]:
    made = Network()
    try:
        yield made
    finally:
        made.cable.close()
        made.stop()


TRIPLES = st.frozensets(
    st.builds(lambda s, o: (s, P, o), st.sampled_from(NODES), st.sampled_from(OBJECTS)), max_size=3
)
STEPS = st.one_of(
    st.tuples(st.just("write"), TRIPLES, TRIPLES),
    st.tuples(st.just("write"), TRIPLES, TRIPLES),
    st.tuples(st.just("cut")),
    st.tuples(st.just("cut after"), st.integers(0, 1500)),
    st.tuples(st.just("restart"), TRIPLES),
)


def take(step: tuple[Any, ...], net: Network) -> None:
    match step:
        case ("write", add, remove):
            net.write(add, remove)
        case ("cut",):
            net.cable.cut()
        case ("cut after", count):
            net.cable.cut_after.append(count)
            net.cable.cut()
        case ("restart", add):
            net.stop()
            net.write(add, frozenset())
            net.start()


def check_order(told: list[Rows], states: list[Rows]) -> None:
    """Each answer that was told is one that there was, in the order of the commits."""
    place = 0
    for answer in told:
        assert answer in states[place:], (answer, states)
        place = states.index(answer, place)


@given(query=st.sampled_from(list(QUERIES)), begin=TRIPLES, steps=st.lists(STEPS, max_size=12))
@settings(
    max_examples=examples(15),
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.reuse, Phase.generate],  # a run that fails waits long, so there is no shrinking
)
def test_deltas_add_up_whatever_breaks(query: str, begin: Triples, steps: list[tuple[Any, ...]]) -> None:
    """With cuts anywhere and restarts of the server, no solution is lost or reported twice."""
    evaluate = QUERIES[query]
    with network() as net:
        net.write(begin, frozenset())
        net.history = [net.triples]
        told = Follower()
        with net.client().subscribe(query, told) as subscription:
            slow = subscription.deltas(PATIENCE)
            for step in steps:
                take(step, net)
            told.reach(evaluate(net.triples))
            check_order(told.answers, [evaluate(triples) for triples in net.history])
            assert told.sequences == sorted(set(told.sequences))
            assert Counter(map(row, subscription.answers())) == evaluate(net.triples)
            merged = next(slow)
            assert merged.initial
            while Counter(map(row, merged.added)) != evaluate(net.triples):
                merged += next(slow)
            assert merged.removed == ()
            net.write(frozenset(), net.triples)
            told.reach(Counter())
            assert subscription.answers() == []
            assert subscription.last_error is None


def test_what_is_implied_is_followed() -> None:
    """With `entailment` the schema counts, as in process."""
    with (
        network() as net,
        net.client().subscribe("SELECT ?x { ?x a <urn:Train> }", told := Follower(), entailment="rdfs"),
    ):
        express = URIRef("urn:Express")
        net.dataset.add((URIRef("urn:IC5"), rdflib.RDF.type, express))
        net.dataset.add((express, RDFS.subClassOf, URIRef("urn:Train")))
        told.reach(Counter([(URIRef("urn:IC5"),)]))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT ?s ?o { ?s <http://e/p> ?o } ORDER BY ?o DESC(?s)",
        "SELECT ?o { ?s <http://e/p> ?o } ORDER BY DESC(STRLEN(STR(?o)))",
        "SELECT ?o (COUNT(*) AS ?n) { ?s <http://e/p> ?o } GROUP BY ?o ORDER BY DESC(?n) LIMIT 3",
        "PREFIX e: <http://e/> SELECT ?s ?x { ?s e:p ?o OPTIONAL { ?o e:p ?x } } ORDER BY ?x ?s",
        "SELECT (STR(?o) AS ?t) ?s ?o { ?s ex:p ?o } ORDER BY ?t",
    ],
)
def test_answers_are_in_order(query: str) -> None:
    """ORDER BY sorts the current answer, also after changes, as in process."""
    prefixes = {"ex": "http://e/"}
    with network() as net, ExitStack() as stack:
        net.write(frozenset((s, P, o) for s, o in product(NODES[:2], OBJECTS)), frozenset())
        remote = stack.enter_context(net.client().subscribe(query, told := Follower(), initNs=prefixes))
        local = stack.enter_context(rdflive.subscribe(net.dataset, query, initNs=prefixes))
        net.write(frozenset((NODES[2], P, o) for o in (*OBJECTS[1:4], Literal(7))), frozenset())
        net.write(frozenset(), frozenset({(NODES[0], P, OBJECTS[2])}))
        told.reach(Counter(map(row, local.answers())))
        assert remote.answers() == local.answers()
        # nothing here can sort by what the server does not send; the solutions are all there
        hidden = net.client().subscribe("SELECT ?s { ?s <http://e/p> ?o } ORDER BY ?o")
        shown = stack.enter_context(hidden).answers()
        assert Counter(map(row, shown)) == Counter((s,) for s, _, _ in net.triples)


def test_a_closed_subscription_leaves_the_server() -> None:
    """The server sees that its client has gone."""
    with network() as net:
        subscription = net.client().subscribe("ASK {}")
        topics = net.server.service.topics
        assert [len(topic.followers) for topic in topics] == [1]
        subscription.close()
        until(lambda: not any(topic.followers for topic in topics))
