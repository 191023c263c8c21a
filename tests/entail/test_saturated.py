"""The live graph of what a graph entails."""

from __future__ import annotations

import gc
import weakref
from itertools import pairwise
from typing import Any

import pytest
import rdflib
from rdflib import RDF, RDFS, BNode, Literal, URIRef

import rdflive
from support.effort import drawn_from
from support.entailment import make_commits, paths, saturated, supports, world
from support.garbage import only_new_garbage

EX = rdflib.Namespace("http://example.org/")


def family() -> rdflib.Graph:
    graph = rdflib.Graph()
    graph.bind("ex", EX)
    for triple in (
        (EX.Dog, RDFS.subClassOf, EX.Mammal),
        (EX.Mammal, RDFS.subClassOf, EX.Animal),
        (EX.feeds, RDFS.range, EX.Animal),
        (EX.walks, RDFS.subPropertyOf, EX.feeds),
        (EX.rex, RDF.type, EX.Dog),
        (EX.ann, EX.walks, EX.rex),
    ):
        graph.add(triple)
    return graph


def test_saturated_graph_can_be_queried() -> None:
    """rdflib's own engine evaluates queries on what is entailed, with the graph's prefixes."""
    with rdflive.saturate(family()) as entailed:
        rows = entailed.query("SELECT ?x { ?x a ex:Animal . ?y ex:feeds ?x }")
        assert [row.x for row in rows] == [EX.rex]
        assert len(entailed) == len(set(entailed)) == 6 + 5


def test_saturated_graph_tells_why() -> None:
    """A proof leads from explicit triples to the triple, a shortest one for each that entails it."""
    with rdflive.saturate(family()) as entailed:
        by_walks, by_type = sorted(entailed.why((EX.rex, RDF.type, EX.Animal)), key=lambda p: p.rules)
        assert by_walks.rules == ("rdfs7", "rdfs3")
        assert by_walks.explicit[1] == (EX.ann, EX.walks, EX.rex)
        assert by_type.rules == ("rdfs9",)
        assert (EX.Mammal, RDFS.subClassOf, EX.Animal) in by_type.explicit
        assert entailed.why((EX.rex, RDF.type, EX.Dog)) == [rdflive.Proof((EX.rex, RDF.type, EX.Dog))]
        assert entailed.why((EX.rex, RDF.type, EX.Cat)) == []


def test_a_proof_does_not_go_in_a_circle() -> None:
    """Where a class is its own member, a step may conclude what the proof starts from."""
    graph = rdflib.Graph()
    graph.parse(
        data="""@prefix rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> .
            @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix : <urn:> .
            rdf:type rdfs:range :A . :A a :A, :B ; rdfs:subClassOf :B . :B a :C . :B rdfs:subClassOf :D ."""
    )
    with rdflive.saturate(graph) as entailed:
        for triple in set(entailed):
            for proof in entailed.why(triple):
                assert triple in saturated(proof.explicit)


def test_every_proof_holds() -> None:
    """What a proof starts from entails what it concludes, and is in the graph."""
    graph = rdflib.Graph()
    with rdflive.saturate(graph) as entailed:
        for number, writes in enumerate(make_commits(drawn_from("proofs"), world(), 400)):
            if number >= 40 and len(entailed) > len(graph):
                break
            for sign, triple in writes:
                (graph.add if sign > 0 else graph.remove)(triple)
        proved = 0
        for triple in set(entailed):
            for proof in entailed.why(triple):
                assert set(proof.explicit) <= set(graph)
                assert triple in saturated(proof.explicit)
                assert (proof.steps[-1].conclusion if proof.steps else proof.triple) == triple
                proved += 1
        assert proved >= len(entailed) > len(graph)


@pytest.mark.parametrize("seed", range(3))
def test_supports_are_those_of_the_definition(seed: int) -> None:
    """After every commit each triple has as many supports as templates of explicit triples give it."""
    graph = rdflib.Graph()
    present: set[Any] = set()
    with rdflive.saturate(graph) as entailed:
        for writes in make_commits(drawn_from("supports", seed), world(), 60, meta=False):
            for sign, triple in writes:
                (graph.add if sign > 0 else graph.remove)(triple)
                (present.add if sign > 0 else present.discard)(triple)
            wanted = {t: n for t, n in supports(present).items() if t[1] not in RDFS}
            assert {t: entailed.support(t) for t in wanted} == wanted
            assert set(entailed) == saturated(present)


@pytest.mark.parametrize("seed", range(3))
def test_paths_are_those_of_the_definition(seed: int) -> None:
    """On a schema without cycles each triple is counted once for each of its derivations."""
    graph = rdflib.Graph()
    present: set[Any] = set()
    with rdflive.saturate(graph, counts="paths") as entailed:
        for writes in make_commits(drawn_from("paths", seed), world(), 60, cyclic=False, meta=False):
            for sign, triple in writes:
                (graph.add if sign > 0 else graph.remove)(triple)
                (present.add if sign > 0 else present.discard)(triple)
            wanted = {t: n for t, n in paths(present).items() if t[1] not in RDFS}
            assert {t: entailed.support(t) for t in wanted} == wanted


def test_paths_refuse_a_cycle_by_name() -> None:
    """A schema with a cycle is refused at the beginning; one that gets one says so when it is asked."""
    graph = family()
    graph.add((EX.Animal, RDFS.subClassOf, EX.Dog))
    with pytest.raises(
        rdflive.SchemaError, match=r"this one has \S+ -> \S+ -> \S+ -> \S+: use counts='support'"
    ):
        rdflive.saturate(graph, counts="paths")
    graph.remove((EX.Animal, RDFS.subClassOf, EX.Dog))
    triple = (EX.rex, RDF.type, EX.Animal)
    with rdflive.saturate(graph, counts="paths") as entailed:
        assert entailed.support(triple) == 2
        graph.add((EX.Animal, RDFS.subClassOf, EX.Dog))
        assert triple in entailed
        with pytest.raises(rdflive.SchemaError, match="without cycles"):
            entailed.support(triple)
        graph.remove((EX.Animal, RDFS.subClassOf, EX.Dog))
        assert entailed.support(triple) == 2


def test_saturated_graph_is_read_only() -> None:
    """Writing to it is an error that says where to write, and so is subscribing to it."""
    with rdflive.saturate(family()) as entailed:
        for write in (entailed.add, entailed.remove):
            with pytest.raises(TypeError, match="read-only: write to the graph that it was made of"):
                write((EX.rex, RDF.type, EX.Cat))
        with pytest.raises(rdflive.UnsupportedStoreError, match="subscribe to the graph that it was made of"):
            rdflive.subscribe(entailed, "ASK { ?s ?p ?o }")


def test_saturated_graph_of_a_live_store_speaks_rdflib() -> None:
    """Terms of Oxigraph come out as rdflib's; a quoted triple, which rdflib cannot hold, is left out."""
    ox = pytest.importorskip("pyoxigraph", reason="needs rdflive[oxigraph]")
    store, named = rdflive.LiveStore(), ox.NamedNode
    quoted = ox.Triple(*map(named, (EX.a, EX.b, EX.c)))
    with rdflive.saturate(store) as entailed:
        store.add(ox.Quad(named(EX.Dog), named(RDFS.subClassOf), named(EX.Mammal)))
        store.add(ox.Quad(named(EX.rex), named(RDF.type), named(EX.Dog)))
        store.add(ox.Quad(named(EX.ann), named(EX.says), quoted))
        assert len(set(entailed)) == 3
        assert (EX.rex, RDF.type, EX.Mammal) in entailed
        assert (Literal("x"), RDF.type, EX.Dog) not in entailed
        assert not entailed.is_explicit((EX.rex, RDF.type, EX.Mammal))
        assert entailed.why((EX.rex, RDF.type, EX.Mammal))[0].explicit[1] == (EX.rex, RDF.type, EX.Dog)


def test_saturated_graph_takes_whole_triples() -> None:
    """Supports and proofs are those of one triple."""
    with rdflive.saturate(family()) as entailed:
        for ask in (entailed.is_explicit, entailed.support, entailed.why):
            with pytest.raises(ValueError, match="expected a triple of three terms"):
                ask((EX.rex, None, EX.Dog))


def test_reading_a_saturated_graph_leaves_nothing() -> None:
    """What is looked for and not there is not remembered."""
    graph = family()
    with rdflive.saturate(graph) as entailed:
        dictionary = entailed._view.state.dictionary
        before = len(dictionary)
        for i in range(50):
            triple = (URIRef(f"{EX}{i}"), RDF.type, EX.Animal)
            assert triple not in entailed
            assert not entailed.support(triple)
        assert len(dictionary) == before


def test_odd_triples_entail_nothing_but_themselves() -> None:
    """rdflib graphs may hold literals as subjects and blank nodes as predicates."""
    graph = rdflib.Graph()
    blank = BNode()
    for triple in (
        (EX.p, RDFS.domain, EX.C),
        (blank, RDFS.subPropertyOf, EX.q),
        (Literal("x"), EX.p, EX.a),
        (EX.a, blank, EX.b),
    ):
        graph.add(triple)
    for watched in (graph, rdflib.Graph()):
        with rdflive.saturate(watched) as entailed:
            for triple in graph:
                watched.add(triple)
            assert set(entailed) == {*graph, (EX.a, EX.q, EX.b)}
            graph.remove((EX.a, blank, EX.b))
            graph.add((EX.a, blank, EX.b))


@only_new_garbage()
def test_closed_saturated_graph_leaves_nothing() -> None:
    """The store is its own again, and reading the closed graph is an error."""
    graph = family()
    plain = type(rdflib.Graph().store)
    entailed = rdflive.saturate(graph)
    held = weakref.ref(entailed._view)
    assert type(graph.store) is not plain
    entailed.close()
    entailed.close()
    assert type(graph.store) is plain
    with pytest.raises(rdflive.ClosedError):
        len(entailed)
    gc.collect()
    assert held() is None


def test_constants_of_ways_that_are_gone_are_forgotten() -> None:
    """A class that follows from a domain leaves no term behind when the domain goes."""
    graph = rdflib.Graph()
    graph.add((RDF.type, RDFS.subPropertyOf, EX.kind))
    graph.add((EX.ann, EX.walks, EX.rex))
    with rdflive.subscribe(graph, f"ASK {{ ?x <{EX.kind}> ?y }}", entailment="rdfs") as subscription:
        dictionary = subscription._live().dictionary
        before = len(dictionary)
        graph.add((EX.walks, RDFS.domain, EX.Animal))
        assert len(dictionary) > before
        graph.remove((EX.walks, RDFS.domain, EX.Animal))
        assert len(dictionary) == before


def test_saturated_graph_shares_its_counts_with_subscriptions() -> None:
    """One saturation serves all, and lasts until the last of them closes."""
    graph = family()
    seen: list[rdflive.Delta] = []
    entailed = rdflive.saturate(graph)
    query = f"SELECT ?x {{ ?x a <{EX.Animal}> }}"
    subscription = rdflive.subscribe(graph, query, seen.append, entailment="rdfs", strategy="saturate")
    assert len(subscription._state.views) == 1
    entailed.close()
    graph.add((EX.ann, EX.feeds, EX.tom))
    assert [s.x for s in seen[-1].added] == [EX.tom]
    subscription.resync()
    assert {s.x for s in seen[-1].added} == {EX.tom, EX.rex}


def test_saturated_graph_follows_a_resync() -> None:
    """What was written behind rdflive's back is entailed after a resync of any subscription."""
    graph = family()
    with rdflive.saturate(graph) as entailed:
        options: dict[str, Any] = {"entailment": "rdfs", "strategy": "saturate"}
        subscription = rdflive.subscribe(graph, "ASK { ?s ?p ?o }", **options)
        plain = type(graph.store).__mro__[1]
        plain.add(graph.store, (EX.tom, RDF.type, EX.Dog), graph)
        assert (EX.tom, RDF.type, EX.Animal) not in entailed
        subscription.resync()
        assert (EX.tom, RDF.type, EX.Animal) in entailed
        plain.add(graph.store, (EX.kit, RDF.type, EX.Dog), graph)
        entailed.resync()
        assert (EX.kit, RDF.type, EX.Animal) in entailed


def test_cycle_that_comes_later_lets_everything_close() -> None:
    """Nobody can be told of a cycle but in the log and by `support`; other subscriptions go on."""
    graph = family()
    query = f"SELECT ?x {{ ?x a <{EX.Animal}> }}"
    options: dict[str, Any] = {"entailment": "rdfs", "counts": "paths"}
    seen: list[rdflive.Delta] = []
    subscriptions = [rdflive.subscribe(graph, query, seen.append, **options) for _ in range(2)]
    graph.add((EX.Animal, RDFS.subClassOf, EX.Dog))
    with pytest.raises(rdflive.SchemaError, match="without cycles"):
        rdflive.subscribe(graph, query, **options)
    subscriptions.pop().close()
    subscriptions[0].resync()
    assert [s.x for s in seen[-1].added] == [EX.rex]
    graph.add((EX.tom, RDF.type, EX.Animal))
    assert [s.x for s in seen[-1].added] == [EX.tom]
    subscriptions[0].close()
    assert type(graph.store) is type(rdflib.Graph().store)


def test_cycle_concerns_those_who_see_it() -> None:
    """A refused subscription changes nothing for others, open or to come."""
    graph = family()
    graph.add((EX.C, RDFS.subClassOf, EX.D))
    graph.add((EX.D, RDFS.subClassOf, EX.C))
    options: dict[str, Any] = {"entailment": "rdfs", "counts": "paths"}
    with pytest.raises(rdflive.SchemaError):
        rdflive.subscribe(graph, f"SELECT ?x {{ ?x a <{EX.C}> }}", **options)
    graph.add((EX.F, RDFS.subClassOf, EX.C))
    subscription = rdflive.subscribe(graph, f"SELECT ?x {{ ?x a <{EX.Animal}> }}", **options)
    with pytest.raises(rdflive.SchemaError):
        rdflive.subscribe(graph, f"SELECT ?x {{ ?x a <{EX.C}> }}", **options)
    rdflive.subscribe(graph, f"SELECT ?x {{ ?x a <{EX.F}> }}", **options).close()
    graph.add((EX.tom, RDF.type, EX.Dog))
    assert len(subscription.answers()) == 2


def test_refused_triple_lets_a_resync_pass() -> None:
    """What is refused later is passed over, also when the graph is read again."""
    graph = family()
    query = f"SELECT ?x {{ ?x a <{EX.Animal}> }}"
    seen: list[rdflive.Delta] = []
    plain = rdflive.subscribe(graph, query, seen.append)
    entailed = rdflive.subscribe(graph, query, seen.append, entailment="rdfs")
    graph.add((EX.kindOf, RDFS.subPropertyOf, RDFS.subClassOf))
    with pytest.raises(rdflive.SchemaError):
        rdflive.subscribe(graph, query, entailment="rdfs")
    entailed.resync()
    assert [len(delta.added) for delta in seen[-2:]] == [0, 1]
    graph.add((EX.tom, RDF.type, EX.Animal))
    assert [len(delta.added) for delta in seen[-2:]] == [1, 1]
    assert not plain.closed


def test_refused_triple_that_goes_lets_others_subscribe() -> None:
    """Nothing of it is remembered by what goes on maintaining the graph."""
    graph = family()
    query = f"SELECT ?x {{ ?x a <{EX.Animal}> }}"
    odd = (EX.kindOf, RDFS.subPropertyOf, RDFS.subClassOf)
    with rdflive.subscribe(graph, query, entailment="rdfs"):
        graph.add(odd)
        with pytest.raises(rdflive.SchemaError):
            rdflive.subscribe(graph, query, entailment="rdfs")
        graph.remove(odd)
        assert len(rdflive.subscribe(graph, query, entailment="rdfs").answers()) == 1


def test_property_below_a_schema_property_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    """At the beginning it is an error; later it is logged, and nothing follows from it until it goes."""
    graph = family()
    odd = (EX.kindOf, RDFS.subPropertyOf, RDFS.subClassOf)
    graph.add((EX.Cat, EX.kindOf, EX.Mammal))
    with rdflive.saturate(graph) as entailed:
        graph.add(odd)
        assert "would entail schema triples: remove this triple" in caplog.text
        assert odd in entailed
        assert (EX.Cat, RDFS.subClassOf, EX.Mammal) not in entailed
        graph.add((EX.tom, RDF.type, EX.Dog))
        assert (EX.tom, RDF.type, EX.Animal) in entailed
    with pytest.raises(rdflive.SchemaError, match="kindOf is declared a subproperty of"):
        rdflive.saturate(graph)
    assert type(graph.store) is type(rdflib.Graph().store)
    graph.remove(odd)
    rdflive.saturate(graph).close()


def test_literals_have_no_class() -> None:
    """A range types resources only."""
    graph = family()
    graph.add((EX.ann, EX.feeds, Literal("Rex")))
    with rdflive.saturate(graph) as entailed:
        assert all(not isinstance(s, Literal) for s, _, _ in entailed)
        assert entailed.support((EX.rex, RDF.type, EX.Animal)) == 2


@pytest.mark.sampled(5)
def test_deep_schemas_are_no_deeper_than_memory() -> None:
    """A chain of thousands of classes needs no recursion."""
    graph = rdflib.Graph()
    classes = [URIRef(f"{EX}C{i}") for i in range(1050)]
    with rdflive.batch(graph):
        for lower, upper in pairwise(classes):
            graph.add((lower, RDFS.subClassOf, upper))
        graph.add((EX.rex, RDF.type, classes[0]))
    query = f"ASK {{ <{EX.rex}> a <{classes[-1]}> }}"
    subscription = rdflive.subscribe(graph, query, entailment="rdfs")
    assert subscription.answers()
    graph.remove((classes[600], RDFS.subClassOf, classes[601]))
    assert not subscription.answers()
