"""Kill a program that subscribes to a stream again and again, then add up the deltas of its subscribers.

Run it as `python tests/kill/stream_subscriber.py --kills 50 --elements 20000 --seed 1`. A child process holds
a stream with three resumed subscriptions, whose callbacks append each delta to a log and sync it, and adds
the elements of a source, out of order, beginning with some known ones. At random moments the child gets
SIGKILL and is restarted, each time with another graph beside the stream. In the end each log must have every
number from 1 on, always with the same content and instant, and the deltas must add up to the answer that is
computed from the elements alone.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))

from kill.subscriber import Outcome, check, live

Pair = tuple[str, str]

DELAY: Final = 2
PATTERN: Final = "{ ?x <urn:p> ?y . ?y <urn:q> ?z }"
AGAIN: Final = 5
"""Number of known elements that are sent again at each start."""
LAST: Final = 60
"""Number of last elements for which the graph beside the stream has its final state."""


def run(folder: Path, *, kills: int, elements: int, seed: int) -> list[Outcome]:
    """Run subscribers through the kills and elements, and check the deltas of each."""
    live(folder, Path(__file__), kills=kills, batches=elements, seed=seed)
    held = contents(elements, seed)
    found = []
    for name in ("sliding", "tumbling", "count"):
        answers = Counter(f"{x} {y} {z}" for x, y in held[name] for w, z in _beside(seed, 0) if w == y)
        found.append(check(folder / f"{name}.log", answers, lives=kills + 1))
    return found


def follow(folder: Path, *, elements: int, seed: int) -> None:
    """Run as the child: subscribe, add the remaining elements, and print the number of each."""
    import rdflib

    import rdflive

    life = folder / "life"
    lives = int(life.read_text() or 0) if life.exists() else 0
    life.write_text(str(lives + 1))
    # near the end a window may have no further report for the changes of another graph
    late = folder / "late"
    lives = 0 if late.exists() else lives
    graph = rdflib.Graph()
    for pair in _beside(seed, lives):
        graph.add(_triple("q", pair))
    stream = rdflive.Stream(graph, delay=DELAY)
    windows = {
        "sliding": rdflive.Sliding(20),
        "tumbling": rdflive.Tumbling(10),
        "count": rdflive.Count(30, step=4),
    }
    with ExitStack() as stack:
        opened = []
        for name, window in windows.items():
            log = stack.enter_context(open(folder / f"{name}.log", "ab", buffering=0))

            def tell(delta: Any, log: Any = log) -> None:
                weights = {f"{s.x} {s.y} {s.z}".replace("urn:", ""): w for s, w in delta.weights().items()}
                log.write(
                    f"\n{json.dumps([delta.sequence, weights, delta.time, len(delta.expired)])}\n".encode()
                )
                os.fsync(log.fileno())

            query = f"SELECT * {PATTERN}"
            resumed: Any = {"window": window, "name": name, "resume": folder / "resume.db"}
            opened.append(stack.enter_context(rdflive.subscribe(stream, query, tell, **resumed)))
        durable = stream.durable
        assert durable is not None
        for number in range(max(1, durable.number - AGAIN), elements + 1):
            if number == max(1, elements - LAST):
                late.touch()
            if number >= elements - LAST and lives:
                # early enough for all windows to report the changes
                lives = 0
                graph.remove((None, None, None))
                for pair in _beside(seed, lives):
                    graph.add(_triple("q", pair))
            sign, at, pairs = _element(seed, number)
            put = stream.add if sign > 0 else stream.remove
            put([_triple("p", pair) for pair in pairs], at=at, number=number)
            print(number, flush=True)
            for subscription in opened:
                if subscription.last_error is not None:
                    raise subscription.last_error
        stream.advance_to(_end(elements))


def contents(elements: int, seed: int) -> dict[str, Iterable[Pair]]:
    """Compute the final content of each window."""
    latest, taken = 0, []
    for number in range(1, elements + 1):
        sign, at, pairs = _element(seed, number)
        if at >= latest - DELAY:
            latest = max(at, latest)
            taken.append((at, number, sign, pairs))
    taken.sort()
    count = sum(sign > 0 for _, _, sign, _ in taken)
    end, last = _end(elements), count // 4 * 4
    counted: list[tuple[int, int, list[Pair]]] = []
    numbers = 0
    for _, _, sign, pairs in taken:
        numbers += sign > 0
        counted.append((numbers, sign, pairs))
    timed = [(at, sign, pairs) for at, _, sign, pairs in taken]
    tumbled = end // 10 * 10
    # removals after the last reported count do not reach the window
    reported = [each for each in counted if each[0] <= last]
    return {
        "sliding": _held(timed, end - 20 + 1),
        "tumbling": _held([each for each in timed if each[0] < tumbled], tumbled - 10),
        "count": _held(reported, last - 30 + 1),
    }


def _held(elements: Iterable[tuple[int, int, list[Pair]]], begin: int) -> list[Pair]:
    labels: dict[Pair, int] = {}
    for position, sign, pairs in elements:
        for pair in pairs:
            if sign > 0:
                labels[pair] = position
            else:
                labels.pop(pair, None)
    return [pair for pair, position in labels.items() if position >= begin]


def _element(seed: int, number: int) -> tuple[int, int, list[Pair]]:
    """Make the element of a number, which depends on the seed and the number alone."""
    chance = random.Random(f"{seed} {number}")
    at = number // 2 + chance.choice((0, 0, 1, 2, -1, -2))
    nodes = [f"n{i}" for i in range(12)]
    pairs = [(chance.choice(nodes), chance.choice(nodes)) for _ in range(chance.choice((0, 1, 1, 1, 2)))]
    return (1 if chance.random() < 0.8 else -1), max(0, at), pairs


def _beside(seed: int, life: int) -> set[Pair]:
    """Make the graph beside the stream for one child."""
    chance = random.Random(f"{seed} beside {life}")
    return {(f"n{chance.randrange(12)}", f"m{chance.randrange(4)}") for _ in range(16)}


def _end(elements: int) -> int:
    return elements // 2 + 7


def _triple(predicate: str, pair: Pair) -> Any:
    import rdflib

    s, o = pair
    return rdflib.URIRef(f"urn:{s}"), rdflib.URIRef(f"urn:{predicate}"), rdflib.URIRef(f"urn:{o}")


def main() -> None:
    """Run the program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--elements", "--batches", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--follow", type=Path, metavar="FOLDER", help="be the child process")
    given = parser.parse_args()
    if given.follow:
        follow(given.follow, elements=given.elements, seed=given.seed)
        return
    with tempfile.TemporaryDirectory() as folder:
        for outcome in run(Path(folder), kills=given.kills, elements=given.elements, seed=given.seed):
            print(outcome)


if __name__ == "__main__":
    main()
