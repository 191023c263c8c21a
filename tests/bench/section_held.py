"""(af) State by demand in cases where it could cost more than whole patterns."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from time import process_time
from typing import Any, Final

from rdflib import Graph, URIRef

import rdflive
from bench.child import apart
from bench.clock import quiet
from bench.demands import WORLDS, Triple
from bench.page import Page
from bench.report import Cell, Section, cells
from bench.sizes import Sizes
from bench.stream import SEED
from bench.worlds import EX

__all__ = ["run"]

WAYS: Final = ("auto", "whole")
Steps = Iterator[tuple[int, Triple]]
"""Changes, each a commit: a sign and a triple."""

PAGE = Page(
    "af",
    "State by demand, and whole patterns",
    "rdflive keeps only the triples of requested values, until looking them up costs half of reading the "
    "whole pattern.",
    "The cases are those where this could cost more than keeping whole patterns of a million triples, in "
    "CPU time.",
    "case auto whole ratio",
)


def run(sizes: Sizes) -> Section:
    """Measure each case in a process of its own for each way."""
    section = Section(
        "held",
        "State by demand for many values, or for other values each time",
        sizes.held,
        "case | changes | auto: s, chosen by rdflive | whole: s, whole | ratio: chosen / whole | "
        "entries: entries at the end, chosen | all: entries, whole | end: state at the end",
        repeat=1,
    )
    for case in CASES:
        found = {way: apart(_measure, case=case, way=way, count=sizes.held) for way in WAYS}
        if found["auto"]["rows"] != found["whole"]["rows"]:
            raise AssertionError(f"{case} tells {found['auto']['rows']} rows, not {found['whole']['rows']}")
        section.rows.append(
            cells(
                case=case,
                changes=found["auto"]["changes"],
                auto=found["auto"]["seconds"],
                whole=found["whole"]["seconds"],
                ratio=found["auto"]["seconds"] / found["whole"]["seconds"],
                entries=found["auto"]["entries"],
                all=found["whole"]["entries"],
                end=found["auto"]["end"],
            )
        )
    return section


def _people(count: int) -> Iterator[Triple]:
    return WORLDS["people"].triples(count)


def _hub(count: int) -> Iterator[Triple]:
    """One user likes nearly everything, among others."""
    yield from (("hub", "likes", f"t{i}") for i in range(count * 8 // 10))
    yield from ((f"p{i}", "likes", f"t{i}") for i in range(count // 10))
    yield from ((f"t{i}", "in", f"c{i % 100}") for i in range(count // 10))


def _toggled(count: int) -> Steps:
    for _ in range(10):
        yield 1, ("p1", "knows", "hub")
        yield -1, ("p1", "knows", "hub")


def _growing(count: int) -> Steps:
    for i in range(count // 10):
        yield 1, ("p1", "knows", f"p{i}")


def _flipping(count: int) -> Steps:
    chance = random.Random(SEED)
    for _ in range(count // 20):
        triple = "p1", "knows", f"p{chance.randrange(count // 10)}"
        yield 1, triple
        yield -1, triple


def _neighbours(count: int) -> Steps:
    chance = random.Random(SEED)
    for i in range(count // 50):
        triple = f"p{chance.randrange(1000)}", "knows", f"p{chance.randrange(count // 10)}"
        yield 1, triple
        yield 1, (f"x{i}", "likes", "t1")
        yield -1, triple


PATH: Final = ":p1 :knows ?y . ?y :likes ?t . ?t :in ?c"
CASES: Final[dict[str, tuple[Callable[[int], Iterator[Triple]], Callable[[int], Steps], Sequence[str]]]] = {
    "one value with most triples comes and goes": (
        _hub,
        _toggled,
        [":p1 :knows ?y . ?y :likes ?t . ?t :in :c1"],
    ),
    "what is asked for grows to everything": (_people, _growing, [PATH]),
    "another value in each commit": (_people, _flipping, [PATH]),
    "1,000 members that overlap": (_people, _neighbours, [PATH.replace("p1", f"p{i}") for i in range(1000)]),
}


def _measure(case: str, way: Any, count: int) -> dict[str, Cell]:
    make, steps, texts = CASES[case]
    graph = Graph()
    for triple in make(count):
        graph.add(_terms(triple))
    changes = [(sign, _terms(triple)) for sign, triple in steps(count)]
    warm = Graph()
    rdflive.subscribe(warm, f"PREFIX : <{EX}> SELECT * {{ {texts[0]} }}", algorithm=way).close()
    rows = 0

    def count_rows(delta: rdflive.Delta) -> None:
        nonlocal rows
        rows += len(delta.added) + len(delta.removed)

    with ExitStack() as opened, quiet():
        start = process_time()
        subscriptions = [
            opened.enter_context(
                rdflive.subscribe(graph, f"PREFIX : <{EX}> SELECT * {{ {text} }}", count_rows, algorithm=way)
            )
            for text in texts
        ]
        for sign, change in changes:
            (graph.add if sign > 0 else graph.remove)(change)
        seconds = process_time() - start
        end = [line.partition(": ")[2] for line in subscriptions[0].explain().demand]
        return cells(
            seconds=seconds, rows=rows, changes=len(changes), entries=subscriptions[0].stats.entries,
            end="; ".join(end),
        )  # fmt: skip


def _terms(triple: Triple) -> Any:
    return tuple(URIRef(EX + name) for name in triple)
