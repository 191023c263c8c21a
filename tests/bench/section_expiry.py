"""(n) The experiment of IMaRS, Figure 7: what a slide of a window costs, by how triples expire."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from itertools import islice
from statistics import median
from time import perf_counter
from typing import Any, Final

from bench.child import apart
from bench.forests import WORLDS, Sliding, Triple, World
from bench.page import Page
from bench.report import Section
from bench.sizes import Sizes
from rdflive.engine.dictionary import Dictionary
from rdflive.engine.terms import TermTable
from rdflive.entail.entailment import ExplicitGraph, Sign
from rdflive.entail.rules.closure import AnnotatedGraph, FactClosure
from rdflive.entail.rules.keys import Key
from rdflive.entail.rules.labels import Labels
from rdflive.time.expiry import program_of, regime_for
from rdflive.time.windows import ALWAYS

RATES: Final = (0.0001, 0.001, 0.01, 0.025, 0.05, 0.15)
"""The triples that arrive at a slide, as shares of the background."""
WAYS: Final = ("labels", "dred", "keep-all", "recompute")
SLIDES: Final = {"recompute": 2}
"""How many slides are timed, where that is not as many as there are repeats."""

_SHOWN = ("deep trees", "renewed trees", "RDFS")
"""What the page shows."""
PAGE = Page(
    "n",
    "A slide of a window over background knowledge, by how what they entail expires",
    "A window slides over a background, and entailed triples follow by rdflive's labels, by a DRed with "
    "the same joins, or by recomputing.",
    "Labels are faster where triples expire for good, and slower where they return at once (renewed trees).",
    "what rate labels dred recompute ratio_dred",
    lambda row: row["what"] in _SHOWN and row["rate"] in (2.5, 15),
)


def run(sizes: Sizes) -> Section:
    """Measure every world in a process of its own."""
    section = Section(
        "expiry",
        "Windows over background knowledge: time per slide by how what they entail expires",
        sizes.expiring,
        "what | rate: % of the background that arrives | "
        "arriving: triples that arrive, and that leave | held: explicit and entailed triples | "
        "labels: labels, ms | dred: DRed, ms | keep-all: keep all, ms | recompute: recompute, ms | "
        "ratio_dred: labels: times as fast as DRed | ratio_keep: as keep all | "
        "ratio_recompute: as recompute",
        repeat=sizes.repeat,
    )
    for name in WORLDS:
        section.rows += apart(_measure, name=name, count=sizes.expiring, repeat=sizes.repeat)
    return section


class _Side:
    """What is explicit, as ids; the background at first."""

    def __init__(self, sliding: Sliding) -> None:
        self.dictionary = Dictionary()
        self._explicit = Labels(self.dictionary)
        self._put(sliding.background)

    def _put(self, triples: Iterable[Triple]) -> None:
        self._explicit.put_all(self._ids(triples), ALWAYS)

    def _ids(self, triples: Iterable[Triple]) -> list[Any]:
        intern = self.dictionary.intern
        return [(intern(s), intern(p), intern(o)) for s, p, o in triples]


class _Labelled(_Side):
    """A closure with labels."""

    def __init__(self, world: World, sliding: Sliding) -> None:
        super().__init__(sliding)
        terms = TermTable(self.dictionary, _same, None)
        graph = AnnotatedGraph(self.dictionary, terms, _same, self._matching)
        self._closure = FactClosure(program_of(world.regime()), graph)
        self._closure.want([world.wanted])
        self._before = self._closure.labels.watch()
        self._first, self._now = 0, 0

    def fill(self, parts: Iterable[list[Triple]]) -> None:
        changes = {}
        for part in parts:
            changes.update(dict.fromkeys(self._ids(part), self._now))
            self._now += 1
        self._closure.update(changes)
        self._closure.labels.forget(self._before)

    def slide(self, arriving: list[Triple], leaving: list[Triple]) -> None:
        self._closure.update(dict.fromkeys(self._ids(arriving), self._now))
        self._now += 1
        self._first += 1
        labels, is_wanted = self._closure.labels, self._closure.is_wanted
        list(filter(is_wanted, labels.between(self._first - 1, self._first)))  # what has expired
        [triple for triple, old in self._before.items() if old is None and is_wanted(triple)]  # what came
        self._closure.labels.forget(self._before)
        self._closure.expire(self._first)
        self.dictionary.sweep()

    def holds(self) -> int:
        return len(self._closure.labels.table)

    def _matching(self, key: Key) -> Iterator[tuple[Any, int]]:
        return ((triple, ALWAYS) for triple in self._explicit.matching(key))


class _Deleting(_Side):
    """An entailment that receives expiries as deletes."""

    def __init__(self, way: Any, world: World, sliding: Sliding) -> None:
        super().__init__(sliding)
        self._wanted = world.wanted
        terms = TermTable(self.dictionary, _same, None)
        graph = ExplicitGraph(self._matching, self.dictionary, terms, _same)
        self._entailment = regime_for(way, world.regime()).start(graph)
        self._entailment.want([self._wanted])

    def fill(self, parts: Iterable[list[Triple]]) -> None:
        arriving = [triple for part in parts for triple in part]
        self._put(arriving)
        self._entailment.update([(1, triple) for triple in arriving])

    def slide(self, arriving: list[Triple], leaving: list[Triple]) -> None:
        for triple in self._ids(leaving):
            self._explicit.remove(triple)
        self._put(arriving)
        before, after = set(leaving), set(arriving)
        changes: list[tuple[Sign, Triple]] = [(-1, triple) for triple in leaving if triple not in after]
        changes += ((1, triple) for triple in arriving if triple not in before)
        list(self._entailment.update(changes))
        self.dictionary.sweep()

    def holds(self) -> int:
        return sum(1 for _ in self._entailment.triples(self._wanted))

    def _matching(self, pattern: Any) -> Iterator[Any]:
        terms, known = self.dictionary.terms, self.dictionary.ids.get
        s, p, o = (0 if term is None else known(term, -1) for term in pattern)
        for triple in list(self._explicit.matching(Key(s, p, o))):
            yield tuple(terms[i] for i in triple)


def _same(term: Any) -> Any:
    return term


def _measure(name: str, count: int, repeat: int) -> list[dict[str, Any]]:
    rows = []
    for rate in RATES:
        sliding = Sliding(WORLDS[name], count, rate)
        row: dict[str, Any] = {"what": name, "rate": 100 * rate, "arriving": sliding.step}
        sizes = set()
        for way in WAYS:
            row[way], size = _timed(way, WORLDS[name], sliding, SLIDES.get(way, 2 * repeat), 2 * repeat)
            sizes.add(size)
        if len(sizes) > 1:
            raise AssertionError(f"{name}, {rate}: the ways hold {sizes} triples")
        row["held"] = sizes.pop()
        row["ratio_dred"] = row["dred"] / row["labels"]
        row["ratio_keep"] = row["keep-all"] / row["labels"]
        row["ratio_recompute"] = row["recompute"] / row["labels"]
        rows.append(row)
    return rows


def _timed(way: str, world: World, sliding: Sliding, slides: int, all_slides: int) -> tuple[float, int]:
    """Give the milliseconds per slide, and how much is held after as many slides as all make."""
    side: Any = _Labelled(world, sliding) if way == "labels" else _Deleting(way, world, sliding)
    parts = list(islice(sliding.parts(), sliding.slides + all_slides))
    if slides < all_slides:  # the first ones are not timed: the window begins where they end
        parts = parts[all_slides - slides :]
    side.fill(parts[: sliding.slides])
    seconds = []
    gc.collect()
    gc.disable()
    for leaving, arriving in zip(parts, parts[sliding.slides :], strict=False):
        start = perf_counter()
        side.slide(arriving, leaving)
        seconds.append(perf_counter() - start)
    gc.enable()
    return 1e3 * median(seconds), side.holds()
