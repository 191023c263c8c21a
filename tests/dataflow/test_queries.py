"""Random queries over all operators, as Spark's stages keep them up to date: each delta, and each answer.

The answer is that of SPARQL by the book (`support.evaluate`). Oxigraph is no judge here: of such queries it
answers one in twenty differently, such as a MINUS that nothing stands before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest

from dataflow.simulation import Quad, Simulation, colliding, in_order, steady
from dataflow.test_differential import Operations, scattered
from rdflive.feeds.terms import RowReader, write_term
from rdflive.query import anchoring
from rdflive_stores.spark.dataflow import solutions, state, walking
from support import queries
from support.effort import drawn_from, rounds
from support.evaluate import answer
from support.one_process import OneProcess, Row, added
from support.quads import rows_of
from support.solutions import folded_row, row
from support.syntax import Query

RUN = rounds(80, share=40)
"""So many queries at least are run of each kind."""
TOLD = max(1, RUN // 8)
"""So many of them at least must have an answer that changes; more are run until they have."""
STEPS = len({*queries.SUBJECTS, *queries.OBJECTS})
"""No path is longer: each step reaches a term that those before it have not."""
SIZES = (0, 1, 1, 3, 8, 20)
"""How many operations a micro-batch has."""


@pytest.mark.sampled(by="collide")
@pytest.mark.parametrize("collide", [False, True])
@pytest.mark.parametrize("graphs", [False, True])
def test_queries_are_kept_up_to_date(
    graphs: bool, collide: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kills, restarts, compactions and rebuilding change nothing; what is deleted is forgotten."""
    if collide:
        monkeypatch.setattr(solutions, "_hash", lambda text: len(text or "") & 1)
        monkeypatch.setattr(state, "_LEAST_BYTES", 2)
        monkeypatch.setattr(walking, "MOST_PARTNERS", 1)
        monkeypatch.setattr(walking, "_MOST_PAIRS", 3)
        monkeypatch.setattr(anchoring, "_NEAR", 1)
    draw, outcomes = drawn_from("queries", graphs, collide), Counter[str]()
    for number in count():
        query = queries.make_query(draw, graphs=graphs, depth=draw.choice((1, 2, 2, 3)), construct=True)
        has_told = Play(query, draw, tmp_path / str(number), collide=collide).run(graphs=graphs)
        outcomes["told" if has_told else "still"] += 1
        if outcomes.total() >= RUN and outcomes["told"] >= TOLD:
            break
        assert number < 100 * RUN, f"too few queries have an answer that changes: {outcomes}"


class Play:
    """One query, by Spark's stages, in one process, and by the book."""

    def __init__(
        self,
        query: Query,
        draw: Random,
        folder: Path,
        *,
        collide: bool,
        kind: Callable[..., Simulation] = Simulation,
    ) -> None:
        self._query, self._text, self._draw = query, str(query), draw
        salted = draw.choice([(), tuple(map(write_term, queries.PREDICATES))])
        options: dict[str, Any] = {
            "buckets": draw.randint(1, 4), "hash": colliding if collide else steady, "salted": salted,
            "path_steps": STEPS,
        }  # fmt: skip
        self._folder = folder
        self._simulation = kind(self._text, str(folder / "state"), cuts=draw, **options)
        self._empty = Simulation(self._text, str(folder / "empty"), **options)
        self._engine = OneProcess(self._text)
        self._live: set[queries.Quad] = set()
        self._total: Counter[Row] = Counter()

    def run(self, *, graphs: bool) -> bool:
        """Compare each micro-batch, and delete everything at last; tells if the answer ever changed."""
        self._step(self._operations(self._draw.choice((4, 8, 14)), graphs=graphs))
        sizes = self._draw.choices(SIZES, k=self._draw.randint(2, 5))
        told = [self._step(self._operations(size, graphs=graphs)) for size in sizes]
        quads = sorted(self._live, key=str)
        self._draw.shuffle(quads)
        told += [self._step([("D", quad) for quad in part]) for part in (quads[::2], quads[1::2])]
        assert self._total == self._empty.run([]), self._text
        held, constant = self._simulation.held(), self._empty.held()
        assert held == constant, f"of what is gone is kept {held} for {self._text}"
        self._engine.close()
        return any(told)

    def _operations(self, size: int, *, graphs: bool) -> list[tuple[str, queries.Quad]]:
        """Insert and delete quads, most of the deletes of what is there."""
        made = []
        for _ in range(size):
            op = self._draw.choice("AAD")
            is_there = op == "D" and self._live and self._draw.random() < 0.8
            quad = (
                self._draw.choice(sorted(self._live, key=str))
                if is_there
                else queries.make_quad(self._draw, graphs=graphs)
            )
            made.append((op, quad))
        return made

    def _step(self, operations: list[tuple[str, queries.Quad]]) -> bool:
        """Run a micro-batch, perhaps after attempts that were killed; tells if there is a net."""
        simulation, chance = self._simulation, self._draw.random
        texts: Operations = [(op, _written(quad)) for op, quad in operations]
        for op, quad in operations:
            (self._live.add if op == "A" else self._live.discard)(quad)
        changes = scattered(texts, self._draw)
        while chance() < 0.3:
            simulation.attempt(changes, self._draw.randint(1, simulation.length))
        if chance() < 0.3:
            simulation.restart()
        net = simulation.run(changes, self._draw.choice((1, 1, 2)))
        assert net == self._engine.run(in_order(texts)), self._text
        self._total = added(self._total, net)
        assert self._answer() == by_the_book(self._query, self._live), self._text
        if chance() < 0.3:
            simulation.compact()
        if chance() < 0.2:
            folder = str(self._folder / f"again {simulation.batch}")
            self._simulation, whole = simulation.rebuilt(folder, self._draw.randint(1, 4))
            assert whole == self._total, self._text
        return bool(net)

    def _answer(self) -> Counter[Any]:
        names = self._simulation.joint.columns
        rows = [
            folded_row(row((name, _read(text)) for name, text in zip(names, texts, strict=True)))
            for texts in self._total.elements()
        ]
        assert len(rows) == self._total.total(), "no solution is there less than once"
        return Counter(rows)


def by_the_book(query: Query, quads: set[queries.Quad]) -> Counter[Any]:
    """Evaluate a query over the quads that are there; the answer yes is a row without columns."""
    found = answer(query, quads)
    return Counter([frozenset()] * found) if isinstance(found, bool) else Counter(rows_of(found))


def _written(quad: queries.Quad) -> Quad:
    s, p, o, graph = ("" if term is None else write_term(term) for term in quad)
    return s, p, o, graph


def _read(text: str | None) -> Any:
    return None if text is None else RowReader(text).term("term")
