"""(i) A `+` path between two variables under changes of single edges, beside computing its closure again."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from statistics import mean, median
from time import perf_counter
from typing import Final, TypeAlias

import rdflive
from bench.again import Asked
from bench.clock import quiet, timed
from bench.page import Page
from bench.report import Cell, Section, cells
from bench.sizes import Sizes
from bench.stream import SEED
from bench.worlds import EX, STORES, fill, iri
from rdflive.engine.dictionary import Dictionary
from rdflive.engine.operators import ClosureOperator

Link: TypeAlias = tuple[int, int]
"""An edge, from the earlier node to the later one."""
FIRST: Final = 10
"""The number of the first node; smaller ones name predicates."""
QUERY: Final = f"SELECT * {{ ?a <{EX}1>+ ?b }}"
EVALUATIONS: Final = 3
"""How often a closure is computed again; of the largest that takes seconds."""

_AGAIN = ("random tree", "query again, Oxigraph")
"""What the page shows."""
PAGE = Page(
    "i",
    "`+` paths",
    "A subscription to `?a :p+ ?b` on 10,000 nodes follows single edges, and Oxigraph evaluates the path "
    "again.",
    "The cost of an update follows the pairs that it changes.",
    "graph way output update over_oxigraph",
    lambda row: (
        row["statistic"] == "mean"
        and (row["way"] == "subscription, Oxigraph" or (row["graph"], row["way"]) == _AGAIN)
    ),
)


def run(sizes: Sizes) -> Section:
    """Delete edges of each graph and insert them again."""
    repeat = min(EVALUATIONS, sizes.repeat)
    section = Section(
        "paths",
        f"`?a :p+ ?b` on {sizes.nodes:,} nodes, {sizes.edges:,} edges deleted and inserted again, one by one",
        sizes.edges,
        "graph | pairs: pairs connected | way | output: pairs changed per update | statistic | "
        "update: ms per update | over_oxigraph: × as fast as Oxigraph's query | "
        "over_search: × as fast as a search from every node | "
        "over_filling: × as fast as filling the operator",
        repeat=repeat,
    )
    for name, links in _graphs(sizes.nodes).items():
        section.rows += _compare(name, links, sizes.edges, repeat)
    return section


def _graphs(n: int) -> dict[str, list[Link]]:
    rng = random.Random(SEED)
    tree = [(rng.randrange(i), i) for i in range(1, n)]
    more = (sorted(rng.sample(range(n), 2)) for _ in range(n // 10))
    layer = max(2, n // 10)
    graphs = {
        "random tree": tree,
        "deep tree": [(rng.randrange(max(0, i - 100), i), i) for i in range(1, n)],
        "sparse DAG": [*tree, *((u, v) for u, v in more)],
        "random DAG": [(rng.randrange(i), i) for i in range(1, n) for _ in range(2)],
        "layered DAG": [
            ((i // layer - 1) * layer + rng.randrange(layer), i) for i in range(layer, n) for _ in range(2)
        ],
    }
    return {name: [(u + FIRST, v + FIRST) for u, v in dict.fromkeys(links)] for name, links in graphs.items()}


@dataclass
class _Way:
    """One way to follow the closure, and the seconds of each of its updates."""

    change: Callable[[int, Link], object]
    """Inserts (+1) or deletes (-1) an edge."""
    pairs: Callable[[], int]
    """Counts the pairs that are connected now."""
    changed: list[int]
    """The sizes of the deltas."""
    rounds: list[list[float]]

    def replay(self, links: Sequence[Link]) -> None:
        """Delete each edge and insert it again."""
        change = self.change
        seconds = []
        with quiet():
            for link in links:
                for sign in (-1, 1):
                    start = perf_counter()
                    change(sign, link)
                    seconds.append(perf_counter() - start)
        self.rounds.append(seconds)


def _through_graph(store: str, links: list[Link]) -> _Way:
    graph = fill(store, [(u, 1, v) for u, v in links])
    changed: list[int] = []
    predicate = iri(1)

    def take(delta: rdflive.Delta) -> None:
        changed.append(len(delta.added) + len(delta.removed))

    def change(sign: int, link: Link) -> None:
        (graph.add if sign > 0 else graph.remove)((iri(link[0]), predicate, iri(link[1])))

    subscription = rdflive.subscribe(graph, QUERY, take, initial=False)
    return _Way(change, lambda: len(subscription.answers()), changed, [])


def _by_operator(links: list[Link]) -> _Way:
    closure = _fill_operator(links)
    changed: list[int] = []

    def change(sign: int, link: Link) -> None:
        changed.append(len(closure.update({link: sign})))

    return _Way(change, lambda: len(closure.rows()), changed, [])


def _fill_operator(links: list[Link]) -> ClosureOperator:
    terms = Dictionary()
    terms.hold([terms.intern(number) for number in range(max(map(max, links)))])
    closure = ClosureOperator(terms, reflexive=False, seeded=False)
    closure.update(dict.fromkeys(links, 1))
    return closure


def _asked(links: list[Link]) -> Asked:
    return Asked((iri(u), iri(1), iri(v)) for u, v in links)


def _search(links: list[Link]) -> int:
    """Search from every node, and count the pairs."""
    succ: dict[int, list[int]] = {}
    for u, v in links:
        succ.setdefault(u, []).append(v)
    reached = {start: _reach(start, succ) for start in succ}
    return sum(map(len, reached.values()))


def _reach(start: int, succ: dict[int, list[int]]) -> set[int]:
    found: set[int] = set()
    frontier = {start}
    while frontier:
        frontier = {v for u in frontier for v in succ.get(u, ())} - found
        found |= frontier
    return found


def _compare(name: str, links: list[Link], edges: int, repeat: int) -> Iterator[dict[str, Cell]]:
    ways = {f"subscription, {store}": _through_graph(store, links) for store in STORES}
    ways["operator alone"] = _by_operator(links)
    native = _asked(links)
    again: dict[str, Callable[[], int]] = {
        "query again, Oxigraph": lambda: native.evaluate(QUERY),
        "search again, Python": lambda: _search(links),
        "operator filled again": lambda: len(_fill_operator(links).rows()),
    }
    seconds = _rounds(links, edges, repeat, ways, again)
    changed = {key: sum(way.changed) / sum(map(len, way.rounds)) for key, way in ways.items()}
    _check(name, links, ways)
    pairs = _search(links)
    for key, way in ways.items():
        for statistic, middle in (("median", median), ("mean", mean)):
            oxigraph, search, filling = (_faster(found, way.rounds, middle) for found in seconds.values())
            yield cells(
                graph=name,
                pairs=pairs,
                way=key,
                output=changed[key],
                statistic=statistic,
                update=1000 * middle([second for found in way.rounds for second in found]),
                over_oxigraph=oxigraph,
                over_search=search,
                over_filling=filling,
            )
    for key, found in seconds.items():
        yield {
            "graph": name, "pairs": pairs, "way": key, "statistic": "mean", "update": 1000 * mean(found)
        }  # fmt: skip


def _rounds(
    links: list[Link],
    edges: int,
    repeat: int,
    ways: dict[str, _Way],
    again: dict[str, Callable[[], int]],
) -> dict[str, list[float]]:
    """Run all ways in turn, and return the seconds of each computation from the start."""
    rng = random.Random(SEED)
    found: dict[str, list[float]] = {key: [] for key in again}
    for number in range(repeat):
        chosen = rng.sample(links, min(edges, len(links)))
        turn = number % len(ways)
        for way in [*ways.values()][turn:] + [*ways.values()][:turn]:
            way.replay(chosen)
        for key, work in again.items():
            seconds, _ = timed(work)
            found[key].append(seconds)
    return found


def _check(name: str, links: list[Link], ways: dict[str, _Way]) -> None:
    """Compare the pairs on all edges, and again without some of the edges."""
    gone = links[:: max(1, len(links) // 50)]
    for left in (links, [link for link in links if link not in gone]):
        if left is not links:
            for way, link in product(ways.values(), gone):
                way.change(-1, link)
        counts = {key: way.pairs() for key, way in ways.items()}
        counts |= {"search": _search(left), "query": _asked(left).evaluate(QUERY)}
        if len(set(counts.values())) != 1:
            raise AssertionError(f"{name}: different numbers of pairs: {counts}")


def _faster(again: list[float], rounds: list[list[float]], middle: Callable[[list[float]], float]) -> float:
    """Give the median over the rounds of one computation's time over one update's."""
    return median(once / middle(seconds) for once, seconds in zip(again, rounds, strict=True))
