"""(g) What an update costs beyond basic graph patterns: each operator on a small and a large graph."""

from __future__ import annotations

import gc
import re
import tracemalloc
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import perf_counter
from typing import Any, Final

import rdflive
from bench.again import fail
from bench.child import apart
from bench.clock import interleave, middle, quiet, ratio, timed
from bench.items import GROUP, IDLE, PREDICATES, Items
from bench.page import Page
from bench.report import Section, cells
from bench.sizes import Sizes
from bench.worlds import EX


@dataclass(frozen=True, slots=True)
class Case:
    """A query, and the triples that are deleted and inserted again while it is watched."""

    name: str
    query: str
    predicate: str = "value"
    suits: Callable[[int], bool] = lambda i: True


def _grouped(function: str) -> str:
    return f"SELECT ?g ({function} AS ?r) {{ ?s :group ?g . ?s :value ?v }} GROUP BY ?g"


CASES: Final = (
    Case("basic graph pattern of 2", "SELECT * { ?s :value ?v . ?s :group ?g }"),
    Case("FILTER, pushed to its pattern", "SELECT * { ?s :value ?v FILTER(?v < 500) }",
         suits=lambda i: Items.value(i) < 500),
    Case("FILTER, two variables", "SELECT * { ?s :value ?v . ?s :next ?t . ?t :value ?w FILTER(?v != ?w) }"),
    Case("FILTER, REGEX", 'SELECT * { ?s :label ?l FILTER(REGEX(?l, "^ITEM [0-9]*$", "i")) }', "label"),
    Case("BIND", "SELECT * { ?s :value ?v BIND(?v * 2 + 1 AS ?w) }"),
    Case("VALUES", "SELECT * { ?s :group ?g VALUES ?g { :group0 :group1 :group2 } }", "group",
         lambda i: i < 3 * GROUP),
    Case("UNION", "SELECT * { { ?s :value ?x } UNION { ?s :group ?x } }"),
    Case("join of two UNIONs",
         "SELECT * { { ?s :value ?x } UNION { ?s :label ?x } { ?s :group ?y } UNION { ?s :next ?y } }"),
    Case("OPTIONAL, left side", "SELECT * { ?s :value ?v OPTIONAL { ?s :next ?t } }"),
    Case("OPTIONAL, right side", "SELECT * { ?s :value ?v OPTIONAL { ?s :next ?t } }", "next"),
    Case("OPTIONAL with a filter on both sides",
         "SELECT * { ?s :value ?v OPTIONAL { ?s :next ?t . ?t :value ?w FILTER(?w > ?v) } }", "next"),
    Case("MINUS", "SELECT * { ?s :value ?v MINUS { ?s :next ?t } }", "next"),
    Case("FILTER NOT EXISTS", "SELECT * { ?s :value ?v FILTER NOT EXISTS { ?s :next ?t } }", "next"),
    Case("FILTER EXISTS, correlated by a filter",
         "SELECT * { ?s :value ?v FILTER EXISTS { ?s :next ?t . ?t :value ?w FILTER(?w != ?v) } }", "next"),
    Case("BIND(EXISTS)", "SELECT * { ?s :value ?v BIND(EXISTS { ?s :next ?t } AS ?e) }", "next"),
    Case("GROUP BY, COUNT", _grouped("COUNT(?v)")),
    Case("GROUP BY, COUNT DISTINCT", _grouped("COUNT(DISTINCT ?v)")),
    Case("GROUP BY, SUM", _grouped("SUM(?v)")),
    Case("GROUP BY, AVG", _grouped("AVG(?v)")),
    Case("GROUP BY, MIN", _grouped("MIN(?v)")),
    Case("GROUP BY, MAX", _grouped("MAX(?v)")),
    Case("GROUP BY, SAMPLE", _grouped("SAMPLE(?v)")),
    Case("GROUP BY, GROUP_CONCAT", _grouped("GROUP_CONCAT(?v)")),
    Case("GROUP BY, HAVING", _grouped("SUM(?v)") + " HAVING (COUNT(?v) > 5)"),
    Case("SUM, all in one group", "SELECT (SUM(?v) AS ?r) { ?s :value ?v }"),
    Case("MAX, all in one group", "SELECT (MAX(?v) AS ?r) { ?s :value ?v }"),
    Case("DISTINCT, 10 duplicates", "SELECT DISTINCT ?g { ?s :group ?g }", "group"),
    Case("subquery with GROUP BY, joined",
         f"SELECT * {{ ?s :group ?g {{ {_grouped('MAX(?v)')} }} }}"),
    Case("ORDER BY, LIMIT 10", "SELECT * { ?s :value ?v } ORDER BY DESC(?v) LIMIT 10"),
    Case("GRAPH ?g", "SELECT * { GRAPH ?g { ?s :tag ?t } }", "tag"),
    Case("GRAPH ?g, with OPTIONAL and GROUP BY",
         "SELECT ?g (COUNT(?u) AS ?n) { GRAPH ?g { ?s :tag ?t OPTIONAL { ?u :tag ?t } } } GROUP BY ?g",
         "tag"),
    Case("CONSTRUCT", "CONSTRUCT { ?s :has _:b . _:b :is ?v } WHERE { ?s :value ?v }"),
    Case("ASK", "ASK { ?s :value ?v }"),
    Case("path of one step or none", "SELECT * { ?s :value ?v . ?s :next? ?t }", "next"),
    Case("path +, from a constant", "SELECT * { :item0 :next+ ?t }", "next", lambda i: i < GROUP),
    Case("path +, from a constant, elsewhere", "SELECT * { :item0 :next+ ?t }", "next", lambda i: i >= GROUP),
    Case("path +, chains of 10", "SELECT * { ?s :next+ ?t }", "next"),
    Case("path *, from the values of a pattern", "SELECT * { ?s :group ?g . ?s :next* ?t }", "next"),
)  # fmt: skip

_SHOWN = (
    "basic graph pattern of 2", "FILTER, two variables", "OPTIONAL, left side", "FILTER NOT EXISTS",
    "GROUP BY, COUNT", "GROUP BY, SAMPLE", "DISTINCT, 10 duplicates", "ORDER BY, LIMIT 10",
    "path +, chains of 10",
)  # fmt: skip
"""What the page shows."""
PAGE = Page(
    "g",
    "Operators",
    "A triple that one operator reads is deleted and inserted again, in graphs of 10,000 and of 1,000,000 "
    "triples whose groups and chains are equally long.",
    "A ratio near 1 says that an update costs what it changes, and not what the graph contains.",
    "operator large ratio all",
    lambda row: row["operator"] in _SHOWN,
)


def run(sizes: Sizes) -> Section:
    """Watch one query after the other on both graphs, in a process of its own."""
    small, large = sizes.items
    section = Section(
        "operators",
        f"Operators: an update of a matching triple, graphs of {small:,} and {large:,} triples",
        sizes.toggles,
        "operator | output: rows of output per update | "
        f"update: µs per update, bare one included, {large:,} triples | "
        f"small: µs without the bare update, {small:,} triples | "
        f"large: µs without the bare update, {large:,} triples | ratio: large / small | "
        f"load: load, s, {large:,} triples | entries: entries per matching triple | "
        "size: bytes of their containers per matching triple | "
        f"all: all bytes per matching triple ({small:,} triples, tracemalloc)",
        repeat=sizes.repeat,
    )
    found = apart(_measure, counts=[small, large], toggles=sizes.toggles, repeat=sizes.repeat)
    section.rows += found["rows"]
    section.notes.append(
        "The bare update: {:.3g} µs and {:.3g} µs, medians over all rows.".format(*found["bare"])
    )
    return section


class _Watched:
    """A dataset with the subscription whose turn it is."""

    def __init__(self, count: int) -> None:
        self.world = Items(count)
        self.deltas: list[rdflive.Delta] = []
        self.rows = 0

    def open(self, case: Case) -> rdflive.Subscription:
        """Subscribe without a first delta."""
        self.rows = 0
        return rdflive.subscribe(
            self.world.graph, f"PREFIX : <{EX}> {case.query}", self._take, initial=False, on_error=fail
        )

    def _take(self, delta: rdflive.Delta) -> None:
        self.rows += len(delta.added) + len(delta.removed)
        self.deltas.append(delta)

    def run(self, predicate: str, suits: Callable[[int], bool], toggles: int, seed: int) -> float:
        """Make updates and give the µs of one."""
        operations = list(self.world.toggles(predicate, suits, toggles, seed))
        with quiet():
            start = perf_counter()
            for operation, triple in operations:
                operation(triple)
            seconds = perf_counter() - start
        net: Counter[Any] = Counter()
        for delta in self.deltas:
            for solution, weight in delta.weights().items():
                net[solution] += weight
        if any(net.values()):
            raise AssertionError(f"deletes of {predicate} and their undoing do not cancel")
        self.deltas.clear()
        return seconds / len(operations) * 1e6


def _measure(counts: list[int], toggles: int, repeat: int) -> dict[str, Any]:
    graphs = {str(count): _Watched(count) for count in counts}
    for graph in graphs.values():
        graph.open(CASES[0]).close()  # hooks the store, and loads what is loaded once
    gc.collect()
    gc.freeze()  # the graphs do not change hands any more: collections need not walk through them
    bare: list[list[float]] = [[] for _ in counts]
    rows = [_row(case, graphs, toggles, repeat, bare) for case in CASES]
    return {"rows": rows, "bare": [middle(found) for found in bare]}


def _row(
    case: Case, graphs: dict[str, _Watched], toggles: int, repeat: int, bare: list[list[float]]
) -> dict[str, Any]:
    small, large = graphs.values()
    predicates = {name for name in PREDICATES if re.search(rf":{name}\b", case.query)}
    traced = _trace(case, small) / small.world.size(predicates)
    _, first = timed(lambda: small.open(case))
    load, second = timed(lambda: large.open(case))
    with first, second:
        found = _rounds(case, graphs, toggles, repeat)
        _check(case, small, first)
        stats = second.stats
    matching = large.world.size(predicates)
    row = cells(
        operator=case.name,
        output=large.rows / (2 * toggles * repeat),
        update=middle(found[[*graphs][1]]),
        load=load,
        entries=stats.entries / matching,
        size=stats.size / matching,
        all=traced,
    )
    extra = []
    for number, name in enumerate(graphs):
        plain = found[name + " bare"]
        bare[number] += plain
        extra.append([a - b for a, b in zip(found[name], plain, strict=True)])
    if min(map(min, extra)) > 0:  # else the noise is larger than what an operator adds
        row |= {"small": middle(extra[0]), "large": middle(extra[1]), "ratio": ratio(extra[1], extra[0])}
    return row


def _rounds(case: Case, graphs: dict[str, _Watched], toggles: int, repeat: int) -> dict[str, list[float]]:
    """Update both graphs in turn, where the query watches and where nothing does."""
    runs: dict[str, Callable[[int], float]] = {}
    for name, graph in graphs.items():
        runs[name] = partial(graph.run, case.predicate, case.suits, toggles)
        runs[name + " bare"] = partial(graph.run, IDLE + case.predicate, case.suits, toggles)
    for run_ in runs.values():
        run_(-1)  # warm
    for graph in graphs.values():
        graph.rows = 0
    return interleave(runs, repeat)


def _check(case: Case, small: _Watched, subscription: rdflive.Subscription) -> None:
    kept = subscription.answers()
    with small.open(case) as fresh:
        if sorted(map(repr, kept)) != sorted(map(repr, fresh.answers())):
            raise AssertionError(f"{case.name}: the answer is not that of a fresh subscription")


def _trace(case: Case, graph: _Watched) -> int:
    """Give the bytes that a subscription keeps, its terms included."""
    gc.collect()
    tracemalloc.start()
    subscription = graph.open(case)
    gc.collect()
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    subscription.close()
    return kept
