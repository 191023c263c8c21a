"""Saturation, reformulation and the choice between them, against each other and the rules by the book."""

from __future__ import annotations

import pytest

from entail.differential import FAMILIES, KINDS, Family, run
from support.effort import HUNT
from support.worlds import PRIMARY

UPDATES = 160 if HUNT else 32
"""Per kind of store and family of schemas; fewer entail little."""


@pytest.mark.sampled(by="family", always={"kind": PRIMARY})
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
@pytest.mark.parametrize("kind", KINDS)
def test_strategies_deliver_equal_deltas(kind: str, family: Family) -> None:
    """After every commit all strategies deliver the same delta, and add up to what the graph entails."""
    if kind == "live store" or "oxigraph" in kind:
        pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    outcome = run(kind, family, updates=UPDATES, seed=1, length=UPDATES)
    # a world that entails nothing is played on in another one of the same length
    assert outcome.updates >= UPDATES
    assert outcome.updates % UPDATES == 0
    assert outcome.changed >= outcome.updates / 8
    # a graph of few commits may entail little
    assert outcome.entailed >= (outcome.compared if HUNT else 1)
