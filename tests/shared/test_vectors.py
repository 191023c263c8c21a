"""The worked examples of Gergatsoulis and Damigos and regression cases, under every algorithm that fits."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
import rdflib

import rdflive
from rdflive.engine.kernel import Kernel
from rdflive.errors import PlanError
from rdflive.query.bgp import BGP, TriplePattern, Variable
from rdflive.query.decompose import star_decomposition
from rdflive.query.segment import make_segment
from support.shared import shared
from support.vectors import vectors

EX = "urn:example:"


VECTORS = list(vectors("GD-").values())


def test_vectors_are_there() -> None:
    """All twelve usable vectors are run below."""
    shared("vectors", "vectors.json")
    assert len(VECTORS) == 12
    assert all(vector["kind"] == "subscription" for vector in VECTORS)


def sparql(vector: dict[str, Any]) -> str:
    def word(term: str) -> str:
        return term if term.startswith("?") else f"<{EX}{term}>"

    body = " . ".join(" ".join(map(word, pattern)) for pattern in vector["query"])
    return f"SELECT {' '.join(vector['vars'])} {{ {body} }}"


@pytest.mark.parametrize("algorithm", [a for a in rdflive.ALGORITHMS if a != "ground"])
@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v["id"])
def test_vector_gives_its_deltas(vector: dict[str, Any], algorithm: Any) -> None:
    """Each update of the vector gives exactly the deltas listed for it."""
    graph = rdflib.Graph()
    deltas: list[rdflive.Delta] = []
    try:
        subscription = rdflive.subscribe(graph, sparql(vector), deltas.append, algorithm=algorithm)
    except PlanError:
        assert algorithm not in ("auto", "product", "join")  # these fit every class
        return
    assert subscription.stats.algorithms[0] == (subscription.explain().algorithm)
    for update, expected in zip(vector["updates"], vector["expected_deltas"], strict=True):
        deltas.clear()
        triple = tuple(rdflib.URIRef(EX + term) for term in update["t"])
        (graph.add if update["op"] == "ins" else graph.remove)(triple)
        found = Counter(
            (sign, tuple(str(solution[v[1:]]).removeprefix(EX) for v in vector["vars"]))
            for delta in deltas
            for sign, solutions in (("+", delta.added), ("-", delta.removed))
            for solution in solutions
        )
        assert found == Counter((sign, tuple(row)) for sign, row in expected)
    subscription.close()


def example_3() -> tuple[tuple[TriplePattern, ...], dict[str, Any]]:
    if not VECTORS:
        shared("vectors", "vectors.json")
    vector = next(v for v in VECTORS if v["id"] == "GD-ex3a")
    patterns = tuple(
        TriplePattern(*(Variable(t[1:]) if t.startswith("?") else t for t in p)) for p in vector["query"]
    )
    return patterns, vector


def test_example_3_star_decomposition() -> None:
    """Example 3 decomposes into the three stars of Figure 4."""
    patterns, vector = example_3()
    stars = [{tuple(map(str, pattern)) for pattern in star.patterns} for star in star_decomposition(patterns)]
    expected = [{tuple(p) for p in star} for star in vector["star_decomposition"].values()]
    assert sorted(map(sorted, stars)) == sorted(map(sorted, expected))


def test_example_3_match_states() -> None:
    """After each message of Example 3 the match states are those of the extended lists."""
    patterns, vector = example_3()
    names: dict[str, int] = {}

    def number(term: Any) -> int:
        return names.setdefault(str(term), len(names))

    kernel = Kernel()
    numbered = tuple(
        TriplePattern(*(t if isinstance(t, Variable) else number(t) for t in pattern)) for pattern in patterns
    )
    segment = make_segment(numbered, BGP(patterns).variables, "connected")
    state = kernel.add(segment, lambda key: ())
    centres = {"Q11": "Y", "Q12": "X", "Q13": "Z"}
    for tick, update in enumerate(vector["updates"], 1):
        kernel.apply(1, *map(number, update["t"]))
        for star_name, records in vector["expected_lists"].get(str(tick), {}).items():
            centre = Variable(centres[star_name])
            mask, _ = state.plan.masks[centre]
            members = [j for j, pattern in enumerate(patterns) if centre in pattern.variables]
            for value, bits, _ in records:
                have = [bool(mask[names[value]] & _bit(state, centre, j)) for j in members]
                assert have == [bool(bit) for bit in bits]


def _bit(state: Any, centre: Variable, j: int) -> int:
    star = next(s for s in state.stars if s.mask is state.plan.masks[centre][0])
    slot = state.segment.patterns[j].variables.index(centre)
    return int(next(bit for pattern, at, bit in star.members if pattern is state.patterns[j] and at == slot))
