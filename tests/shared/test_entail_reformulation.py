"""The examples of Goasdoué et al. and its errata that concern reformulation (Section 6)."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import pytest
import rdflib
from rdflib import RDF, RDFS

from rdflive.api.reformulate import Reformulation, reformulate
from rdflive.entail.reformulation import Fresh, PartialQuery
from rdflive.query.bgp import Variable
from support.shared import SHARED, shared

EX = "urn:example:"
PREFIXES = {"ex": EX, "rdf": str(RDF), "rdfs": str(RDFS)}
KINDS = ("query", "reformulation", "reformulation_contains", "nonstandard_eval")


def load() -> dict[str, dict[str, Any]]:
    path = SHARED / "vectors" / "vectors.json"
    if not path.exists():
        return {}
    vectors = json.loads(path.read_text(encoding="utf-8"))["vectors"]
    return {v["id"]: v for v in vectors if v["id"].startswith("GMR-")}


VECTORS = load()
QUERIES = [name for name, vector in VECTORS.items() if vector["kind"] == "query"]


def test_vectors_are_there() -> None:
    """All vectors about queries are run below."""
    shared("vectors", "vectors.json")
    assert sorted(name for name, vector in VECTORS.items() if vector["kind"] in KINDS) == [
        "GMR-bag-semantics", "GMR-ex10", "GMR-ex3", "GMR-ex7", "GMR-ex8", "GMR-fig13",
        "GMR-range-literal", "GMR-sp-type",
    ]  # fmt: skip


def vector_named(name: str) -> dict[str, Any]:
    shared("vectors", "vectors.json")
    return VECTORS[name]


def term(text: str) -> Any:
    """Read a term of a vector; its fresh variable is called ?z beside ?x and ?y."""
    if text.startswith("?"):
        return Variable(text[1:])
    if text.startswith("_:"):
        return rdflib.BNode(text[2:])
    if text.startswith('"'):
        return rdflib.Literal(text.strip('"'))
    prefix, name = text.split(":")
    return rdflib.URIRef(PREFIXES[prefix] + name)


def graph_of(vector: dict[str, Any], *, as_printed: bool = False) -> rdflib.Graph:
    """Make the graph of a vector; the figures leave ranges of literals out (erratum 1)."""
    source = VECTORS[vector["graph"]] if "graph" in vector else vector
    graph = rdflib.Graph()
    for triple in (*source["schema"], *source["instance"]):
        if not (as_printed and triple[1:] == ["rdfs:range", "rdfs:Literal"]):
            graph.add(tuple(map(term, triple)))
    return graph


def text_of(vector: dict[str, Any]) -> str:
    body = " . ".join(" ".join(triple) for triple in vector["query"])
    prefixes = " ".join(f"PREFIX {name}: <{iri}>" for name, iri in PREFIXES.items())
    return f"{prefixes} SELECT {' '.join(vector['head'])} {{ {body} }}"


def reformulation_of(name: str, *, as_printed: bool = False) -> tuple[Reformulation, rdflib.Graph]:
    vector = vector_named(name)
    graph = graph_of(vector, as_printed=as_printed)
    return reformulate(text_of(vector), graph), graph


def answers(name: str, *, as_printed: bool = False) -> Counter[Any]:
    reformulation, graph = reformulation_of(name, as_printed=as_printed)
    names = [variable[1:] for variable in vector_named(name)["head"]]
    return Counter(tuple(s[name] for name in names) for s in reformulation.evaluate(graph))


def rows(listed: list[list[str]]) -> Counter[Any]:
    return Counter(tuple(map(term, row)) for row in listed)


@pytest.mark.parametrize("name", QUERIES)
def test_query_gives_its_answers(name: str) -> None:
    """Each query of the vectors has its answers, each once, by the rules taken literally."""
    vector = vector_named(name)
    assert answers(name) == rows(vector.get("answers_by_rules", vector["answers"]))


def test_example_7_gives_the_answers_printed() -> None:
    """Without the ranges of literals Example 7 has the answers that are printed."""
    assert answers("GMR-ex7", as_printed=True) == rows(vector_named("GMR-ex7")["answers"])


@pytest.mark.parametrize("name", ["GMR-range-literal", "GMR-sp-type", "GMR-bag-semantics"])
def test_text_gives_the_answers(name: str) -> None:
    """The SPARQL text gives the answers of the errata, on rdflib's own engine."""
    reformulation, graph = reformulation_of(name)
    assert Counter(map(tuple, graph.query(reformulation.to_sparql()))) == rows(vector_named(name)["answers"])


def member(written: dict[str, Any]) -> tuple[Any, ...]:
    """Read a member; a variable of the body that only stands there is a fresh one."""
    head = tuple(map(term, written["head"]))
    kept = {*head, Variable("x"), Variable("y")}
    body = [tuple(map(term, triple)) for triple in written["body"]]
    return head, tuple(
        tuple(Fresh(1) if isinstance(t, Variable) and t not in kept else t for t in triple) for triple in body
    )


def shape(query: PartialQuery) -> tuple[Any, ...]:
    return query.head, query.body


def test_figure_13_is_reached_level_by_level() -> None:
    """Each round of the rules adds the members that Figure 13 shows for it, and there are 18."""
    vector = vector_named("GMR-fig13")
    reformulation, _ = reformulation_of("GMR-fig13", as_printed=True)
    levels = [sorted(map(repr, map(shape, level))) for level in reformulation.levels]
    assert levels == [sorted(repr(member(q)) for q in level) for level in vector["expected_levels"]]
    assert len(reformulation) == vector["expected_total"] == 18


def test_figure_13_by_the_rules_has_six_more_members() -> None:
    """With the ranges of literals the reformulation of Figure 13 has 24 members."""
    reformulation, _ = reformulation_of("GMR-fig13")
    assert len(reformulation) == vector_named("GMR-fig13")["expected_total_by_rules"] == 24


def test_example_8_is_contained() -> None:
    """Rules 5, 11 and 14 make the members that Example 8 lists."""
    reformulation, _ = reformulation_of("GMR-ex8")
    made = {shape(query) for query in reformulation}
    assert {member(written) for written in vector_named("GMR-ex8")["expected_contains"]} <= made


def test_example_10_takes_a_blank_node_as_constant() -> None:
    """The member of the blank class finds its instances only; taken as a variable it would find more."""
    vector = vector_named("GMR-ex10")
    graph = graph_of(vector)
    text = f"SELECT ?x {{ ?x a <{EX}confP> }}"
    reformulation = reformulate(text, graph)
    blank = rdflib.BNode("b0")
    assert ((Variable("x"),), ((Variable("x"), RDF.type, blank),)) in map(shape, reformulation)
    alone = reformulate(text, [(blank, RDFS.subClassOf, rdflib.URIRef(EX + "confP"))])
    found = {(solution.x, rdflib.URIRef(EX + "confP")) for solution in alone.evaluate(graph)}
    assert found == set(rows(vector["nonstandard"]))
    assert not found & set(rows(vector["standard_contains"]))
