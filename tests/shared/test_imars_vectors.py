"""The worked example of IMaRS and the cases of its errata, on the closure itself."""

from __future__ import annotations

from typing import Any

import pytest
from rdflib import URIRef

from rdflive.entail.rules import RuleRegime, load_program
from rdflive.time.expiry import regime_for
from support.expiry import ANY, Labelled, Peer
from support.shared import vector

pytestmark = pytest.mark.shared

EX = "urn:example:"
TRANSITIVE = load_program(f"@prefix : <{EX}> . {{ ?x :isIn ?y . ?y :isIn ?z }} => {{ ?x :isIn ?z }} .")


def edge(text: str) -> tuple[URIRef, URIRef, URIRef]:
    start, end = text.split(">")
    return URIRef(EX + start), URIRef(EX + "isIn"), URIRef(EX + end)


class Window:
    """A window of ten seconds, whose triples are seen until ten seconds after they arrived."""

    def __init__(self, **arrivals: list[str]) -> None:
        self.labelled = Labelled(TRANSITIVE, early=False)
        self.labelled.want(ANY)
        self.arrivals = {int(instant): names for instant, names in arrivals.items()}

    def go_to(self, now: int, *deleted: str) -> dict[tuple[URIRef, URIRef, URIRef], int]:
        """Let time pass, and give what is there with the instant at which it expires."""
        for instant in sorted(instant for instant in self.arrivals if instant <= now):
            self.labelled.update({edge(name): instant for name in self.arrivals.pop(instant)})
        self.labelled.update({edge(name): None for name in deleted})
        self.labelled.expire(now - 10)
        return {triple: label + 10 for triple, label in self.labelled.shown().items()}


def expiries(named: dict[str, int]) -> dict[Any, int]:
    return {edge(name): expiry for name, expiry in named.items()}


def test_closure_follows_figure_4() -> None:
    """What is in the window, explicit or entailed, has the expiry that the figure gives, at each instant."""
    case = vector("IM-fig4")
    window = Window(**case["arrivals"])
    for now, row in case["timeline"].items():
        assert window.go_to(int(now)) == expiries(row["window"] | row["entailed"]), now


@pytest.mark.parametrize("name", ["IM-renew", "IM-skip", "IM-early-delete"])
def test_closure_mends_the_errata(name: str) -> None:
    """A renewed triple stays, a clock may skip instants, an early delete falls back to the next way."""
    case = vector(name)
    window = Window(**case["arrivals"])
    deleted = case.get("explicit_delete", {}).get(str(case["at"]), [])
    if deleted:
        window.go_to(case["at"] - 1)
    held = window.go_to(case["at"], *deleted)
    assert expiries(case["must_hold"]).items() <= held.items()
    assert not {edge(name) for name in case.get("must_not_hold", [])} & held.keys()


@pytest.mark.parametrize("expiry", ["dred", "recompute", "keep-all"])
def test_explicit_triples_that_are_derived_too_stay(expiry: Any) -> None:
    """What is explicit stays when the derivation that gives it too goes."""
    case = vector("IM-explicit-derived")
    peer = Peer(regime_for(expiry, RuleRegime(TRANSITIVE)))
    peer.want(ANY)
    peer.become(map(edge, case["explicit"]))
    peer.become(edge(name) for name in case["explicit"] if name not in case["delete"])
    assert peer.holds == set(map(edge, case["expected"]))


def test_explicit_triples_that_are_derived_too_keep_their_label() -> None:
    """The same holds for labels: an explicit triple falls back to its own."""
    case = vector("IM-explicit-derived")
    window = Window(**{"1": case["explicit"]})
    assert window.go_to(1, *case["delete"]).keys() == set(map(edge, case["expected"]))
