"""What a commit is, and who sees it, where the graph entails: batches, threads, failures, restarts."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import rdflib
from rdflib import RDF, RDFS, URIRef

import rdflive
from entail.differential import Followed, Judge, Quads
from support.effort import drawn_from
from support.entailment import Triple, make_commits, saturated, world
from support.solutions import row_of

EX = "urn:example:"
STRATEGIES = ("saturate", "reformulate", "auto")
AGENTS = f"SELECT ?x {{ ?x a <{EX}Agent> }}"


def iri(name: str) -> URIRef:
    return URIRef(EX + name)


KNOWS_ARE_AGENTS: Triple = (iri("knows"), RDFS.domain, iri("Agent"))
PEOPLE_ARE_AGENTS: Triple = (iri("Person"), RDFS.subClassOf, iri("Agent"))
ANNE: Triple = (iri("anne"), RDF.type, iri("Person"))
ANNE_KNOWS: Triple = (iri("anne"), iri("knows"), iri("bob"))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_one_reason_for_another_reaches_nobody(strategy: str) -> None:
    """Data for data, schema for schema, and data and schema at once: what stays entailed is no change."""
    store = Quads("graph")
    for triple in (KNOWS_ARE_AGENTS, PEOPLE_ARE_AGENTS, ANNE):
        store.write((1, (*triple, None)))
    follower = Followed(store, AGENTS, entailment="rdfs", strategy=strategy)
    swaps: list[tuple[list[Triple], list[Triple]]] = [
        ([ANNE], [ANNE_KNOWS]),
        ([KNOWS_ARE_AGENTS], [ANNE]),
        ([PEOPLE_ARE_AGENTS, ANNE], [(iri("anne"), RDF.type, iri("Agent"))]),
        ([(iri("anne"), RDF.type, iri("Agent"))], [PEOPLE_ARE_AGENTS, ANNE]),
        ([PEOPLE_ARE_AGENTS], [(iri("Person"), RDFS.subClassOf, iri("Being")), PEOPLE_ARE_AGENTS]),
    ]
    for gone, come in swaps:
        follower.begin()
        store.commit([*((-1, (*t, None)) for t in gone), *((1, (*t, None)) for t in come)])
        assert follower.deltas == 0
        assert len(follower.weights) == 1
    store.write((-1, (*ANNE, None)))
    assert (follower.deltas, follower.state) == (1, Counter())  # whom she knows says nothing any more


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_class_that_the_schema_first_names_keeps_its_members(strategy: str) -> None:
    """Only what follows is told, and goes again when the schema names the class no more."""
    store = Quads("graph")
    for triple in (ANNE, (RDF.type, RDFS.domain, iri("Thing"))):  # by which members of any class are things
        store.write((1, (*triple, None)))
    follower = Followed(store, "SELECT * { ?x a ?c }", entailment="rdfs", strategy=strategy)
    agents_are_people = iri("Agent"), RDFS.subClassOf, iri("Person")
    for schema, follows in ((PEOPLE_ARE_AGENTS, 1), (agents_are_people, 0)):
        for sign in (1, -1):
            follower.begin()
            store.write((sign, (*schema, None)))
            assert [*follower.delta.values()] == [sign] * follows
    store.write((1, (*agents_are_people, None)))
    follower.begin()
    store.write((-1, (*ANNE, None)))
    assert (follower.deltas, follower.state) == (1, Counter())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_class_that_comes_back_to_the_schema_has_its_members(strategy: str) -> None:
    """Members that came while the schema did not name a class are found when it does again."""
    store = Quads("graph")
    store.write((1, (*PEOPLE_ARE_AGENTS, None)))
    follower = Followed(store, "SELECT * { ?x a ?c }", entailment="rdfs", strategy=strategy)
    store.write((-1, (*PEOPLE_ARE_AGENTS, None)))
    store.write((1, (*ANNE, None)))
    follower.begin()
    store.write((1, (*PEOPLE_ARE_AGENTS, None)))
    assert len(follower.delta) == 1
    assert len(follower.weights) == 2


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_first_triple_comes_with_its_schema(strategy: str) -> None:
    """A property that was asked for before there was any of it entails by a domain of the same commit."""
    store = Quads("graph")
    texts = "SELECT * { ?x a ?c }", f"SELECT * {{ ?x <{EX}knows> ?y }}"
    followers = [Followed(store, text, entailment="rdfs", strategy=strategy) for text in texts]
    for sign in (1, -1):
        store.commit([(sign, (*triple, None)) for triple in (KNOWS_ARE_AGENTS, ANNE_KNOWS)])
        assert [len(+follower.weights) for follower in followers] == [sign > 0] * 2


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_schema_that_was_data_goes(strategy: str) -> None:
    """What a property of the schema gave to one above it goes with the triple that says so."""
    store = Quads("graph")
    below: Triple = (RDFS.subClassOf, RDFS.subPropertyOf, iri("relates"))
    for triple in (PEOPLE_ARE_AGENTS, below):
        store.write((1, (*triple, None)))
    text = f"SELECT * {{ ?x <{EX}relates> ?y }}"
    follower = Followed(store, text, entailment="rdfs", strategy=strategy)
    assert len(+follower.weights) == 1
    store.write((-1, (*below, None)))
    assert follower.state == Counter()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_subscribing_in_an_open_batch(strategy: str) -> None:
    """The first delta has what is entailed at that moment, the next what the rest of the batch changed."""
    graph = rdflib.Graph()
    first: list[rdflive.Delta] = []
    second: list[rdflive.Delta] = []
    options: Any = {"entailment": "rdfs", "strategy": strategy}
    with rdflive.subscribe(graph, AGENTS, first.append, **options):
        with rdflive.batch(graph):
            graph.add(ANNE)
            graph.add(PEOPLE_ARE_AGENTS)
            late = rdflive.subscribe(graph, AGENTS, second.append, **options)
            graph.add((iri("bob"), RDF.type, iri("Person")))
            graph.remove(ANNE)
        with late:
            for deltas in (first, second):
                net = sum((Counter(delta.weights()) for delta in deltas), Counter())
                assert Counter(s.x for s in net.elements()) == {iri("bob"): 1}
                assert all(sum(d.weights().values()) >= 0 for d in deltas[:1])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_threads_write_data_and_schema(strategy: Any) -> None:
    """Whatever the order in which threads write, the deltas add up to what is entailed in the end."""
    graph, words = rdflib.Graph(), world()
    net: Counter[Any] = Counter()
    failures: list[Exception] = []

    def take(delta: rdflive.Delta) -> None:
        for solution, weight in delta.weights().items():
            net[row_of(solution)] += weight

    def work(seed: int) -> None:
        try:
            for writes in make_commits(drawn_from("threads", strategy, seed), words, 40):
                with rdflive.batch(graph):
                    for sign, triple in writes:
                        (graph.add if sign > 0 else graph.remove)(triple)
        except Exception as error:  # noqa: BLE001 - told to the test
            failures.append(error)

    text = "SELECT ?s ?p ?o { ?s ?p ?o }"
    with rdflive.subscribe(graph, text, take, entailment="rdfs", strategy=strategy) as subscription:
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        assert {(s.s, s.p, s.o) for s in subscription.answers()} == saturated(graph)
        assert +net == Counter(row_of(solution) for solution in subscription.answers())


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_resume_tells_what_a_new_schema_entails(strategy: Any, tmp_path: Path) -> None:
    """Who was away while the schema changed is told the difference of the answers, and that only."""
    graph = rdflib.Graph()
    for triple in (ANNE, PEOPLE_ARE_AGENTS):
        graph.add(triple)
    options: Any = {"entailment": "rdfs", "strategy": strategy, "resume": tmp_path / "it", "name": "me"}
    deltas: list[rdflive.Delta] = []
    rdflive.subscribe(graph, AGENTS, deltas.append, **options).close()
    graph.remove(PEOPLE_ARE_AGENTS)
    graph.add(KNOWS_ARE_AGENTS)
    graph.add((iri("carl"), iri("knows"), iri("anne")))
    with rdflive.subscribe(graph, AGENTS, deltas.append, **options):
        assert [s.x for s in deltas[-1].added] == [iri("carl")]
        assert [s.x for s in deltas[-1].removed] == [iri("anne")]
    assert len(deltas) == 2


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("text", ["SELECT * { ?s ?p ?o }", "SELECT * { ?s <urn:example:isA> ?o }"])
def test_what_a_word_of_the_schema_leads_to_is_there_at_the_beginning(strategy: str, text: str) -> None:
    """`rdfs:range` below `rdf:type`: then each range says what its property is an instance of."""
    names = [RDFS.range, iri("r"), iri("p"), iri("isA"), RDF.type]
    triples = [(one, RDFS.subPropertyOf, other) for one, other in itertools.pairwise(names)]
    quads = {(*triple, None) for triple in (*triples, (iri("isA"), RDFS.range, iri("B")))}
    store = Quads("graph")
    store.commit([(1, quad) for quad in quads])
    Followed(store, text, entailment="rdfs", strategy=strategy).check(Judge(quads, union=False).ask(text))


def test_a_graph_that_is_cleared_entails_nothing() -> None:
    """One wildcard remove takes data and schema; everything comes back with them."""
    store = Quads("graph")
    random, words = drawn_from("cleared"), world()
    quads = {(*t, None) for writes in make_commits(random, words, 30) for sign, t in writes if sign > 0}
    store.commit([(1, quad) for quad in quads])
    text = "SELECT * { ?s ?p ?o }"
    followers = [Followed(store, text, entailment="rdfs", strategy=s) for s in STRATEGIES]
    for _ in range(2):
        full = Judge(quads, union=False).ask(text)
        for follower in followers:
            follower.check(full)
            follower.begin()
        store.graph.remove((None, None, None))
        for follower in followers:
            follower.check(Counter())
            follower.begin()
        store.commit([(1, quad) for quad in quads])
