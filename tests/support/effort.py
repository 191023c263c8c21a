"""Number of random cases: the gate runs the same cases each time, a hunt runs more and other ones.

The environment variable RDFLIVE_HUNT is the seed of a hunt, any text. Without it the tests run as the gate.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from hashlib import sha256
from random import Random
from typing import TypeVar

__all__ = ["HUNT", "SEED", "checked", "drawn_from", "examples", "in_share", "repeat", "rounds", "sampled"]

Item = TypeVar("Item")

SEED = os.environ.get("RDFLIVE_HUNT", "")
"""Seed of the random cases of a hunt; empty in the gate."""
HUNT = bool(SEED)
SHARE = 8
"""By default the gate runs one of this number of examples."""
SAMPLE_SHARE = 4
"""Further divisor for kinds of stores that differ little from a kind tested in full."""
LEAST = 4
"""Minimal number of examples; two where a test sets its own share."""
STEPS = 5
"""The gate compares one step of this number, and the last step."""


def examples(most: int, *, share: int = SHARE, sample: bool = False) -> int:
    """Return the number of examples: `most` in a hunt, one of `share` in the gate.

    `sample` is for kinds of stores that differ little from a kind tested in full.
    """
    if HUNT:
        return most
    if sample:
        return min(most, max(2, most // (share * SAMPLE_SHARE)))
    return min(most, max(LEAST if share == SHARE else 2, most // share))


def rounds(most: int, *, share: int = SHARE) -> int:
    """Return the number of rounds of a loop of random cases: `most` in a hunt."""
    return examples(most, share=share)


def drawn_from(*names: object) -> Random:
    """Return a random generator, seeded by the names and, in a hunt, by the hunt's seed."""
    return Random(" ".join(map(str, (SEED, *names) if HUNT else names)))


def in_share(name: str, among: int, place: int = 0) -> bool:
    """Return True if the gate runs a case: the hash of the name selects one of `among` places."""
    return (int(sha256(name.encode()).hexdigest(), 16) + place) % among == 0


def sampled(name: str, items: Iterable[Item], among: int) -> list[Item]:
    """Return the tested items: all in a hunt, one of `among` in the gate."""
    return [item for place, item in enumerate(items) if HUNT or in_share(name, among, place)]


def checked(steps: Iterable[Item]) -> Iterator[tuple[Item, bool]]:
    """Yield each step of a run, and True if it is compared: each step in a hunt, else some and the last."""
    last: tuple[int, Item] | None = None
    for number, step in enumerate(steps, 1):
        if last is not None:
            yield last[1], HUNT or last[0] % STEPS == 0
        last = number, step
    if last is not None:
        yield last[1], True


def repeat(test: str) -> str:
    """Return the command that repeats one test."""
    seed = f"RDFLIVE_HUNT={SEED} " if HUNT else ""
    environment = os.environ.get("TOX_ENV_NAME")
    if environment == "hunt":
        return f"{seed}.tox/hunt/bin/python -m pytest {test!r}"
    return seed + (f"tox run -e {environment} -- {test!r}" if environment else f"python -m pytest {test!r}")
