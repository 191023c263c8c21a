"""(h) Queries of other benchmarks kept fresh: subscriptions beside evaluating again on Oxigraph."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

from bench.again import Asked, Watched
from bench.clock import middle, quiet, ratio
from bench.histories import DATA, Changes, History, social_network, train_benchmark
from bench.page import Page
from bench.report import Cell, Section, cells
from bench.sizes import Sizes
from bench.worlds import STORES

_SHOWN = ("ConnectedSegments", "SwitchMonitoredInject", "SwitchSetInject", "all 8 queries", "Q1")
"""What the page shows."""
PAGE = Page(
    "h",
    "Queries of other benchmarks",
    "Changes of the Train Benchmark and the TTC 2018 social network reach an rdflib graph over Oxigraph, "
    "with a subscription or without.",
    "The ratio counts the bare change on both sides; below 1, evaluating again on pyoxigraph is cheaper "
    "than a subscription.",
    "history query bare subscription query_again ratio",
    lambda row: row["query"] in _SHOWN and row["history"].endswith(("batch-1", "single changes")),
)


def run(sizes: Sizes) -> Section:
    """Replay the changes with each query subscribed, with all of them, and with Oxigraph evaluating again."""
    section = Section(
        "queries",
        "Queries of other benchmarks kept fresh, on Oxigraph, after each change",
        sizes.faults,
        "history | changes: changes per round | query | bare: ms per change, bare | "
        "subscription: ms per change, subscription and bare change | "
        "query_again: ms per change, query again alone | "
        "ratio: (bare change + query again) / subscription | "
        "over_fresh: query again / (subscription - bare change)",
        repeat=sizes.repeat,
    )
    if not DATA.exists():
        section.notes.append(f"Nothing was measured: {DATA} is absent (set RDFLIVE_SHARED).")
        return section
    for history in _histories(sizes):
        section.rows += _compare(history, sizes.repeat)
    return section


def _histories(sizes: Sizes) -> Iterator[History]:
    for model in sizes.models:
        yield train_benchmark(model, sizes.faults)
    for size in sizes.networks:
        yield from social_network(size, sizes.sets)


def _asking(native: Asked, changes: list[Changes], query: str | None) -> float:
    """Make the changes, asking after each; give the seconds of asking."""
    seconds = 0.0
    for batch in changes:
        for sign, triple in batch:
            native.change(sign, triple)
        if query is not None:
            start = perf_counter()
            native.evaluate(query)
            seconds += perf_counter() - start
    return seconds


def _watched(history: History, names: list[str]) -> Watched:
    graph = STORES["Oxigraph"]()
    graph.addN((*triple, graph) for triple in history.base)
    return Watched(graph, {name: history.queries[name] for name in names}, reads=True)


def _compare(history: History, repeat: int) -> Iterator[dict[str, Cell]]:
    names = list(history.queries)
    variants: dict[str, list[str]] = {name: [name] for name in names}
    if len(names) > 1:
        variants[f"all {len(names)} queries"] = names
    bare = _watched(history, [])
    watched = {key: _watched(history, chosen) for key, chosen in variants.items()}
    native = Asked(history.base)
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
                asked[name].append(_asking(native, history.changes, query))
    per = 1000 / len(history.changes)
    for key, chosen in variants.items():
        again = [sum(seconds) for seconds in zip(*(asked[name] for name in chosen), strict=True)]
        fresh = [k - p for k, p in zip(kept[key], plain, strict=True)]
        yield cells(
            history=history.name,
            changes=len(history.changes),
            query=key,
            bare=middle(plain) * per,
            subscription=middle(kept[key]) * per,
            query_again=middle(again) * per,
            ratio=ratio([a + p for a, p in zip(again, plain, strict=True)], kept[key]),
            over_fresh=ratio(again, fresh) if min(fresh) > 0 else None,
        )


def _check(history: History, watched: dict[str, Watched], native: Asked) -> None:
    """Replay once, comparing the answers half way and at the end."""
    half = len(history.changes) // 2
    for changes in (history.changes[:half], history.changes[half:]):
        _asking(native, changes, None)
        answers = {name: native.answer(query) for name, query in history.queries.items()}
        for graph in watched.values():
            graph.replay(changes)
            for name in graph.deltas:
                if graph.answer(name) != answers[name]:
                    raise AssertionError(f"{history.name}, {name}: the deltas are not Oxigraph's answer")
