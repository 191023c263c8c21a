"""Reformulation against recomputation: random graphs and schemas, also about rdf:type, and random queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any

import pytest
import rdflib
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib import XSD, BNode, Literal

from rdflive.api.reformulate import Reformulation, reformulate
from rdflive.entail.reformulation import Fresh
from rdflive.errors import ReformulationSizeError
from rdflive.query.bgp import Variable
from support.effort import drawn_from, examples, rounds
from support.entailment import Triple, make_instance, make_schema, saturated, world
from support.worlds import EX, KINDS

VARIABLES = ("?x", "?y", "?z", "_:b")


@dataclass(frozen=True)
class Scenario:
    """A graph with its schema, and a query over it."""

    triples: tuple[Triple, ...]
    atoms: tuple[tuple[str, str, str], ...]
    shown: tuple[str, ...]
    form: str

    @property
    def text(self) -> str:
        body = " . ".join(" ".join(atom) for atom in self.atoms)
        head = "ASK" if self.form == "ASK" else f"SELECT {self.form} {' '.join(self.shown)}"
        return f"{head} {{ {body} }}"


def scenario(random: Random, *, blanks: bool) -> Scenario:
    """Make a scenario of one to three atoms, with variables anywhere.

    Most atoms are entailed triples with variables for some of their terms, so that there are answers.
    """
    words = world(blanks=blanks)
    cyclic, meta = random.random() < 0.7, random.random() < 0.7
    schema = [make_schema(random, words, cyclic=cyclic, meta=meta) for _ in range(random.randint(0, 9))]
    data = [make_instance(random, words, meta=meta) for _ in range(random.randint(1, 9))]
    triples = {*schema, *data}
    entailed = sorted(saturated(triples) - triples if random.random() < 0.7 else triples) or data
    chosen = random.choices(entailed, k=random.choice((1, 1, 2, 2, 3)))
    names: dict[Any, str] = {}

    def word(term: Any, odds: float) -> str:
        if isinstance(term, BNode) or random.random() < odds:
            is_same = random.random() < 0.9
            return names.setdefault(term if is_same else None, random.choice(VARIABLES))
        return str(term.n3())

    atoms = []
    for s, p, o in chosen:
        link = word(p, 0.25)
        atoms.append((word(s, 0.7), "?x" if link == "_:b" else link, word(o, 0.6)))
    named = sorted({t for atom in atoms for t in atom if t.startswith("?")})
    shown = tuple(random.sample(named, random.randint(1, len(named)))) if named else ()
    form = random.choice(("", "", "", "DISTINCT", "ASK")) if named else "ASK"
    return Scenario(tuple(sorted(triples)), tuple(atoms), shown, form)


def matches(atoms: Iterable[tuple[Any, ...]], triples: Iterable[Triple]) -> Iterator[dict[Any, Any]]:
    """Match atoms one after the other with every triple; a term that is no key of the other is a constant."""
    first, *rest = tuple(atoms) or (None,)
    if first is None:
        yield {}
        return
    for row in matches(rest, triples):
        for triple in triples:
            extended = dict(row)
            if all(_fits(extended, term, value) for term, value in zip(first, triple, strict=True)):
                yield extended


def _fits(row: dict[Any, Any], term: Any, value: Any) -> bool:
    return bool((row.setdefault(term, value) if isinstance(term, Variable | Fresh) else term) == value)


def read(atom: tuple[str, str, str]) -> tuple[Any, ...]:
    """Read an atom of a scenario: its blank nodes are variables."""
    return tuple(
        Variable(t[1:]) if t[0] in "?_" else rdflib.util.from_n3(t)  # type: ignore[no-untyped-call]  # rdflib's
        for t in atom
    )


def expected(scene: Scenario, triples: Iterable[Triple]) -> Counter[tuple[Any, ...]]:
    """Give the answer over the triples by brute force, as a bag."""
    rows = list(matches(dict.fromkeys(map(read, scene.atoms)), triples))
    if scene.form == "ASK":
        return Counter([()] if rows else [])
    shown = [tuple(row[Variable(name[1:])] for name in scene.shown) for row in rows]
    return Counter(set(shown) if scene.form == "DISTINCT" else shown)


def found(scene: Scenario, solutions: Iterable[Any]) -> Counter[tuple[Any, ...]]:
    names = scene.shown if scene.form != "ASK" else ()
    return Counter(tuple(plain(solution[name[1:]]) for name in names) for solution in solutions)


def plain(term: Any) -> Any:
    """Write a plain string without the datatype that Oxigraph gives it."""
    is_string = isinstance(term, Literal) and term.datatype == XSD.string
    return Literal(str(term)) if is_string else term


def fill(scene: Scenario, kind: str = "graph") -> Any:
    """Put the triples of a scenario into a graph of some kind; into a union of graphs each of them twice."""
    graph = KINDS[kind]()
    for triple in scene.triples:
        if isinstance(graph, rdflib.Dataset) and graph.default_union:
            for name in "gh":
                graph.graph(rdflib.URIRef(EX + name)).add(triple)
        elif isinstance(graph, rdflib.Graph):
            graph.add(triple)
        else:
            oxigraph = pytest.importorskip("rdflive_stores.oxigraph.terms")
            graph.add(pytest.importorskip("pyoxigraph").Quad(*map(oxigraph.to_native, triple)))
    return graph


def asked(scene: Scenario, text: str, kind: str) -> Counter[tuple[Any, ...]]:
    """Run a query by the engine of a graph of some kind."""
    result = fill(scene, kind).query(text)
    if scene.form == "ASK":
        return Counter([()] if result.askAnswer else [])
    return found(scene, (row.asdict() for row in result))


EXAMPLES = settings(max_examples=examples(100), suppress_health_check=list(HealthCheck))
RANDOM = st.integers(0, 2**32 - 1).map(Random)


@EXAMPLES
@given(RANDOM, st.booleans())
def test_evaluate_gives_the_answer_over_the_saturation(random: Random, blanks: bool) -> None:
    """Evaluation gives each solution over the saturated graph, as often as it occurs there."""
    scene = scenario(random, blanks=blanks)
    graph = fill(scene)
    answer = found(scene, reformulate(scene.text, graph).evaluate(graph))
    assert answer == expected(scene, saturated(scene.triples))


def members_answer(reformulation: Reformulation, triples: Iterable[Triple]) -> set[tuple[Any, ...]]:
    """Evaluate every member by itself, as Section 6.2 says: blank nodes are constants."""
    return {
        tuple(row.get(term, term) for term in member.head)
        for member in reformulation
        for row in matches(member.body, triples)
        if not any(isinstance(row[term], Literal) for term in member.not_literal)
    }


@EXAMPLES
@given(RANDOM, st.booleans())
def test_members_give_the_answer_over_the_saturation(random: Random, blanks: bool) -> None:
    """The non-standard evaluations of all members are together the set of answers (Theorem 6)."""
    scene = scenario(random, blanks=blanks)
    reformulation = reformulate(scene.text, scene.triples)
    try:
        answer = members_answer(reformulation, scene.triples)
    except ReformulationSizeError:
        return
    assert answer == set(expected(scene, saturated(scene.triples)))


@EXAMPLES
@given(RANDOM)
def test_to_sparql_gives_the_answer_over_the_saturation(random: Random) -> None:
    """The SPARQL text gives the same bag on rdflib's engine and on Oxigraph's."""
    scene = scenario(random, blanks=False)
    answer = expected(scene, saturated(scene.triples))
    text = reformulate(scene.text, scene.triples).to_sparql()
    assert asked(scene, text, "graph") == answer
    assert asked(scene, text, "oxigraph graph") == answer


@pytest.mark.parametrize("kind", KINDS)
def test_evaluate_takes_every_graph(kind: str) -> None:
    """On graphs of every kind, with schemas from any other kind, the answer is that over the saturation."""
    random = drawn_from(kind)
    for _ in range(rounds(20)):
        scene = scenario(random, blanks=True)
        answer = expected(scene, saturated(scene.triples))
        for schema in (scene.triples, fill(scene), fill(scene, kind)):
            solutions = reformulate(scene.text, schema).evaluate(fill(scene, kind))
            assert found(scene, map(as_rdflib, solutions)) == answer


def as_rdflib(solution: Any) -> dict[str, Any]:
    """Give a solution in rdflib's terms."""
    if all(isinstance(term, rdflib.term.Node) for term in solution):
        return solution.asdict()
    oxigraph = pytest.importorskip("rdflive_stores.oxigraph.terms")
    return {name: oxigraph.to_rdflib(term) for name, term in solution.asdict().items()}
