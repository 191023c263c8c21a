"""A failure anywhere in the entailment, at any line of it, while a commit is followed."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import rdflib
from rdflib import RDF, RDFS, Namespace

import rdflive
from support.effort import HUNT
from support.entailment import saturated
from support.failing import QUICK_STEPS, fail_at, file_of, lines

EX = Namespace("http://example.org/")
STEP = 17
"""Every so many lines one is made to fail."""
OUTSIDE = ("apply", "concerns", "__contains__")
"""What runs before the commit: a failure there is the writer's, as it is without entailment."""


class PlantedError(MemoryError):
    """The failure."""


def commits(frame: Any) -> bool:
    """Tell whether a frame is of the entailment, and inside a commit."""
    inside = "/rdflive/entail/" in file_of(frame)
    return inside and frame.f_code.co_name not in OUTSIDE


def world() -> rdflib.Graph:
    graph = rdflib.Graph()
    for triple in (
        (EX.A, RDFS.subClassOf, EX.B),
        (EX.p, RDFS.domain, EX.A),
        (EX.x, RDF.type, EX.A),
        (EX.y, EX.p, EX.z),
    ):
        graph.add(triple)
    return graph


def write(graph: rdflib.Graph) -> None:
    """Change data and schema in one commit."""
    with rdflive.batch(graph):
        graph.add((EX.n, EX.p, EX.m))
        graph.add((EX.q, RDFS.subPropertyOf, EX.p))
        graph.add((EX.k, EX.q, EX.l))
        graph.remove((EX.x, RDF.type, EX.A))
        graph.remove((EX.A, RDFS.subClassOf, EX.B))


def go_on(graph: rdflib.Graph) -> None:
    graph.add((EX.w, RDF.type, EX.A))
    graph.add((EX.A, RDFS.subClassOf, EX.B))
    graph.remove((EX.k, EX.q, EX.l))


def following(graph: rdflib.Graph, **options: Any) -> tuple[rdflive.Subscription, Counter[Any]]:
    """Follow a query as a consumer does, for whom an initial delta replaces everything."""
    total: Counter[Any] = Counter()

    def take(delta: rdflive.Delta) -> None:
        if delta.initial:
            total.clear()
        for solution, weight in delta.weights().items():
            total[solution.x] += weight

    return rdflive.subscribe(graph, f"SELECT ?x {{ ?x a <{EX.B}> }}", take, **options), total


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Keep what is logged, which is a lot, to itself."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.parametrize("error", [PlantedError, KeyboardInterrupt])
@pytest.mark.parametrize("options", [{"strategy": s} for s in ("saturate", "reformulate", "auto")], ids=str)
def test_failure_at_any_line_is_mended(options: dict[str, Any], error: type[BaseException]) -> None:
    """The write stands, each subscriber has the right answer after the next commit, and no state is left."""
    tried = 0
    for number in lines(STEP, options, error):
        graph = world()
        subscription, total = following(graph, entailment="rdfs", **options)
        entailed = rdflive.saturate(graph)
        if not fail_at(number, lambda graph=graph: write(graph), error, within=commits):
            break
        tried += 1
        go_on(graph)
        wanted = saturated(graph)
        assert {x: n for x, n in total.items() if n} == {
            s: 1 for s, p, o in wanted if (p, o) == (RDF.type, EX.B)
        }
        assert set(entailed) == wanted
        entailed.close()
        subscription.close()
        assert type(graph.store) is type(rdflib.Graph().store)
    assert tried > (20 if HUNT else 20 // QUICK_STEPS - 1)
