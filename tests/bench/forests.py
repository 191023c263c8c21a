"""Windows that slide over a part of a graph: trees and DAGs of `isIn`, and the bibliography under RDFS."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rdflib import URIRef

from bench.bibliography import SCHEMA, instances, term
from bench.stream import SEED
from bench.worlds import EX
from rdflive.entail.entailment import Regime
from rdflive.entail.rdfs import Rdfs
from rdflive.entail.rules import RuleRegime, load_program

__all__ = ["WORLDS", "Sliding", "World"]

IS_IN: Final = URIRef(EX + "isIn")
RULE: Final = f"@prefix : <{EX}> . {{ ?x :isIn ?y . ?y :isIn ?z }} => {{ ?x :isIn ?z }} ."
BACKGROUND: Final = 0.6
"""The share of a pool of triples that is always there."""
WINDOW: Final = 1 / 3
"""The triples in the window, as a share of the background."""

Triple = tuple[Any, Any, Any]


@dataclass(frozen=True)
class World:
    """Triples that may be, and what follows from them."""

    regime: Callable[[], Regime]
    schema: Sequence[Triple]
    pool: Callable[[int], list[Triple]]
    """Makes about so many triples."""
    wanted: tuple[Any, Any, Any]
    renewed: bool = False
    """True where all that would leave the window arrives again."""


def forest(count: int, *, depth: int, branches: int, second: float = 0.0) -> list[Triple]:
    """Make trees of some depth; this share of the nodes has a second parent, on the level above."""
    draw = random.Random(SEED)
    edges: dict[tuple[str, str], None] = {}
    tree = 0
    while len(edges) < count:
        above = [f"{tree}"]
        for level in range(1, depth + 1):
            names = [f"{tree}.{level}.{number}" for number in range(branches**level)]
            for number, name in enumerate(names):
                edges[name, above[number // branches]] = None
                if draw.random() < second:
                    edges[name, draw.choice(above)] = None
            above = names
        tree += 1
    return [(URIRef(EX + one), IS_IN, URIRef(EX + other)) for one, other in list(edges)[:count]]


def _transitive() -> Regime:
    return RuleRegime(load_program(RULE))


def _terms(edge: tuple[int, int, int]) -> Triple:
    s, p, o = edge
    return term(s), term(p), term(o)


WORLDS: Final = {
    "trees": World(_transitive, (), lambda n: forest(n, depth=6, branches=3), (None, IS_IN, None)),
    "deep trees": World(_transitive, (), lambda n: forest(n, depth=10, branches=2), (None, IS_IN, None)),
    "DAGs": World(_transitive, (), lambda n: forest(n, depth=6, branches=3, second=0.3), (None, IS_IN, None)),
    "renewed trees": World(
        _transitive, (), lambda n: forest(n, depth=6, branches=3), (None, IS_IN, None), renewed=True
    ),
    "RDFS": World(
        Rdfs, [*map(_terms, SCHEMA)], lambda n: list(map(_terms, instances(n))), (None, None, None)
    ),
}


class Sliding:
    """A window over a stream of triples: at each slide some arrive, and as many of the oldest leave."""

    def __init__(self, world: World, count: int, rate: float) -> None:
        draw = random.Random(SEED)
        pool = world.pool(count)
        draw.shuffle(pool)
        size = round(len(pool) * BACKGROUND)
        self.step = max(1, round(size * rate))
        """How many triples arrive at each slide."""
        self.slides = max(1, round(size * WINDOW / self.step))
        """In how many slides the window is full."""
        self.background = [*world.schema, *pool[:size]]
        self._rest = pool[size:]
        if world.renewed:
            self._rest = self._rest[: self.step * self.slides]

    def parts(self) -> Iterator[list[Triple]]:
        """List what arrives at each slide, without end: what left long ago comes again."""
        place = 0
        while True:
            part = [self._rest[(place + n) % len(self._rest)] for n in range(self.step)]
            place += self.step
            yield part
