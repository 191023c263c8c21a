"""CSRBench: weather observations by the second, seven windowed queries, and what three engines answered.

The batch `data_NN` is of second NN. What a naive evaluation reproduces of the recorded answers it does with
these bounds, for a report at second t and a window of W seconds: `closed="left"`, [t - W, t), for q1 and q7
of both engines, q2 of sparqlstream and q4 of csparql; `closed="right"`, (t - W, t], for q2 of csparql. The
windows begin at 0. CQELS tells each solution when it comes: q1 and q2 are ISTREAM deltas over (now - W, now].
"""

from __future__ import annotations

import json
from collections import Counter
from functools import cache, lru_cache
from typing import Any

import pytest

import rdflive
from support.shared import shared

ox = pytest.importorskip("pyoxigraph", reason="needs the extra rdflive[oxigraph]")
pytestmark = pytest.mark.shared

SECONDS = range(34)
MEASURES = {1: (10, 10), 2: (1, 1), 3: (4, 4), 4: (4, 4), 5: (5, 1), 6: (50, 50), 7: (5, 5)}
"""Range and step in seconds, as in the properties file, which writes them in milliseconds."""
REPRODUCED = [
    (1, "csparql", "left"),
    (1, "sparqlstream", "left"),
    (2, "csparql", "right"),
    (2, "sparqlstream", "left"),
    (4, "csparql", "left"),
    (7, "csparql", "left"),
    (7, "sparqlstream", "left"),
]
Row = frozenset[tuple[str, Any]]


@cache
def batch(second: int) -> list[Any]:
    data = shared("data", "csrbench", "data", f"data_{second:02}.ttl").read_bytes()
    return [(q.subject, q.predicate, q.object) for q in ox.parse(data, ox.RdfFormat.TURTLE)]


def text(query: int) -> str:
    return shared("data", "csrbench", f"q{query}.rq").read_text(encoding="utf-8")


def row(items: Any) -> Row:
    return frozenset((name, number(value)) for name, value in items)


def number(value: str) -> Any:
    """Averages are compared to six digits."""
    try:
        return round(float(value), 6)
    except ValueError:
        return value


def recorded(engine: str, query: int) -> list[tuple[int, Counter[Row]]]:
    """Give the answers of an engine by their time in milliseconds."""
    found = json.loads(shared("data", "csrbench", "answers", f"{engine}-answer-{query}.json").read_text())
    return [
        (
            relation["timestamp"],
            Counter(
                row((n, b["value"]) for n, b in r["binding"].items()) for r in relation["results"]["bindings"]
            ),
        )
        for relation in found["relations"]
    ]


@lru_cache(maxsize=8)
def held(first: int, last: int) -> Any:
    store = ox.Store()
    for second in SECONDS[first : last + 1]:
        store.extend(ox.Quad(*triple) for triple in batch(second))
    return store


@cache
def naive(query: int, first: int, last: int) -> Counter[Row]:
    """Evaluate a query on the batches of some seconds, both included."""
    first, last = max(first, 0), max(min(last, SECONDS[-1]), -1)
    result = held(first, last).query(text(query))
    names = [variable.value for variable in result.variables]
    return Counter(
        row((n, t.value) for n, t in zip(names, found, strict=True) if t is not None) for found in result
    )


def bounds(report: int, size: int, closed: str) -> tuple[int, int]:
    return (report - size, report - 1) if closed == "left" else (report - size + 1, report)


class Followed:
    """A query over a window, whose deltas are added up as they come."""

    def __init__(self, stream: rdflive.Stream, query: int, window: Any, **options: Any) -> None:
        self.weights: Counter[Row] = Counter()
        self.told: list[tuple[int, Counter[Row]]] = []
        self.subscription = rdflive.subscribe(stream, text(query), self._take, window=window, **options)

    def _take(self, delta: rdflive.Delta) -> None:
        net: Counter[Row] = Counter()
        for solution, weight in delta.weights().items():
            net[row((name, term.value) for name, term in solution.asdict().items())] += weight
        self.weights.update(net)
        self.weights = Counter({found: n for found, n in self.weights.items() if n})
        if delta.time is not None:
            self.told.append((delta.time, net))


def test_recorded_answers_are_reproduced() -> None:
    """At every recorded report a subscription has the recorded answer, and so has a naive evaluation."""
    stream = rdflive.Stream(rdflive.LiveStore())
    followed = {
        (query, engine): Followed(stream, query, rdflive.Sliding(MEASURES[query][0], 1, closed=closed))
        for query, engine, closed in REPRODUCED
    }
    answers = {(q, e): {round(at / 1000): answer for at, answer in recorded(e, q)} for q, e, _ in REPRODUCED}
    compared = 0
    for second in range(60):
        if second in SECONDS:
            stream.add(batch(second), at=second)
        stream.advance_to(second)
        for query, engine, closed in REPRODUCED:
            answer = answers[query, engine].get(second)
            if answer is not None:
                compared += 1
                assert naive(query, *bounds(second, MEASURES[query][0], closed)) == answer
                assert followed[query, engine].weights == answer, (query, engine, second)
    assert compared == sum(map(len, answers.values()))


@pytest.mark.parametrize("query", [1, 2])
def test_cqels_answers_are_the_deltas(query: int) -> None:
    """What CQELS told, in its seconds, is what an ISTREAM over (now - W, now] tells."""
    stream = rdflive.Stream(rdflive.LiveStore())
    followed = Followed(stream, query, rdflive.Sliding(MEASURES[query][0]), output="istream")
    for second in SECONDS:
        stream.add(batch(second), at=second)
    assert followed.told == [(at // 1000, answer) for at, answer in recorded("cqels", query)]


@pytest.mark.sampled(by="closed")
@pytest.mark.parametrize("closed", ["left", "right"])
def test_queries_are_as_a_naive_evaluation(closed: Any) -> None:
    """All seven queries have the naive answer at each report of their windows, until all has expired."""
    stream = rdflive.Stream(rdflive.LiveStore())
    followed = {
        query: Followed(stream, query, rdflive.Sliding(size, step, closed=closed))
        for query, (size, step) in MEASURES.items()
    }
    for second in range(101):
        if second in SECONDS:
            stream.add(batch(second), at=second)
        stream.advance_to(second)
        for query, (size, step) in MEASURES.items():
            if second % step == 0 and (second < 40 or step == 50):
                wanted = naive(query, *bounds(second, size, closed))
                assert followed[query].weights == wanted, (query, second)
