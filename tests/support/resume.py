"""A consumer that records its deltas, and ways to kill it at every step of a delivery."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import rdflib
from rdflib import RDF, URIRef

import rdflive
from rdflive.delivery.resume.journal import Journal

EX = "urn:example:"
TRAIN = URIRef(EX + "Train")
QUERY = f"SELECT ?t {{ ?t a <{TRAIN}> }}"
POINTS = ("before writing", "written", "before taking", "taken", "acknowledged")
"""Points at which a delivery can be killed: around (1) its write, (2) the callback, (3) its
acknowledgement."""


class Killed(BaseException):
    """Simulates the end of the process."""


class Wrong(BaseException):
    """A wrong delivery; unlike an Exception of a callback it reaches the test."""


class Ledger:
    """Ignores repeated numbers, and adds up the other deltas."""

    def __init__(self) -> None:
        self.told: dict[int, rdflive.Delta] = {}
        self.calls: list[int] = []
        self.die_at: str | None = None

    def take(self, delta: rdflive.Delta) -> None:
        """Take a delta, as the callback of a resumed subscription."""
        self._die("before taking")
        self.calls.append(delta.sequence)
        first = self.told.setdefault(delta.sequence, delta)
        if delta != first:
            raise Wrong(f"one number, two deltas: {first} and {delta}")
        if delta.first_sequence != delta.sequence or (delta.initial and delta.sequence > 1):
            raise Wrong(f"numbered wrongly: {delta}")
        if not delta and not delta.initial:
            raise Wrong(f"told nothing: {delta}")
        self._die("taken")

    def state(self) -> Counter[Any]:
        """Check that the numbers have no gap, and return the sum of all deltas."""
        assert sorted(self.told) == list(range(1, len(self.told) + 1))
        weights: Counter[Any] = Counter()
        for delta in self.told.values():
            for solution, weight in delta.weights().items():
                weights[solution] += weight
        assert all(weight >= 0 for weight in weights.values())
        return +weights

    def _die(self, point: str) -> None:
        if self.die_at == point:
            self.die_at = None
            raise Killed(point)


@contextmanager
def killed_at(point: str, ledger: Ledger) -> Iterator[None]:
    """Kill the first delivery of the block at one of `POINTS`; later deliveries run."""
    ledger.die_at = point
    wrapped = {"before writing": "write", "written": "write", "acknowledged": "acknowledge"}.get(point)
    if wrapped is None:
        with _surviving(ledger):
            yield
        return
    original: Callable[..., Any] = getattr(Journal, wrapped)

    def dying(journal: Journal, *args: Any, **options: Any) -> Any:
        if point == "before writing":
            ledger._die(point)
        result = original(journal, *args, **options)
        ledger._die(point)
        return result

    with patch.object(Journal, wrapped, dying), _surviving(ledger):
        yield


@contextmanager
def _surviving(ledger: Ledger) -> Iterator[None]:
    try:
        yield
    except Killed:
        pass
    finally:
        ledger.die_at = None


def node(name: str) -> URIRef:
    return URIRef(EX + name)


def add(graph: rdflib.Graph, *trains: str) -> None:
    with rdflive.batch(graph):
        for name in trains:
            graph.add((node(name), RDF.type, TRAIN))


def names(solutions: Any) -> list[str]:
    return sorted(str(solution.t).removeprefix(EX) for solution in solutions)


def resumed(graph: Any, path: Path, ledger: Ledger, query: str = QUERY, **options: Any) -> Any:
    return rdflive.subscribe(graph, query, ledger.take, name="board", resume=path, **options)
