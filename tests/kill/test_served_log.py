"""A killed server whose clients come back."""

from __future__ import annotations

from pathlib import Path

import pytest

from kill import served_log
from support.effort import HUNT, drawn_from


@pytest.mark.posix("kills a server")
def test_clients_of_a_killed_server_lose_nothing(tmp_path: Path) -> None:
    """No update that was acknowledged, no event, and nothing twice; no client needs its answer again."""
    pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    kills = 5 if HUNT else 2
    outcome = served_log.run(kills, drawn_from("served log").getrandbits(32), tmp_path)
    assert outcome.kills == kills
    assert outcome.acknowledged >= kills
    assert outcome.returns >= kills
    found = outcome.lost, outcome.repeated, outcome.wrong, outcome.resyncs, outcome.ahead
    assert found == (0, 0, 0, 0, 0), outcome
