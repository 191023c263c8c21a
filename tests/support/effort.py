"""How much the tests try: all that they can (deep), or a part that differs from run to run (quick).

Three variables of the environment say so; a failure prints the command that repeats it with the same ones.

- RDFLIVE_EFFORT: `quick` (the default) or `deep`.
- RDFLIVE_SEED: what quick runs draw random cases from; a new number in each run unless it is given.
- RDFLIVE_KEY: whose turn it is among cases that take turns; the hash of the commit, or the date without git.

A deep run draws from the names of its cases alone, so that it is the same each time.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
from datetime import date
from hashlib import sha256
from pathlib import Path
from random import Random, SystemRandom
from typing import TypeVar

__all__ = [
    "DEEP",
    "EFFORT",
    "KEY",
    "SEED",
    "TURN",
    "checked",
    "drawn_from",
    "examples",
    "has_turn",
    "in_turn",
    "repeat",
    "rounds",
]

Item = TypeVar("Item")

ROOT = Path(__file__).parents[2]
QUICK_SHARE = 5
"""A quick run tries one example of so many."""
SAMPLE_SHARE = 4
"""Of a kind that only stands beside another of its engine, a quick run tries one example of so many again."""
LEAST = 4
"""So many examples are tried at least, where there are as many."""
STEPS = 5
"""A quick run compares every so many steps, and the last one."""


def _effort() -> str:
    effort = os.environ.get("RDFLIVE_EFFORT") or "quick"
    if effort not in ("quick", "deep"):
        raise SystemExit(f"RDFLIVE_EFFORT is {effort!r}; it can be quick or deep")
    return effort


def _key() -> str:
    """Give the hash of the commit; without git, the number of the day."""
    git = ["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"]
    try:
        return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return str(date.today().toordinal())


def _turn(key: str) -> int:
    """Make a number of a key; one that is a number already stays, so that 1, 2, 3 are turns in a row."""
    return int(key) if key.isdecimal() else int(sha256(key.encode()).hexdigest(), 16)


EFFORT = _effort()
DEEP = EFFORT == "deep"
# Kept in the environment, so that the workers of a run and the programs that tests start have the same ones.
SEED = os.environ.setdefault("RDFLIVE_SEED", "" if DEEP else str(SystemRandom().getrandbits(32)))
KEY = os.environ.setdefault("RDFLIVE_KEY", _key())
TURN = _turn(KEY)


def examples(deep: int, *, sample: bool = False) -> int:
    """Give how many examples are tried where a deep run tries `deep`.

    `sample` is for kinds of stores that differ little from one that is tried in full.
    """
    if DEEP:
        return deep
    if sample:
        return min(deep, max(2, deep // (QUICK_SHARE * SAMPLE_SHARE)))
    return min(deep, max(LEAST, deep // QUICK_SHARE))


def rounds(deep: int) -> int:
    """Give how often a loop of random cases is run, where a deep run runs it `deep` times."""
    return examples(deep)


def drawn_from(*names: object) -> Random:
    """Give a source of random numbers: by its name alone in a deep run, else another in each run."""
    return Random(" ".join(map(str, (SEED, *names) if SEED else names)))


def has_turn(name: str, among: int, place: int = 0) -> bool:
    """Tell if it is the turn of something; of `among` keys in a row, one says yes.

    Those of the same name and different places, from 0 to `among` - 1, have their turns one after another.
    """
    offset = int(sha256(name.encode()).hexdigest(), 16)
    return (offset + place + TURN) % among == 0


def in_turn(name: str, items: Iterable[Item], among: int) -> list[Item]:
    """Give the items whose turn it is: in each of `among` keys in a row others of them, in a deep run all."""
    return [item for place, item in enumerate(items) if DEEP or has_turn(name, among, place)]


def checked(steps: Iterable[Item]) -> Iterator[tuple[Item, bool]]:
    """Give each step of a run, and if it is compared: in a deep run each one, else some and the last."""
    last: tuple[int, Item] | None = None
    for number, step in enumerate(steps, 1):
        if last is not None:
            yield last[1], DEEP or last[0] % STEPS == 0
        last = number, step
    if last is not None:
        yield last[1], True


def repeat(test: str) -> str:
    """Give the command that repeats one test as it was run."""
    variables = {"EFFORT": EFFORT, "SEED": SEED, "KEY": KEY}
    given = " ".join(f"RDFLIVE_{name}={value}" for name, value in variables.items() if value)
    environment = os.environ.get("TOX_ENV_NAME")
    command = f"tox run -e {environment} --" if environment else "python -m pytest"
    return f"{given} {command} {test!r}"
