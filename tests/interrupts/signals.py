"""Interrupts writers of watched stores by real signals, and counts what a subscriber then knows wrongly.

    PYTHONPATH=tests python -m interrupts.signals --store default --processes 100 --signals 10 --seed 1

Each process writes to a store of its own until a signal, which raises KeyboardInterrupt wherever the code is,
goes on, and compares every subscription with the store in the end.
"""

from __future__ import annotations

import argparse
import logging
import os
import signal
import time
import traceback
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random

import rdflib

from interrupts.worlds import OPERATIONS, REGIMES, World, world

__all__ = ["run"]

_PATIENCE = 60
"""Seconds that a process has before it counts as hung."""
_LATEST = 0.02
"""Seconds until a signal comes at the latest."""
_AGAIN = 0.2
"""Seconds until it comes again, as one that comes while an object is deleted is lost."""
RESULTS = ("right", "rdflib's store is torn", "wrong", "failed")


def run(*, store: str, processes: int, signals: int, seed: int) -> Counter[str]:
    """Interrupt so many processes so often each, and count them by what became of them."""
    return Counter(_outcome(store, signals, f"{seed} {number}") for number in range(processes))


def _outcome(store: str, signals: int, seed: str) -> str:
    child = os.fork()
    if child == 0:
        status = RESULTS.index("failed")
        try:
            status = _interrupted(store, signals, Random(seed))
        except BaseException:  # noqa: BLE001 - whatever it is, the process ends below
            traceback.print_exc()
        os._exit(status)
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            code = os.waitstatus_to_exitcode(status)
            return RESULTS[code] if code >= 0 else f"ended by signal {-code}"
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return "hung"


def _interrupted(store: str, signals: int, chance: Random) -> int:
    """Write and be interrupted, and give the place in `RESULTS` of what comes of it."""
    logging.disable(logging.CRITICAL)
    signal.signal(signal.SIGALRM, signal.default_int_handler)  # it does what Ctrl-C does
    with world(store, chance.choice([*REGIMES, "none", "none"])) as made:
        try:
            for _ in range(signals):
                _write_until_interrupted(made, chance)
                # looked for at once: a later write of the same triple may put the indexes right again, but
                # finds the triple in the set of its graph and so is no change
                if _is_torn(made.dataset):
                    return RESULTS.index("rdflib's store is torn")
            wrong = made.check()
        except KeyError as error:
            if _place(error) != "plugins/stores/memory.py":
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
    """Tell if the store's own indexes differ, as rdflib leaves them where it is interrupted."""
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


def _place(error: BaseException) -> str:
    """Give the last three parts of the path of the file that raised an error."""
    return "/".join(Path(traceback.extract_tb(error.__traceback__)[-1].filename).parts[-3:])


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--store", default="default", help="rdflib's name of it")
    parser.add_argument("--processes", type=int, default=100)
    parser.add_argument("--signals", type=int, default=10, help="in each process")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    found = run(store=given.store, processes=given.processes, signals=given.signals, seed=given.seed)
    print(dict(found))


if __name__ == "__main__":
    main()
