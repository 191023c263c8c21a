"""(h) Queries of other benchmarks kept fresh: subscriptions beside asking Oxigraph after each change."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from time import perf_counter
from typing import Any, TypeAlias

from pyoxigraph import Quad, Store

import rdflive
from bench.clock import middle, quiet, ratio
from bench.histories import DATA, Changes, History, social_network, train_benchmark
from bench.report import Cell, Section
from bench.sizes import Sizes
from bench.stream import SEED
from bench.worlds import STORES

__all__ = ["run"]

Answer: TypeAlias = Counter[frozenset[tuple[str, str]]]


def run(sizes: Sizes) -> Section:
    """Replay the changes with each query watching, with all of them, and with Oxigraph asked each time."""
    section = Section(
        "queries",
        "Queries of other benchmarks kept fresh, on Oxigraph, after each change",
        sizes.faults,
        SEED,
        sizes.repeat,
        {
            "history": "history",
            "changes": "changes per round",
            "query": "query",
            "bare": "ms per change, bare",
            "subscription": "ms per change, subscription and bare change",
            "query_again": "ms per change, query again alone",
            "ratio": "(bare change + query again) / subscription",
            "over_fresh": "query again / (subscription - bare change)",
        },
    )
    if not DATA.exists():
        section.notes.append(f"Nothing was measured: {DATA} is absent (set RDFLIVE_SHARED).")
        return section
    for history in _histories(sizes):
        section.rows += _compare(history, sizes.repeat)
    section.notes += [
        "Train Benchmark: per kind of fault as many as n says are put in, in random order, then repaired in "
        "another. TTC 2018: forward, then backward, so that half of the changes are deletes. "
        "A change is one batch on an rdflib graph over Oxigraph (bare: its adds and removes); the callback "
        "reads every solution.",
        "Query again: pyoxigraph itself, without rdflib around it, evaluates the query after each change and "
        "lists the solutions; it compares nothing. All queries: one after the other, or subscribed at once.",
        "The first ratio has the bare change on both sides, the second on none.",
        "After the first round's faults, and at its end, the deltas add up to Oxigraph's answer.",
    ]
    return section


def _histories(sizes: Sizes) -> Iterator[History]:
    for model in ("railway-batch-1", "railway-inject-1"):
        yield train_benchmark(model, sizes.faults)
    for size in ("s1", "s2"):
        yield from social_network(size, sizes.sets)


class _Watched:
    """A graph on which some queries are subscribed, or none."""

    def __init__(self, history: History, names: list[str]) -> None:
        self.graph = STORES["Oxigraph"]()
        self.graph.addN((*triple, self.graph) for triple in history.base)
        self.deltas: dict[str, list[rdflive.Delta]] = {name: [] for name in names}
        self._kept = [
            rdflive.subscribe(self.graph, history.queries[name], self._taker(name), on_error=_fail)
            for name in names
        ]

    def _taker(self, name: str) -> Any:
        def take(delta: rdflive.Delta) -> None:
            self.deltas[name].append(delta)
            sum(1 for _ in (*delta.added, *delta.removed))

        return take

    def replay(self, changes: list[Changes]) -> float:
        """Make the changes, and give their seconds."""
        graph = self.graph
        operations = [
            [(graph.add if sign > 0 else graph.remove, t) for sign, t in batch] for batch in changes
        ]
        start = perf_counter()
        for batch in operations:
            with self._batch() if len(batch) > 1 else nullcontext():
                for operation, triple in batch:
                    operation(triple)
        return perf_counter() - start

    def _batch(self) -> AbstractContextManager[object]:
        """Make one batch; where nothing is subscribed it would hook the store for nothing."""
        return rdflive.batch(self.graph) if self._kept else nullcontext()

    def answer(self, name: str) -> Answer:
        """Add the deltas up."""
        total: Answer = Counter()
        for delta in self.deltas[name]:
            for solutions, weight in ((delta.added, 1), (delta.removed, -1)):
                for solution in solutions:
                    total[frozenset((key, str(term)) for key, term in solution.asdict().items())] += weight
        return +total


def _fail(subscription: rdflive.Subscription, error: Exception) -> None:
    raise error


class _Native:
    """A pyoxigraph store that is asked again."""

    def __init__(self, history: History) -> None:
        self.store = Store()
        self.store.extend(_quad(triple) for triple in history.base)

    def replay(self, changes: list[Changes], query: str | None) -> float:
        """Make the changes, asking after each; give the seconds of asking."""
        store, seconds = self.store, 0.0
        for batch in changes:
            for sign, triple in batch:
                (store.add if sign > 0 else store.remove)(_quad(triple))
            if query is None:
                continue
            start = perf_counter()
            found: Any = store.query(query)
            list(found)
            seconds += perf_counter() - start
        return seconds

    def answer(self, query: str) -> Answer:
        """Evaluate the query."""
        found: Any = self.store.query(query)
        names = [variable.value for variable in found.variables]
        return Counter(
            frozenset((n, term.value) for n, term in zip(names, row, strict=True) if term is not None)
            for row in found
        )


def _quad(triple: Any) -> Quad:
    from oxrdflib._converter import to_ox

    s, p, o = map(to_ox, triple)
    return Quad(s, p, o)  # type: ignore[arg-type]  # to_ox says less than it knows


def _compare(history: History, repeat: int) -> Iterator[dict[str, Cell]]:
    names = list(history.queries)
    variants: dict[str, list[str]] = {name: [name] for name in names}
    if len(names) > 1:
        variants[f"all {len(names)} queries"] = names
    bare = _Watched(history, [])
    watched = {key: _Watched(history, chosen) for key, chosen in variants.items()}
    native = _Native(history)
    _check(history, watched, native)
    plain: list[float] = []
    kept: dict[str, list[float]] = {key: [] for key in variants}
    asked: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(repeat):
        with quiet():
            plain.append(bare.replay(history.changes))
            for key, graph in watched.items():
                kept[key].append(graph.replay(history.changes))
            for name, query in history.queries.items():
                asked[name].append(native.replay(history.changes, query))
    per = 1000 / len(history.changes)
    for key, chosen in variants.items():
        again = [sum(seconds) for seconds in zip(*(asked[name] for name in chosen), strict=True)]
        fresh = [k - p for k, p in zip(kept[key], plain, strict=True)]
        yield {
            "history": history.name,
            "changes": len(history.changes),
            "query": key,
            "bare": middle(plain) * per,
            "subscription": middle(kept[key]) * per,
            "query_again": middle(again) * per,
            "ratio": ratio([a + p for a, p in zip(again, plain, strict=True)], kept[key]),
            "over_fresh": ratio(again, fresh) if min(fresh) > 0 else None,
        }


def _check(history: History, watched: dict[str, _Watched], native: _Native) -> None:
    """Replay once, comparing the answers half way and at the end."""
    half = len(history.changes) // 2
    for changes in (history.changes[:half], history.changes[half:]):
        native.replay(changes, None)
        answers = {name: native.answer(query) for name, query in history.queries.items()}
        for graph in watched.values():
            graph.replay(changes)
            for name in graph.deltas:
                if graph.answer(name) != answers[name]:
                    raise AssertionError(f"{history.name}, {name}: the deltas are not Oxigraph's answer")
