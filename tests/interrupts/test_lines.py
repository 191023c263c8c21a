"""Exceptions at any line of a commit: the next commit repairs the state."""

from __future__ import annotations

import gc
import logging
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import product

import pytest
import rdflib

import rdflive
from interrupts.lines import LineRun, drawn, lines_of, raising_at
from interrupts.worlds import OPERATIONS, REGIMES, lines_run, world
from support.effort import HUNT, drawn_from

ERRORS = {error.__name__: error for error in (KeyboardInterrupt, MemoryError, RecursionError)}
STORES = ["default", "Oxigraph"]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)  # each failure would be logged at length
    yield
    logging.disable(logging.NOTSET)


@cache
def shared_out(store: str, error: str) -> dict[tuple[str, str], list[LineRun]]:
    """Assign each line to one operation that runs it, at one of its runs."""
    places: dict[tuple[str, int], list[tuple[tuple[str, str], LineRun]]] = defaultdict(list)
    for operation, regime in product(OPERATIONS, REGIMES):
        for place in lines_run(operation, store, regime):
            places[place[:2]].append(((operation, regime), place))
    draw = drawn_from("lines", store, error)
    shared: dict[tuple[str, str], list[LineRun]] = defaultdict(list)
    for _, times in sorted(places.items()):
        case, place = draw.choice(times)
        shared[case].append(place)
    return shared


@pytest.mark.timeout(3600)
@pytest.mark.sampled(by="kind")
@pytest.mark.parametrize("kind", list(product(REGIMES, ERRORS)), ids="-".join)
@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_exception_at_any_line_is_mended(operation: str, store: str, kind: tuple[str, str]) -> None:
    """Other threads can write at once, and after the next commit each subscriber has the right answer."""
    if store == "Oxigraph":
        pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    regime, error = kind
    places = (
        shared_out(store, error)[operation, regime]
        if HUNT
        else drawn(lines_run(operation, store, regime), 12, operation, store, *kind)
    )
    wrong = {}
    for place in places:
        with world(store, regime) as made:
            came = raising_at(place, ERRORS[error], lambda made=made: OPERATIONS[operation](made))
            if came and (found := made.check()):
                wrong[place] = found
    gc.collect()
    assert not wrong, f"{len(wrong)} of {len(places)} lines: {wrong}"


def test_a_close_that_was_interrupted_is_called_again() -> None:
    """Each member of a plan leaves its budgets once, so the other member can close, too."""

    def opened() -> list[rdflive.Subscription]:
        graph = rdflib.Graph()
        text = "SELECT * { <urn:a> <urn:p> ?y . ?y <urn:q> ?z }"
        return [rdflive.subscribe(graph, text, budget=rdflive.Budget(rows=99)) for _ in range(2)]

    for place in lines_of(opened()[0].close):
        first, second = opened()
        raising_at(place, KeyboardInterrupt, first.close)
        first.close()
        second.close()
