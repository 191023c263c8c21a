"""The examples of Goasdoué et al. and its errata that concern reformulation (Section 6)."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import rdflib
from rdflib import RDF, RDFS

from rdflive.api.reformulate import Reformulation, reformulate
from rdflive.entail.reformulation import Fresh, PartialQuery
from rdflive.query.bgp import Variable
from shared.test_entail_vectors import QUERIES, filled, rows, sparql, triples_of, vector
from shared.test_entail_vectors import term as constant

EX = "urn:example:"


def term(text: str) -> Any:
    """Read a term of a vector; its fresh variable is called ?z beside ?x and ?y."""
    return Variable(text[1:]) if text.startswith("?") else constant(text)


def reformulation_of(name: str, *, as_printed: bool = False) -> tuple[Reformulation, rdflib.Graph]:
    """Reformulate a query; the figures leave ranges of literals out (erratum 1)."""
    case = vector(name)
    graph = filled(triples_of(case, drop=as_printed))
    return reformulate(sparql(case), graph), graph


def answers(name: str, *, as_printed: bool = False) -> Counter[Any]:
    reformulation, graph = reformulation_of(name, as_printed=as_printed)
    names = [variable[1:] for variable in vector(name)["head"]]
    return Counter(tuple(s[name] for name in names) for s in reformulation.evaluate(graph))


@pytest.mark.parametrize("name", QUERIES)
def test_query_gives_its_answers(name: str) -> None:
    """Each query of the vectors has its answers, each once, by the rules taken literally."""
    case = vector(name)
    assert answers(name) == rows(case.get("answers_by_rules", case["answers"]))


def test_example_7_gives_the_answers_printed() -> None:
    """Without the ranges of literals Example 7 has the answers that are printed."""
    assert answers("GMR-ex7", as_printed=True) == rows(vector("GMR-ex7")["answers"])


@pytest.mark.parametrize("name", ["GMR-range-literal", "GMR-sp-type", "GMR-bag-semantics"])
def test_text_gives_the_answers(name: str) -> None:
    """The SPARQL text gives the answers of the errata, on rdflib's own engine."""
    reformulation, graph = reformulation_of(name)
    assert Counter(map(tuple, graph.query(reformulation.to_sparql()))) == rows(vector(name)["answers"])


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
    case = vector("GMR-fig13")
    reformulation, _ = reformulation_of("GMR-fig13", as_printed=True)
    levels = [sorted(map(repr, map(shape, level))) for level in reformulation.levels]
    assert levels == [sorted(repr(member(q)) for q in level) for level in case["expected_levels"]]
    assert len(reformulation) == case["expected_total"] == 18


def test_figure_13_by_the_rules_has_six_more_members() -> None:
    """With the ranges of literals the reformulation of Figure 13 has 24 members."""
    reformulation, _ = reformulation_of("GMR-fig13")
    assert len(reformulation) == vector("GMR-fig13")["expected_total_by_rules"] == 24


def test_example_8_is_contained() -> None:
    """Rules 5, 11 and 14 make the members that Example 8 lists."""
    reformulation, _ = reformulation_of("GMR-ex8")
    made = {shape(query) for query in reformulation}
    assert {member(written) for written in vector("GMR-ex8")["expected_contains"]} <= made


def test_example_10_takes_a_blank_node_as_constant() -> None:
    """The member of the blank class finds its instances only; taken as a variable it would find more."""
    case = vector("GMR-ex10")
    graph = filled(triples_of(case, drop=False))
    text = f"SELECT ?x {{ ?x a <{EX}confP> }}"
    reformulation = reformulate(text, graph)
    blank = rdflib.BNode("b0")
    assert ((Variable("x"),), ((Variable("x"), RDF.type, blank),)) in map(shape, reformulation)
    alone = reformulate(text, [(blank, RDFS.subClassOf, rdflib.URIRef(EX + "confP"))])
    found = {(solution.x, rdflib.URIRef(EX + "confP")) for solution in alone.evaluate(graph)}
    assert found == set(rows(case["nonstandard"]))
    assert not found & set(rows(case["standard_contains"]))
