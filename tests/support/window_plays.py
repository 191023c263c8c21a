"""Random operations on worlds of streams and windows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any

from support.streams import Triple
from support.window_runs import NODES, PREDICATES, QUERIES, WINDOWS, Query, World

__all__ = ["make_operations", "play"]

OUTPUTS = "delta", "delta", "delta", "istream", "dstream", "rstream"


def make_triple(random: Random) -> Triple:
    """Draw a triple that some query matches."""
    return random.choice(NODES), random.choice(PREDICATES), random.choice(NODES)


def make_operations(
    random: Random, count: int, *, streams: int = 1, triple: Callable[[Random], Triple] = make_triple
) -> list[Any]:
    """Draw operations on a world, with instants relative to the last one of the stream."""
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


def play(
    world: World,
    operations: Iterable[Any],
    *,
    merged: bool = False,
    queries: Sequence[Query] = QUERIES,
    outputs: Sequence[str] = OUTPUTS,
    **options: Any,
) -> None:
    """Run operations, first some without an instant, so that streams have none for a while."""
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
            _open(world, Random(number), stream, queries, outputs, merged=merged, **options)
        elif kind == "close" and world.opened:
            world.close(world.opened[number % len(world.opened)])
    world.finish()


def _open(
    world: World,
    random: Random,
    stream: int,
    queries: Sequence[Query],
    outputs: Sequence[str],
    *,
    merged: bool,
    **options: Any,
) -> None:
    query = random.choice(queries)
    sources = [(stream, random.choice(WINDOWS))]
    if merged and random.random() < 0.6:
        sources.append((random.randrange(world.streams), random.choice(WINDOWS)))
    output = random.choice(outputs)
    axes = {window.cadence.axis for _, window in sources}
    if axes >= {"elements", "triples"}:  # the order of their reports is undefined
        sources.pop()
    expires = bool(query.patterns) and (axes == {"time"} or len(sources) == 1) and random.random() < 0.7
    if output == "rstream" and (world.beside or len(sources) > 1):
        output = "delta"
    world.open(query, *sources, output=output, expires=expires, **options)
