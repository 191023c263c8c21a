"""What happens in worlds of streams and windows, at random.

PYTHONPATH=tests python -m support.window_plays --operations 20000 --seed 1
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable, Iterable
from random import Random
from time import perf_counter
from typing import Any

from support.streams import Triple
from support.window_runs import NODES, PREDICATES, QUERIES, STORES, WINDOWS, World

__all__ = ["make_operations", "play"]


def make_triple(random: Random) -> Triple:
    """Make a triple that some query matches."""
    return random.choice(NODES), random.choice(PREDICATES), random.choice(NODES)


def make_operations(
    random: Random, count: int, *, streams: int = 1, triple: Callable[[Random], Triple] = make_triple
) -> list[Any]:
    """Make what happens to a world; instants are relative to the last one of the stream."""
    operations: list[Any] = []
    for _ in range(count):
        stream = random.randrange(streams)
        kind = random.choices(
            ("add", "remove", "advance", "write", "batch", "open", "close"), (9, 2, 1, 2, 1, 2, 1)
        )[0]
        triples = [triple(random) for _ in range(random.choice((1, 1, 1, 1, 0, 2, 3)))]
        after = random.choice((0, 0, 1, 1, 1, 2, 3, 4, 9, -1, -2, -4, -7))
        writes = [(random.choice((1, 1, -1)), each) for each in triples]
        operations.append((kind, stream, triples, after, writes, random.randrange(10**6)))
    return operations


def play(world: World, operations: Iterable[Any], *, merged: bool = False, **options: Any) -> None:
    """Have operations happen, first some that need no instant: streams have none for a while."""
    latest = [5] * world.streams
    operations = list(operations)
    timeless = [each for each in operations if each[0] in ("open", "write")][:3]
    operations = [*timeless, *(each for each in operations if each not in timeless)]
    for kind, stream, triples, after, writes, number in operations:
        at = max(0, latest[stream] + after)
        if kind in ("add", "remove", "advance"):
            latest[stream] = max(latest[stream], at)
        if kind == "add" or kind == "remove":
            world.add(triples, at, sign=1 if kind == "add" else -1, stream=stream)
        elif kind == "advance":
            world.advance(at, stream=stream)
        elif kind == "write":
            for write in writes:
                world.write([write], single=True)
        elif kind == "batch":
            latest[stream] = max(latest[stream], at)
            world.write(writes, (triples, at, 1, stream), ([], at, 1, stream))
        elif kind == "open" and len(world.opened) < 6:
            _open(world, Random(number), stream, merged=merged, **options)
        elif kind == "close" and world.opened:
            world.close(world.opened[number % len(world.opened)])
    world.finish()


def _open(world: World, random: Random, stream: int, *, merged: bool, **options: Any) -> None:
    query = random.choice(QUERIES)
    sources = [(stream, random.choice(WINDOWS))]
    if merged and random.random() < 0.6:
        sources.append((random.randrange(world.streams), random.choice(WINDOWS)))
    output = random.choice(("delta", "delta", "delta", "istream", "dstream", "rstream"))
    axes = {window.cadence.axis for _, window in sources}
    if axes >= {"elements", "triples"}:  # which of them reports first is not said
        sources.pop()
    expires = bool(query.patterns) and (axes == {"time"} or len(sources) == 1) and random.random() < 0.7
    if output == "rstream" and (world.beside or len(sources) > 1):
        output = "delta"
    world.open(query, *sources, output=output, expires=expires, **options)


class _Alarm(logging.Handler):
    """Fails on what is logged: a view that fails is started anew, and only the log tells."""

    def emit(self, record: logging.LogRecord) -> None:
        raise AssertionError(self.format(record))


def main() -> None:
    """Play random worlds until there were so many operations."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="one world, by its number")
    options = parser.parse_args()
    logging.getLogger("rdflive").addHandler(_Alarm())
    start, done, checks, number = perf_counter(), 0, 0, options.only or 0
    while done < options.operations:
        random = Random(f"{options.seed} {number}")
        streams = random.choice((1, 1, 2))
        world = World(
            random.choice(STORES), random.choice((0, 0, 2)), random.choice((0, 0, 3, 9)),
            streams > 1 or random.random() < 0.6, streams,
        )  # fmt: skip
        operations = make_operations(random, 60, streams=streams)
        try:
            play(world, operations, merged=streams > 1 or random.random() < 0.3)
        except BaseException:
            print("failed in world", number, world.kind, world.delay, world.lateness, world.beside, streams)
            raise
        done, checks, number = done + len(operations), checks + world.checks, number + 1
        if options.only is not None:
            break
    print(f"{number} worlds, {done} operations, {checks} comparisons in {perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
