"""Real signals while a watched store is written: what a program does after Ctrl-C is right."""

from __future__ import annotations

import pytest

from interrupts.signals import RESULTS, run
from support.effort import HUNT, drawn_from

PROCESSES = 50 if HUNT else 4


@pytest.mark.posix("forks, and sets timers")
@pytest.mark.filterwarnings("ignore:This process.*fork:DeprecationWarning")
@pytest.mark.parametrize("store", ["default", "Oxigraph"])
def test_a_store_can_be_used_after_a_signal_at_any_moment(store: str) -> None:
    """Every subscriber knows what the store holds, unless rdflib's own write left the store torn."""
    if store == "Oxigraph":
        pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    seed = drawn_from("signals", store).randrange(1 << 32)
    found = run(store=store, processes=PROCESSES, signals=10, seed=seed)
    assert found["right"] + found[RESULTS[1]] == PROCESSES, found
    assert found["right"] >= PROCESSES // 2, found
