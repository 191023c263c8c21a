"""(f) Which variables should keep a triple match state? Every choice of one, none and all, by shape.

A mask saves the walk of an update whose solution another pattern of a star rules out; it costs a probe
and a store per update, and the reverse index that tells when a bit may go.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import replace

from bench.clock import interleave, middle, ratio
from bench.engines import Outcome, run_segment
from bench.page import Page
from bench.report import Cell, Section, cells
from bench.sizes import Sizes
from bench.stream import SEED, Pattern, Triple, Update, churn, social_stream, to_patterns
from bench.worlds import chain_edge
from rdflive.query.bgp import BGP, Variable
from rdflive.query.segment import make_segment

_SHOWN = (
    "star, 2 constants, 2 open",
    "star, 3 open",
    "star, high fan-out",
    "path of 3",
    "path of 4, dense",
    "triangle",
)
"""What the page shows."""
PAGE = Page(
    "f",
    "Match states by shape and centre, 100,000 updates, 10 % deletes",
    "The engine keeps a match state, a bit for each pattern, at every centre of a query or at none.",
    "Above 1 the states pay; `auto` keeps them only at centres with three open patterns or more.",
    "shape rate ratio",
    lambda row: row["shape"] in _SHOWN and row["masks"].startswith("all"),
)


def run(sizes: Sizes) -> Section:
    """Run each shape with masks at no centre, at each alone, and at all of degree two and more."""
    repeat = min(3, sizes.repeat)
    section = Section(
        "masks",
        f"Match states by shape and centre, {sizes.updates // 2:,} updates, 10 % deletes",
        sizes.updates // 2,
        "shape | masks: masks at | deltas | rate: updates/s | ratio: speed / no mask",
        repeat=repeat,
    )
    for shape, (updates, query) in _shapes(sizes.updates // 2).items():
        section.rows += _compare(shape, updates, query, repeat)
    return section


def _shapes(n: int) -> dict[str, tuple[list[Update], tuple[Pattern, ...]]]:
    social = social_stream(n)
    kind, city = (social.queries["star, constants"][i][2] for i in (0, 1))
    width = max(20, n // 12)
    path: tuple[Pattern, ...] = (("?a", 1, "?b"), ("?b", 2, "?c"), ("?c", 3, "?d"), ("?d", 4, "?e"))
    steps = _chain(n, width)
    first_end = 10 + 4 * width
    return {
        "star, constants": (social.updates, social.queries["star, constants"]),
        "star, 1 constant, 2 open": (social.updates, social.queries["star, 2 variables"]),
        "star, 2 constants, 2 open": (
            social.updates,
            (("?u", 5, kind), ("?u", 4, city), ("?u", 2, "?p"), ("?u", 1, "?c")),
        ),
        "star, 3 open": (social.updates, (("?u", 2, "?p"), ("?u", 1, "?c"), ("?u", 4, "?l"))),
        "star, high fan-out": _hub(n),
        "path of 3": (social.updates, social.queries["path of 3"]),
        "path of 4, sparse": (_chain(n, n // 3), path),
        "path of 4, dense": (steps, path),
        "path of 4, constant far away": (steps, (*path[:3], ("?d", 4, first_end + 1))),
        "triangle": (social.updates, social.queries["triangle"]),
        "path of 2, constants at its middle": (
            social.updates,
            (("?u", 2, "?p"), ("?p", 3, "?c"), ("?p", 4, city), ("?p", 5, kind)),
        ),
    }


def _chain(n: int, width: int) -> list[Update]:
    rng = random.Random(SEED)
    return churn(n, lambda: chain_edge(rng, width, rng.randrange(4), 100), rng, 0.10)


def _hub(n: int) -> tuple[list[Update], tuple[Pattern, ...]]:
    """Few centres with many neighbours each; the third pattern is rare, so most walks find nothing."""
    rng = random.Random(SEED)
    centres = max(2, n // 200)

    def draw() -> Triple:
        p = rng.choices((1, 2, 3), (500, 500, 1))[0]
        return 10 + rng.randrange(centres), p, 1_000_000 * p + rng.randrange(n)

    draw_: Callable[[], Triple] = draw
    return churn(n, draw_, rng, 0.10), (("?u", 1, "?a"), ("?u", 2, "?b"), ("?u", 3, "?c"))


def _compare(
    shape: str, updates: list[Update], query: tuple[Pattern, ...], repeat: int
) -> Iterator[dict[str, Cell]]:
    patterns = to_patterns(query)
    variables = BGP(patterns).variables
    joined = make_segment(patterns, variables, "join")
    centres = make_segment(patterns, variables, "connected").centres
    choices: dict[str, tuple[Variable | None, ...]] = {"none": ()}
    if len(centres) > 1:
        choices |= {str(centre): (centre,) for centre in centres}
    choices["all: " + " ".join(map(str, centres))] = centres

    def run_with(chosen: tuple[Variable | None, ...]) -> Callable[[int], Outcome]:
        segment = replace(joined, algorithm="connected", centres=chosen)
        return lambda number: run_segment(updates, segment)

    outcomes = interleave({name: run_with(chosen) for name, chosen in choices.items()}, repeat)
    if len({(o.added, o.removed, o.answer) for found in outcomes.values() for o in found}) != 1:
        raise AssertionError(f"{shape}: masks change the answer")
    seconds = {name: [o.seconds for o in found] for name, found in outcomes.items()}
    for name, found in seconds.items():
        first = outcomes[name][0]
        yield cells(
            shape=shape,
            masks=name,
            deltas=first.added + first.removed,
            rate=len(updates) / middle(found),
            ratio=ratio(seconds["none"], found),
        )
