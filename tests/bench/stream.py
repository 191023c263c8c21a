"""The seeded social stream: integer updates over users, posts, creators, cities and classes.

The same schema as `social_stream.py` of the shared folder, whose own stream is taken where that folder
is present, so that its reference kernel runs on what it was measured on.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from rdflive.query.bgp import TriplePattern, Variable

__all__ = [
    "SEED",
    "SHARED",
    "Pattern",
    "Stream",
    "Update",
    "reference_stream",
    "social_stream",
    "to_patterns",
]

Update: TypeAlias = tuple[int, int, int, int]
"""Sign (+1 or -1), subject, predicate, object."""
Triple: TypeAlias = tuple[int, int, int]
Pattern: TypeAlias = tuple[int | str, int, int | str]
"""A triple pattern: constants are integers, variables strings such as "?u"."""

SEED: Final = 20240607
SHARED: Final = Path(os.environ.get("RDFLIVE_SHARED") or Path(__file__).parents[3] / "shared") / "bench"

KNOWS, LIKES, HAS_CREATOR, LOCATED_IN, TYPE = range(1, 6)
SIZES: Final = {"user": 6_000, "creator": 800, "post": 12_000, "city": 100, "class": 20}
"""How many nodes of each class a stream of 200,000 updates has."""
KINDS: Final = (
    (20, "user", KNOWS, "creator"),
    (10, "user", KNOWS, "user"),
    (35, "user", LIKES, "post"),
    (13, "post", HAS_CREATOR, "creator"),
    (8, "user", LOCATED_IN, "city"),
    (1, "creator", LOCATED_IN, "city"),
    (4, "post", LOCATED_IN, "city"),
    (7, "user", TYPE, "class"),
    (2, "post", TYPE, "class"),
)
"""Share in per cent, class of the subject, predicate, class of the object."""
SKEWED: Final = {"creator", "post", "city", "class"}
"""Classes of which some objects are popular: the density falls with the root of the rank."""


@dataclass(frozen=True, slots=True)
class Stream:
    """Updates that always apply, and the four queries that are asked on them."""

    source: str
    seed: int
    updates: list[Update]
    queries: dict[str, tuple[Pattern, ...]]


def social_stream(n: int, *, seed: int = SEED, deletes: float = 0.10) -> Stream:
    """Write a stream of `n` updates; each delete takes a triple present at random.

    >>> stream = social_stream(1000)
    >>> len(stream.updates), round(sum(sign < 0 for sign, *_ in stream.updates), -2)
    (1000, 100)
    """
    rng = random.Random(seed)
    first, sizes = _ranges(n)
    weights = [kind[0] for kind in KINDS]

    def draw() -> Triple:
        _, subject, p, value = rng.choices(KINDS, weights)[0]
        place = int(sizes[value] * rng.random() ** (2 if value in SKEWED else 1))
        return first[subject] + rng.randrange(sizes[subject]), p, first[value] + place

    updates = churn(n, draw, rng, deletes)
    return Stream("tests/bench", seed, updates, _queries(first["class"], first["city"], first["creator"]))


def churn(n: int, draw: Callable[[], Triple], rng: random.Random, deletes: float) -> list[Update]:
    """Insert what `draw` gives, no two nodes twice, and delete what is present, with that probability."""
    present: list[Triple] = []
    pairs: set[tuple[int, int]] = set()
    updates: list[Update] = []
    while len(updates) < n:
        if present and rng.random() < deletes:
            place = rng.randrange(len(present))
            present[place], present[-1] = present[-1], present[place]
            s, p, o = present.pop()
            pairs.discard((s, o))
            updates.append((-1, s, p, o))
            continue
        s, p, o = draw()
        if s != o and (s, o) not in pairs and (o, s) not in pairs:
            pairs.add((s, o))
            present.append((s, p, o))
            updates.append((1, s, p, o))
    return updates


def _ranges(n: int) -> tuple[dict[str, int], dict[str, int]]:
    """Number the nodes of each class; a shorter stream has fewer, so that matches stay as likely."""
    first, sizes, start = {}, {}, 100
    for kind, size in SIZES.items():
        first[kind], sizes[kind] = start, max(3, round(size * min(1.0, n / 200_000)))
        start += sizes[kind]
    return first, sizes


def _queries(kind: int, city: int, creator: int) -> dict[str, tuple[Pattern, ...]]:
    return {
        "star, constants": (("?u", TYPE, kind), ("?u", LOCATED_IN, city), ("?u", KNOWS, creator)),
        "star, 2 variables": (("?u", TYPE, kind), ("?u", LOCATED_IN, "?l"), ("?u", LIKES, "?p")),
        "path of 3": (("?u", LIKES, "?p"), ("?p", HAS_CREATOR, "?c"), ("?c", LOCATED_IN, "?l")),
        "triangle": (("?u", LIKES, "?p"), ("?p", HAS_CREATOR, "?c"), ("?u", KNOWS, "?c")),
    }


def reference_stream(n: int) -> Stream | None:
    """Run the shared generator; None where the shared folder is absent."""
    script = SHARED / "social_stream.py"
    if not script.exists():
        return None
    with tempfile.TemporaryDirectory() as folder:
        arguments = ["--n", str(n), "--seed", str(SEED), "--out", folder, "--div", str(max(1, 200_000 // n))]
        subprocess.run([sys.executable, str(script), *arguments], check=True, stdout=subprocess.DEVNULL)
        meta = json.loads(Path(folder, "meta.json").read_text())
        lines = Path(folder, "stream.tsv").read_text().splitlines()
    updates = [(int(g), int(s), int(p), int(o)) for g, s, p, o in (line.split("\t") for line in lines)]
    patterns = [tuple((s, p, o) for s, p, o in query) for query in meta["queries"].values()]
    names = list(_queries(0, 0, 0))  # the same four, in the same order
    return Stream("shared/bench/social_stream.py", SEED, updates, dict(zip(names, patterns, strict=True)))


def to_patterns(query: tuple[Pattern, ...]) -> tuple[TriplePattern, ...]:
    """Turn the patterns of a query into those of the planner."""

    def term(given: int | str) -> Variable | int:
        return Variable(given[1:]) if isinstance(given, str) else given

    return tuple(TriplePattern(term(s), term(p), term(o)) for s, p, o in query)
