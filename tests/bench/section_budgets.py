"""(ac) What a budget costs per add, and what ten equal subscriptions cost that share a plan."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time
from typing import Any, Final

import pyoxigraph as ox

import rdflive
from bench.clock import interleave, middle, ratio, timed
from bench.page import Page
from bench.report import Section
from bench.sizes import Sizes
from bench.worlds import EX

QUERIES: Final = {
    "one pattern": "SELECT * { ?s :p ?o }",
    "join of two": "SELECT * { ?s :p ?o . ?s :k ?x }",
    "constants differ": "SELECT * { ?s :p ?o . ?s :k :k0 }",
    "DISTINCT": "SELECT DISTINCT ?s { ?s :p ?o }",
    "OPTIONAL": "SELECT * { ?s :p ?o OPTIONAL { ?s :k ?x } }",
    "join, GROUP BY, COUNT": "SELECT ?x (COUNT(?o) AS ?n) { ?s :p ?o . ?s :k ?x } GROUP BY ?x",
    "FILTER with a string": "SELECT * { ?s :p ?o FILTER(STRLEN(STR(?o)) > 2) }",
    "BIND of a string": 'SELECT * { ?s :p ?o BIND(CONCAT(STR(?o), "x") AS ?x) }',
}
"""Where constants differ, they do in ten subscriptions; elsewhere these are equal."""
MANY: Final = 10
_SUBJECTS: Final = 1000

PAGE = Page(
    "ac",
    "Budgets",
    "Three `LiveStore`s take turns at adds: with one subscription, with one that has a budget, and with "
    "ten that have one; times are µs of CPU.",
    "*With / without* is the cost of the budget, and *ten / one* that of nine more subscriptions on a "
    "shared plan.",
    "query without of_without of_one",
    lambda row: row["query"] not in ("constants differ", "DISTINCT"),
)


def run(sizes: Sizes) -> Section:
    """Add the same fresh quads to stores that differ in their subscriptions, in CPU time, in turns."""
    section = Section(
        "budgets",
        f"LiveStore.add with budgets, {sizes.adds // 10:,} fresh quads per repeat: µs of CPU",
        sizes.adds // 10,
        "query | without: one, without a budget | with: one, with a budget | of_without: with / without | "
        "ten: ten equal ones with a budget, or with other constants | of_one: ten / one",
        repeat=sizes.repeat,
    )
    adds = sizes.adds // 10
    for name, query in QUERIES.items():
        seconds = interleave(
            {
                "without": _adding(query, 1, None, adds),
                "with": _adding(query, 1, rdflive.Budget(), adds),
                "ten": _adding(query, MANY, rdflive.Budget(), adds),
            },
            sizes.repeat,
        )
        micros = {way: 1e6 * middle(found) for way, found in seconds.items()}
        section.add(
            query=name,
            without=micros["without"],
            of_without=ratio(seconds["with"], seconds["without"]),
            ten=micros["ten"],
            of_one=ratio(seconds["ten"], seconds["with"]),
            **{"with": micros["with"]},
        )
    return section


def _adding(query: str, count: int, budget: rdflive.Budget | None, adds: int) -> Callable[[int], float]:
    """Subscribe on a store; gives the function that adds quads of a round and gives the seconds for each."""
    store = rdflive.LiveStore()
    for number in range(_SUBJECTS):
        store.add(ox.Quad(_name(f"s{number}"), _name("k"), _name(f"k{number % 50}")))
    store.add(ox.Quad(_name("there"), _name("p"), _name("there")))
    texts = [f"PREFIX : <{EX}> {query.replace(':k0', f':k{number}')}" for number in range(count)]
    kept: list[Any] = [rdflive.subscribe(store, text, _ignore, budget=budget) for text in texts]

    def add(number: int) -> float:
        begin = number * adds
        quads = [
            ox.Quad(_name(f"s{i % _SUBJECTS}"), _name("p"), ox.Literal(begin + i + 100)) for i in range(adds)
        ]
        seconds, _ = timed(lambda: [store.add(quad) for quad in quads], process_time)
        if any(subscription.closed for subscription in kept):
            raise AssertionError(f"{query} has ended")
        return seconds / adds

    return add


def _name(local: str) -> ox.NamedNode:
    return ox.NamedNode(EX + local)


def _ignore(delta: rdflive.Delta) -> None:
    """Take a delta and do nothing."""
