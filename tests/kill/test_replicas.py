"""A killed primary, killed replicas and a killed proxy."""

from __future__ import annotations

import pytest

from kill import replicas
from support.effort import HUNT, drawn_from
from support.nginx import need_nginx


@pytest.mark.sampled(by="seed")
@pytest.mark.parametrize("seed", [1])
def test_no_client_loses_or_repeats_anything_when_servers_are_killed(seed: int) -> None:
    """Each process is killed in turn; each event leads to the answer of its commit, without a resync."""
    pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    need_nginx()
    outcome = replicas.run(
        clients=60,
        updates=200 if HUNT else 80,
        rounds=2 if HUNT else 1,
        seed=drawn_from("replicas", seed).getrandbits(32),
    )
    assert outcome.kills == (8 if HUNT else 4)
    assert outcome.connections > outcome.clients
    counts = outcome.lost, outcome.wrong, outcome.repeated, outcome.behind, outcome.resyncs
    assert counts == (0, 0, 0, 0, 0)
