"""Signal handlers and finalizers that use a store in the middle of a write of the same thread."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest
import rdflib

import rdflive
from interrupts.lines import acting_at, lines_of
from interrupts.worlds import OPERATIONS, World, lines_run, world
from support.effort import drawn_from, rounds

ACTS: dict[str, Callable[[World], object]] = {
    "answers": lambda made: made.subscriptions["optional"].answers(),
    "an iterator": lambda made: next(made.subscriptions["pattern"].deltas(5.0)),
    "close": lambda made: made.subscriptions["count"].close(),
    "a write": lambda made: made.graph.add(made.triple("a p z")),
    "a batch": OPERATIONS["batch"],
    "a removal": OPERATIONS["remove"],
    "the same triple": OPERATIONS["add"],
}
READS = ("answers", "an iterator", "close")


@pytest.mark.timeout(1800)
@pytest.mark.sampled(by="act")
@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("regime", ["none", "rdfs"])
@pytest.mark.parametrize("store", ["default", "Oxigraph"])
@pytest.mark.parametrize(
    "operation", ["add", "add what is there", "remove", "remove all that match", "batch", "update"]
)
def test_a_store_is_used_at_any_line_of_a_write(operation: str, store: str, regime: str, act: str) -> None:
    """No use hangs or raises, and after the next commit each subscriber has the right answer."""
    if store == "Oxigraph":
        pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    places = lines_run(operation, store, regime)
    draw = drawn_from("reentrance", operation, store, regime, act)
    places = draw.sample(places, min(len(places), rounds(12, share=6)))
    wrong = {}
    for place in places:
        with world(store, regime) as made:
            acting_at(place, lambda made=made: ACTS[act](made), lambda made=made: OPERATIONS[operation](made))
            if act == "close":
                assert made.subscriptions.pop("count").closed
                made.followers.pop("count")
            found = made.check()
            told = [delta for follower in made.followers.values() for delta in follower.told[1:]]
            if act in READS and any(delta.initial for delta in told):
                found.append("a known answer is delivered again")
            if found:
                wrong[place] = found
    assert not wrong, f"{len(wrong)} of {len(places)} lines: {wrong}"


@pytest.mark.parametrize("act", ["a removal", "a write"])
@pytest.mark.parametrize("store", ["default", "Oxigraph"])
def test_a_triple_is_written_at_any_line_of_an_add_that_looks_for_it(store: str, act: str) -> None:
    """After the look-up of an add the triple is removed, or another one added."""
    if store == "Oxigraph":
        pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    operation = OPERATIONS["add what is there"]
    for place in lines_run("add what is there", store, "none"):
        with world(store, "none") as made:
            acting_at(place, lambda made=made: ACTS[act](made), lambda made=made: operation(made))
            assert made.check() == [], place


def test_another_store_is_unhooked_at_any_line_that_hooks_one() -> None:
    """The garbage collector may close the last subscription of an unused store there."""
    pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")

    def subscribe() -> rdflive.Subscription:
        return rdflive.subscribe(rdflib.Dataset("Oxigraph"), "SELECT ?s { ?s <http://e/p> ?o }")

    places = [place for place in lines_of(lambda: subscribe().close()) if "oxigraph/adapter" in place[0]]
    acted = 0
    for place in places:
        other = subscribe()
        acted += acting_at(place, other.close, lambda: subscribe().close())
        other.close()
    assert acted > 20  # some lines run only for the first watched store of a class


class _Panel:
    """Closes its subscription when the garbage collector frees its reference cycle."""

    def __init__(self, subscription: Any) -> None:
        self.subscription = subscription
        self.panel = self

    def __del__(self) -> None:
        self.subscription.close()


def test_the_garbage_collector_closes_subscriptions_during_writes() -> None:
    """Collections at any moment make no write raise, and the other subscriptions stay right."""
    draw = drawn_from("garbage")
    threshold = gc.get_threshold()
    try:
        with world("default", "none") as made:
            for number in range(rounds(150)):
                _Panel(rdflive.subscribe(made.dataset, "SELECT ?s { ?s <http://e/p> ?o }", initial=False))
                gc.set_threshold(draw.randrange(2, 60))
                made.graph.add(made.triple(f"a p n{number % 5}"))
                made.graph.remove(made.triple(f"a p n{draw.randrange(5)}"))
                gc.set_threshold(*threshold)
            assert made.check() == []
    finally:
        gc.set_threshold(*threshold)
