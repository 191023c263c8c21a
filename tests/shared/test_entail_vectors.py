"""The worked examples of Goasdoué et al. and regression cases, but for those about reformulations as such."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import rdflib
from rdflib import RDF, RDFS, BNode, Literal, URIRef

import rdflive
from rdflive.errors import SchemaError
from support.effort import drawn_from, rounds
from support.entailment import SCHEMA, Triple, closed_schema, instances
from support.shared import shared
from support.vectors import vectors

pytestmark = pytest.mark.shared


PREFIXES = {"ex": "urn:example:", "rdf": str(RDF), "rdfs": str(RDFS)}
OF_REFORMULATION = {"GMR-fig13", "GMR-ex8", "GMR-ex10"}
"""Tested with `rdflive.reformulate`."""
STRATEGIES = ("saturate", "reformulate", "auto")


VECTORS = vectors("GMR-")
GRAPHS = {name for name, vector in VECTORS.items() if vector["kind"] == "graph"}
QUERIES = [name for name, vector in VECTORS.items() if vector["kind"] == "query"]
COUNTS = [name for name, vector in VECTORS.items() if vector["kind"] == "counts"]
UPDATES = [name for name, vector in VECTORS.items() if vector["kind"] == "update_multiset"]


def vector(name: str) -> dict[str, Any]:
    shared("vectors", "vectors.json")
    return VECTORS[name]


def term(text: str) -> Any:
    if text.startswith("?"):
        return rdflib.Variable(text[1:])
    if text.startswith('"'):
        return Literal(text[1:-1])
    prefix, _, name = text.partition(":")
    return BNode(name) if prefix == "_" else URIRef(PREFIXES[prefix] + name)


def triple(texts: list[str]) -> Triple:
    s, p, o = map(term, texts)
    return s, p, o


def counted(rows: list[Any]) -> Counter[Triple]:
    return Counter({triple(texts): count for texts, *_, count in rows})


def triples_of(case: dict[str, Any], *, drop: bool | None = None) -> set[Triple]:
    """Give the triples of a case or of its graph; as Goasdoué et al. do, without `range Literal`."""
    source = VECTORS[case["graph"]] if "graph" in case else case
    triples = {triple(texts) for texts in [*source["schema"], *source["instance"]]}
    left_out = case.get("drop_literal_range", False) if drop is None else drop
    return {t for t in triples if not (left_out and t[1:] == (RDFS.range, RDFS.Literal))}


def filled(triples: set[Triple]) -> rdflib.Graph:
    graph = rdflib.Graph()
    for t in triples:
        graph.add(t)
    return graph


def sparql(case: dict[str, Any]) -> str:
    body = " . ".join(" ".join(term(text).n3() for text in pattern) for pattern in case["query"])
    return f"SELECT {' '.join(case['head'])} {{ {body} }}"


def answers(subscription: Any, case: dict[str, Any]) -> Counter[Any]:
    names = [name[1:] for name in case["head"]]
    return Counter(tuple(solution[name] for name in names) for solution in subscription.answers())


def rows(listed: list[list[str]]) -> Counter[Any]:
    return Counter(tuple(map(term, row)) for row in listed)


def test_vectors_are_there() -> None:
    """All vectors are graphs, are run below, or are those of reformulations."""
    shared("vectors", "vectors.json")
    run = {*GRAPHS, *QUERIES, *COUNTS, *UPDATES, *OF_REFORMULATION}
    assert set(VECTORS) == run | {"GMR-fig9", "GMR-fig10", "GMR-fig11"}
    assert (len(GRAPHS), len(QUERIES), len(COUNTS), len(UPDATES)) == (2, 5, 4, 2)


@pytest.mark.parametrize("drop", [False, True], ids=["by the rules", "as printed"])
def test_figure_9_saturation(drop: bool) -> None:
    """Figure 9: four triples are entailed beside the explicit ones, and by the rules a fifth."""
    case = vector("GMR-fig9")
    triples = triples_of(case, drop=drop)
    expected = {triple(t) for t in case["expected_new" if drop else "expected_new_by_rules"]}
    with rdflive.saturate(filled(triples)) as saturated:
        assert instances(saturated) == expected | instances(triples)
        assert set(saturated) - instances(saturated) == closed_schema(triples)


def test_figure_10_steps_add_up() -> None:
    """Figure 10: what the steps of Saturate+ add up to is the number of derivations."""
    case = vector("GMR-fig10")
    triples = triples_of(case)
    with rdflive.saturate(filled(triples), counts="paths") as saturated:
        found = {t: saturated.support(t) - saturated.is_explicit(t) for t in instances(saturated)}
    steps = sum((counted(step) for step in case["expected_steps"]), Counter())
    assert +Counter(found) == steps


@pytest.mark.parametrize("drop", [False, True], ids=["by the rules", "as printed"])
def test_figure_11_multiset(drop: bool) -> None:
    """Figure 11: each triple is explicit or not, and has that many derivations."""
    case = vector("GMR-fig11")
    listed = case["expected" if drop else "expected_by_rules"]
    with rdflive.saturate(filled(triples_of(case, drop=drop)), counts="paths") as saturated:
        found = [(t, saturated.is_explicit(t), saturated.support(t)) for t in instances(saturated)]
    assert Counter(found) == Counter((triple(t), explicit, count) for t, explicit, count in listed)


@pytest.mark.parametrize("name", UPDATES)
def test_example_6_update(name: str) -> None:
    """Example 6: the counts that an update changes, and no others, and what it entails."""
    case = vector(name)
    graph = filled(triples_of(case))
    deltas: list[rdflive.Delta] = []
    options: Any = {"entailment": "rdfs", "counts": "paths"}
    subscription = rdflive.subscribe(graph, "SELECT * { ?s ?p ?o }", deltas.append, initial=False, **options)
    with subscription, rdflive.saturate(graph, counts="paths") as saturated:
        before = {t: saturated.support(t) for t in instances(saturated)}
        (graph.add if case["update"]["op"] == "ins" else graph.remove)(triple(case["update"]["t"]))
        after = {t: saturated.support(t) for t in instances(saturated)}
        changed = {t: (saturated.is_explicit(t), saturated.support(t)) for t in {*before, *after}}
    expected = {triple(t): (explicit, count) for t, explicit, count in case["expected_changed"]}
    assert {t: now for t, now in changed.items() if before.get(t, 0) != after.get(t, 0)} == expected
    (delta,) = deltas
    found = [(s, t) for s, side in (("+", delta.added), ("-", delta.removed)) for t in map(_instance, side)]
    assert {(sign, t) for sign, t in found if t[1] not in SCHEMA} == {
        (sign, triple(t)) for sign, t in case["expected_entailed_delta"]
    }


def _instance(solution: Any) -> Triple:
    return solution.s, solution.p, solution.o


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", QUERIES)
def test_query_has_its_answers(name: str, strategy: Any) -> None:
    """The answers are those of the case, each once; triple by triple they come, and they go again."""
    case = vector(name)
    variants = [(case["answers"], None)]
    if "answers_by_rules" in case:
        variants.append((case["answers_by_rules"], False))
    for listed, drop in variants:
        triples = sorted(triples_of(case, drop=drop))
        graph = rdflib.Graph()
        net: Counter[Any] = Counter()

        def take(delta: rdflive.Delta, net: Counter[Any] = net) -> None:
            for solution, weight in delta.weights().items():
                net[tuple(solution[name[1:]] for name in case["head"])] += weight

        with rdflive.subscribe(graph, sparql(case), take, entailment="rdfs", strategy=strategy) as found:
            for t in drawn_from(name).sample(triples, len(triples)):
                graph.add(t)
            assert answers(found, case) == +net == rows(listed)
            for t in drawn_from(name, strategy).sample(triples, len(triples)):
                graph.remove(t)
            assert answers(found, case) == +net == Counter()


def test_example_3_evaluation_is_incomplete() -> None:
    """Example 3: without entailment the query has fewer answers."""
    case = vector("GMR-ex3")
    with rdflive.subscribe(filled(triples_of(case)), sparql(case)) as subscription:
        assert answers(subscription, case) == rows(case["evaluation"]) != rows(case["answers"])


@pytest.mark.parametrize("name", COUNTS)
def test_supports_do_not_depend_on_order_or_cycles(name: str) -> None:
    """Supports are those of the case in any order of inserts; after the delete is left what it says."""
    case = vector(name)
    triples = sorted(triples_of(case))
    for order in range(rounds(6)):
        graph = rdflib.Graph()
        with rdflive.saturate(graph) as saturated:
            for t in drawn_from(name, order).sample(triples, len(triples)):
                graph.add(t)
            assert {c: saturated.support(_typed(c)) for c in case["support"]} == case["support"]
            if "after_delete" in case:
                graph.remove(triple(case["after_delete"]))
                left = {c: int(_typed(c) in saturated) for c in case["entailed_after"]}
                assert left == case["entailed_after"]


@pytest.mark.parametrize("name", COUNTS)
def test_path_counts_need_an_acyclic_schema(name: str) -> None:
    """Path counts are those of the case, relative to the explicit schema; a cycle is refused and named."""
    case = vector(name)
    graph = filled(triples_of(case))
    if case["paths"] is None:
        with pytest.raises(SchemaError, match="cycle") as refusal:
            rdflive.saturate(graph, counts="paths").support(_typed("ex:A"))
        assert "urn:example:A" in str(refusal.value)
        assert "urn:example:B" in str(refusal.value)
        return
    with rdflive.saturate(graph, counts="paths") as saturated:
        assert {c: saturated.support(_typed(c)) for c in case["paths"]} == case["paths"]
        if "paths_with_closed_schema" in case:
            for t in closed_schema(graph):
                graph.add(t)
            found = {c: saturated.support(_typed(c)) for c in case["paths_with_closed_schema"]}
            assert found == case["paths_with_closed_schema"]


def _typed(name: str) -> Triple:
    return URIRef("urn:example:s"), RDF.type, term(name)
