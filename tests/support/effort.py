"""How much the tests try: the gate tries the same cases each time, a hunt more of them and others.

The environment variable RDFLIVE_HUNT is the seed of a hunt, any text. Without it the tests are the gate.
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
"""What a hunt draws its random cases from; empty in the gate."""
HUNT = bool(SEED)
SHARE = 8
"""The gate tries one example of so many, where a test does not say otherwise."""
SAMPLE_SHARE = 4
"""Of a kind that only stands beside another of its engine, the gate tries one example of so many again."""
LEAST = 4
"""So many examples are tried at least, where there are as many; two where a test says its share itself."""
STEPS = 5
"""The gate compares every so many steps, and the last one."""


def examples(most: int, *, share: int = SHARE, sample: bool = False) -> int:
    """Give how many examples are tried where a hunt tries `most`: in the gate one of `share`.

    `sample` is for kinds of stores that differ little from one that is tried in full.
    """
    if HUNT:
        return most
    if sample:
        return min(most, max(2, most // (share * SAMPLE_SHARE)))
    return min(most, max(LEAST if share == SHARE else 2, most // share))


def rounds(most: int, *, share: int = SHARE) -> int:
    """Give how often a loop of random cases is run, where a hunt runs it `most` times."""
    return examples(most, share=share)


def drawn_from(*names: object) -> Random:
    """Give a source of random numbers: by its name alone in the gate, by the seed too in a hunt."""
    return Random(" ".join(map(str, (SEED, *names) if HUNT else names)))


def in_share(name: str, among: int, place: int = 0) -> bool:
    """Tell if a case is in the share of the gate: by a hash of its name, one of `among` places is."""
    return (int(sha256(name.encode()).hexdigest(), 16) + place) % among == 0


def sampled(name: str, items: Iterable[Item], among: int) -> list[Item]:
    """Give the items that are tried: all in a hunt, one of `among` in the gate."""
    return [item for place, item in enumerate(items) if HUNT or in_share(name, among, place)]


def checked(steps: Iterable[Item]) -> Iterator[tuple[Item, bool]]:
    """Give each step of a run, and if it is compared: in a hunt each one, else some and the last."""
    last: tuple[int, Item] | None = None
    for number, step in enumerate(steps, 1):
        if last is not None:
            yield last[1], HUNT or last[0] % STEPS == 0
        last = number, step
    if last is not None:
        yield last[1], True


def repeat(test: str) -> str:
    """Give the command that repeats one test as it was run."""
    seed = f"RDFLIVE_HUNT={SEED} " if HUNT else ""
    environment = os.environ.get("TOX_ENV_NAME")
    if environment == "hunt":
        return f"{seed}.tox/hunt/bin/python -m pytest {test!r}"
    return seed + (f"tox run -e {environment} -- {test!r}" if environment else f"python -m pytest {test!r}")
