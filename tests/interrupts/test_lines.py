"""Exceptions at any line that runs during a commit: the next commit mends what they leave behind."""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator

import pytest

from interrupts.lines import lines_of, raising_at
from interrupts.worlds import OPERATIONS, REGIMES, world
from support.effort import DEEP, drawn_from, rounds

ERRORS = {error.__name__: error for error in (KeyboardInterrupt, MemoryError, RecursionError)}
STORES = ["default", "Oxigraph"]


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)  # each of the failures would be told at length
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.timeout(3600)
@pytest.mark.turns(by="error")
@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_exception_at_any_line_is_mended(operation: str, store: str, regime: str, error: str) -> None:
    """Other threads can write at once, and after the next commit each subscriber knows what there is."""
    if store == "Oxigraph":
        pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    act = OPERATIONS[operation]
    with world(store, regime) as before:
        places = lines_of(lambda: act(before))
    if not DEEP:
        draw = drawn_from("lines", operation, store, regime, error)
        places = draw.sample(places, min(len(places), rounds(15)))
    wrong = {}
    for place in places:
        with world(store, regime) as made:
            if raising_at(place, ERRORS[error], lambda made=made: act(made)) and (found := made.check()):
                wrong[place] = found
    gc.collect()
    assert not wrong, f"{len(wrong)} of {len(places)} lines: {wrong}"
