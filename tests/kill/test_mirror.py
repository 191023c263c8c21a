"""A killed mirror."""

from __future__ import annotations

import pytest

from kill import mirror
from support.effort import HUNT, drawn_from


@pytest.mark.sampled(by="seed")
@pytest.mark.parametrize("seed", [1, 2])
def test_a_killed_mirror_loses_nothing_and_applies_nothing_twice(seed: int) -> None:
    """After each kill the store is at the batch of its cursor, and at the end at the last batch."""
    pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    kills = 2 if HUNT else 1
    outcome = mirror.run(kills=kills, batches=300, seed=drawn_from("mirror", seed).getrandbits(32))
    assert (outcome.kills, outcome.batches) == (kills, 300)
    assert outcome.blank_nodes > 10
