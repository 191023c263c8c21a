"""Long chains and cycles of classes and properties: exact, and no more work than they ask for."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import RDF, RDFS, URIRef

import rdflive
from entail.rules import naive
from entail.test_choice import watched
from rdflive.entail.rdfs import RdfsEntailment
from rdflive.entail.rdfs_rules import RDFS_RULES
from support.effort import examples
from support.entailment import Triple, paths

EX = "urn:example:"
STRATEGIES: tuple[dict[str, Any], ...] = tuple({"strategy": s} for s in ("saturate", "reformulate", "auto"))


def iri(name: str, number: int) -> URIRef:
    return URIRef(f"{EX}{name}{number}")


def chain(name: str, word: URIRef, length: int) -> list[Triple]:
    """Make a chain of names, each below the next."""
    return [(iri(name, i), word, iri(name, i + 1)) for i in range(length)]


def graph_of(*parts: list[Triple]) -> rdflib.Graph:
    graph = rdflib.Graph()
    for triple in (triple for part in parts for triple in part):
        graph.add(triple)
    return graph


def atoms_of(subscription: rdflive.Subscription) -> int:
    """Count the atoms that are written out for a subscription."""
    (view,) = subscription._state.views.values()
    entailment = view.entailment
    assert isinstance(entailment, RdfsEntailment)
    return sum(map(len, entailment._kinds.templates.atoms.values()))


LENGTH = 12


def make_changes(random: Random, present: set[Triple]) -> list[tuple[int, Triple]]:
    """Cut a chain or mend it, type something or relate it, sometimes several of these at once."""
    schema = [
        *chain("C", RDFS.subClassOf, LENGTH),
        *chain("p", RDFS.subPropertyOf, LENGTH),
        (iri("C", LENGTH), RDFS.subClassOf, iri("C", random.randrange(LENGTH))),
        (iri("p", LENGTH), RDFS.subPropertyOf, iri("p", random.randrange(LENGTH))),
        (iri("p", random.randrange(LENGTH)), random.choice((RDFS.domain, RDFS.range)), iri("C", 3)),
    ]
    changes = []
    for _ in range(random.choice((1, 1, 2, 5))):
        x, y = iri("x", random.randrange(3)), iri("x", random.randrange(3))
        number = random.randrange(LENGTH + 1)
        data = (x, RDF.type, iri("C", number)), (x, iri("p", number), y)
        triple = random.choice(schema if random.random() < 0.6 else data)
        changes.append((-1 if triple in present and random.random() < 0.7 else 1, triple))
    return changes


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(0, 10**9))
def test_chains_are_cut_and_mended_without_losing_a_delta(seed: int) -> None:
    """By any strategy the deltas add up to the fixpoint of the rules, and to nothing at last."""
    random = Random(seed)
    present = {*chain("C", RDFS.subClassOf, LENGTH), *chain("p", RDFS.subPropertyOf, LENGTH)}
    graph = graph_of(sorted(present))
    top, low = iri("C", LENGTH), iri("p", LENGTH // 2)
    asked = {
        f"SELECT ?x {{ ?x a {top.n3()} }}": lambda t: t[1:] == (RDF.type, top) and t[:1],
        f"SELECT ?x ?y {{ ?x {low.n3()} ?y }}": lambda t: t[1] == low and (t[0], t[2]),
        "SELECT ?x ?c { ?x a ?c }": lambda t: t[1] == RDF.type and (t[0], t[2]),
        "SELECT ?x ?y ?z { ?x ?y ?z }": lambda t: t,
    }
    chosen = {text: asked[text] for text in random.sample(list(asked), 2)}
    followers = [(*watched(graph, text, **o), row) for text, row in chosen.items() for o in STRATEGIES]
    for _ in range(12):
        with rdflive.batch(graph):
            for sign, triple in make_changes(random, present):
                (graph.add if sign > 0 else graph.remove)(triple)
                (present.add if sign > 0 else present.discard)(triple)
        full = naive.entailed(RDFS_RULES, present)
        for subscription, total, row in followers:
            expected = {found for found in map(row, full) if found}
            assert {tuple(solution) for solution in +total} == expected
            assert {tuple(solution) for solution in subscription.answers()} == expected
    for triple in random.sample(sorted(present), len(present)):
        graph.remove(triple)
    for subscription, total, _ in followers:
        assert (+total, subscription.answers()) == (Counter(), [])
        subscription.close()


@settings(max_examples=examples(20), deadline=None)
@given(st.integers(0, 10**9))
def test_paths_are_counted_where_a_class_is_woken(seed: int) -> None:
    """With counts="paths" the first instance of a class counts as often as there are ways up."""
    random, names = Random(seed), range(6)
    schema = {
        (iri("C", i), RDFS.subClassOf, iri("C", j))
        for i in names
        for j in names
        if i < j and random.random() < 0.6
    }
    present = {
        *schema,
        (iri("p", 0), RDFS.subPropertyOf, iri("p", 1)),
        (iri("p", 1), RDFS.range, iri("C", 1)),
    }
    graph = graph_of(sorted(present))
    with rdflive.saturate(graph, counts="paths") as entailed:
        for _ in range(10):
            edge = random.choice(sorted(schema))
            data = (
                (iri("x", 0), RDF.type, iri("C", random.choice(names))),
                (iri("x", 1), iri("p", 0), iri("x", 0)),
            )
            triple = random.choice((edge, *data))
            (graph.remove if triple in present else graph.add)(triple)
            present ^= {triple}
            assert all(entailed.support(found) == count for found, count in paths(present).items())


def test_one_class_of_a_chain_costs_one_atom_for_each_class_below() -> None:
    """Classes that no query reads cost nothing, nor does cutting or mending the chain."""
    graph = graph_of(
        chain("C", RDFS.subClassOf, 500), [(iri("x", i), RDF.type, iri("C", i)) for i in range(500)]
    )
    with rdflive.subscribe(
        graph, f"SELECT ?x {{ ?x a {iri('C', 500).n3()} }}", entailment="rdfs"
    ) as subscription:
        assert len(subscription.answers()) == 500
        assert atoms_of(subscription) <= 501 + 1  # one says that triples of other classes are explicit
        graph.remove((iri("C", 250), RDFS.subClassOf, iri("C", 251)))
        assert len(subscription.answers()) == 249
        assert atoms_of(subscription) <= 250 + 1


@pytest.mark.parametrize("options", STRATEGIES)
def test_classes_without_instances_cost_nothing(options: dict[str, Any]) -> None:
    """Where all is asked for, atoms are as many as the kinds that explicit triples entail some of."""
    graph = graph_of(chain("C", RDFS.subClassOf, 300), chain("p", RDFS.subPropertyOf, 300))
    options = {"entailment": "rdfs", **options}
    with rdflive.subscribe(graph, "SELECT ?x ?y { ?x a ?y }", **options) as subscription:
        before = atoms_of(subscription)
        assert before < 20
        graph.add((iri("x", 0), RDF.type, iri("C", 100)))
        assert len(subscription.answers()) == 201
        assert atoms_of(subscription) == before + 201
        graph.add((iri("x", 1), RDF.type, iri("C", 100)))
        assert atoms_of(subscription) == before + 201


def test_what_is_woken_is_counted_where_that_was_asked_for() -> None:
    """A class that gets its first instance is saturated from then on, like the others."""
    graph = graph_of(chain("C", RDFS.subClassOf, 2))
    options: dict[str, Any] = {"entailment": "rdfs", "strategy": "saturate"}
    with rdflive.subscribe(graph, "SELECT ?x ?y { ?x a ?y }", **options) as subscription:
        for number in range(2):
            graph.add((iri("x", number), RDF.type, iri("C", 0)))
            assert len(subscription.answers()) == 3 * (number + 1)
            lines = subscription.explain().entailed
            assert [line.split(": ")[1].split(",")[0] for line in lines] == ["saturated"] * 2
