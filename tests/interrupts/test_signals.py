"""Real signals during writes to a watched store, which must be usable after Ctrl-C.

Each process writes to its own store until a signal raises KeyboardInterrupt at any place of the code,
continues, and compares every subscription with the store in the end.
"""

from __future__ import annotations

import logging
import os
import signal
import traceback
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
import rdflib

from interrupts.worlds import OPERATIONS, REGIMES, World, world
from support.effort import drawn_from

_LATEST = 0.02
"""Maximal seconds until a signal."""
_AGAIN = 0.2
"""Seconds until the signal repeats, as a signal during the deletion of an object is lost."""
RESULTS = ("right", "rdflib's store is torn", "wrong", "failed")


def _outcome(store: str, signals: int, seed: str) -> str:
    child = os.fork()
    if child == 0:
        status = RESULTS.index("failed")
        try:
            status = _interrupted(store, signals, Random(seed))
        except BaseException:  # noqa: BLE001 - the process ends below
            traceback.print_exc()
        os._exit(status)
    try:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except BaseException:  # it hangs: the time limit of the test is over
        os.kill(child, signal.SIGKILL)
        raise
    return RESULTS[code] if code >= 0 else f"ended by signal {-code}"


def _interrupted(store: str, signals: int, chance: Random) -> int:
    """Write with interrupts, and return the index of the outcome in `RESULTS`."""
    logging.disable(logging.CRITICAL)
    signal.signal(signal.SIGALRM, signal.default_int_handler)  # as Ctrl-C does
    with world(store, chance.choice([*REGIMES, "none", "none"])) as made:
        try:
            for _ in range(signals):
                _write_until_interrupted(made, chance)
                # checked at once: a later write of the same triple may repair the indexes, but is no change,
                # as it finds the triple in the set of its graph
                if _is_torn(made.dataset):
                    return RESULTS.index("rdflib's store is torn")
            wrong = made.check()
        except KeyError as error:
            file = traceback.extract_tb(error.__traceback__)[-1].filename
            if not Path(file).match("plugins/stores/memory.py"):
                raise
            return RESULTS.index("rdflib's store is torn")
        if not wrong:
            return RESULTS.index("right")
        if _is_torn(made.dataset):
            return RESULTS.index("rdflib's store is torn")
        print(*wrong, sep="\n", flush=True)
        return RESULTS.index("wrong")


def _write_until_interrupted(made: World, chance: Random) -> None:
    with suppress(KeyboardInterrupt):
        try:
            signal.setitimer(signal.ITIMER_REAL, chance.uniform(0, _LATEST), _AGAIN)
            while True:
                _write(made, chance)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


def _write(made: World, chance: Random) -> None:
    if chance.random() < 0.2:
        OPERATIONS[chance.choice(sorted(OPERATIONS))](made)
        return
    triple = made.triple(f"{chance.choice('abcdef')} {chance.choice('pq')} {chance.choice('abcdef')}")
    (made.graph.add if chance.random() < 0.55 else made.graph.remove)(triple)


def _is_torn(dataset: rdflib.Dataset) -> bool:
    """Return True if the store's own indexes differ, which an interrupt of rdflib can cause."""
    try:
        quads = set(dataset.quads())
        by_graph = {(*triple, graph.identifier) for graph in dataset.graphs() for triple in graph}
        if by_graph != {(s, p, o, graph or dataset.default_graph.identifier) for s, p, o, graph in quads}:
            return True
        for place in range(3):
            found = set()
            for term in {quad[place] for quad in quads}:
                pattern = [None, None, None, None]
                pattern[place] = term
                found.update(dataset.quads(tuple(pattern)))
            if found != quads:
                return True
    except KeyError:
        return True
    return False


PROCESSES = 50


@pytest.mark.hunted("when a signal comes is chance: the gate raises at lines, in test_lines.py")
@pytest.mark.posix("forks, and sets timers")
@pytest.mark.filterwarnings("ignore:This process.*fork:DeprecationWarning")
@pytest.mark.parametrize("store", ["default", "Oxigraph"])
def test_a_store_can_be_used_after_a_signal_at_any_moment(store: str) -> None:
    """Every subscriber has the right answer, unless rdflib's own write left the store torn."""
    if store == "Oxigraph":
        pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    seed = drawn_from("signals", store).randrange(1 << 32)
    found = Counter(_outcome(store, 10, f"{seed} {number}") for number in range(PROCESSES))
    assert found["right"] + found[RESULTS[1]] == PROCESSES, found
    assert found["right"] >= PROCESSES // 2, found
