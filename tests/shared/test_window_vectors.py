"""The worked example of IMaRS and the cases of its errata, through streams and subscriptions."""

from __future__ import annotations

from typing import Any

import pytest
from rdflib import URIRef

import rdflive
from support.shared import vector

pytestmark = pytest.mark.shared

EX = "urn:example:"
RULE = f"@prefix : <{EX}> . {{ ?x :isIn ?y . ?y :isIn ?z }} => {{ ?x :isIn ?z }} ."
QUERY = f"SELECT * {{ ?x <{EX}isIn> ?y }}"
EXPIRIES = ("labels", "keep-all", "dred", "recompute")


def edge(text: str) -> tuple[URIRef, URIRef, URIRef]:
    start, end = text.split(">")
    return URIRef(EX + start), URIRef(EX + "isIn"), URIRef(EX + end)


class Followed:
    """A stream of the arrivals of a case, seen through a window that holds each for ten seconds."""

    def __init__(self, case: dict[str, Any], expiry: Any) -> None:
        self.stream = rdflive.Stream()
        self.arrivals = {int(at): names for at, names in case["arrivals"].items()}
        self.knows = expiry == "labels"
        self.last: dict[str, int | None] = {}
        """What there is, with the last instant at which it is."""
        self.subscription = rdflive.subscribe(
            self.stream, QUERY, self._take, window=rdflive.Sliding(10, 1, closed="both"), rules=RULE,
            expiry=expiry, expires=self.knows,
        )  # fmt: skip

    def _take(self, delta: rdflive.Delta) -> None:
        for gone in delta.removed:
            del self.last[self._name(gone)]
        for came in delta.added:
            self.last[self._name(came)] = came.expires - 1 if self.knows else None

    def _name(self, solution: Any) -> str:
        return f"{solution.x.removeprefix(EX)}>{solution.y.removeprefix(EX)}"

    def go_to(self, now: int, *deleted: str) -> dict[str, int | None]:
        """Let time pass, and give what there is."""
        for at in sorted(at for at in self.arrivals if at <= now):
            self.stream.add([edge(name) for name in self.arrivals.pop(at)], at=at)
        for name in deleted:
            self.stream.remove(edge(name), at=now)
        self.stream.advance_to(now)
        answers = {self._name(solution) for solution in self.subscription.answers()}
        assert answers == self.last.keys()
        return self.last


@pytest.mark.parametrize("expiry", EXPIRIES)
def test_windows_follow_figure_4(expiry: str) -> None:
    """At each instant there is what the figure shows; what comes knows its expiry until it is renewed."""
    case = vector("IM-fig4")
    followed = Followed(case, expiry)
    known: dict[str, int] = {}
    for now, row in case["timeline"].items():
        wanted = row["window"] | row["entailed"]
        found = followed.go_to(int(now))
        assert found.keys() == wanted.keys(), now
        known = {name: known.get(name, wanted[name]) for name in wanted}
        if followed.knows:
            assert found == known, now


@pytest.mark.parametrize("expiry", EXPIRIES)
@pytest.mark.parametrize("name", ["IM-renew", "IM-skip", "IM-early-delete"])
def test_windows_mend_the_errata(name: str, expiry: str) -> None:
    """A renewed triple stays, a clock may skip instants, an early delete falls back to the next way."""
    case = vector(name)
    followed = Followed(case, expiry)
    deleted = case.get("explicit_delete", {}).get(str(case["at"]), [])
    found = dict(followed.go_to(case["at"], *deleted))
    assert case["must_hold"].keys() <= found.keys()
    assert not set(case.get("must_not_hold", [])) & found.keys()
    for held, last in case["must_hold"].items():
        assert held in followed.go_to(last)
        assert held not in followed.go_to(last + 1)


@pytest.mark.parametrize("expiry", EXPIRIES)
def test_explicit_triples_that_are_derived_too_stay(expiry: str) -> None:
    """What is explicit stays when the derivation that gives it too goes."""
    case = vector("IM-explicit-derived")
    followed = Followed({"arrivals": {"1": case["explicit"]}}, expiry)
    followed.go_to(1)
    assert followed.go_to(2, *case["delete"]).keys() == set(case["expected"])
