"""A change feed replayed on a dataset, one commit per batch."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import rdflib

import rdflive
from rdflive.errors import RdfliveError
from rdflive.model import Batch, Delta

__all__ = ["Replay"]


@dataclass(slots=True)
class Replay:
    """Applies batches and shows the deltas that they cause; counts both.

    Give `received.append` to the subscription as its callback: showing a delta inside the callback would
    have its errors, such as a closed pipe, logged as those of a failing subscriber.
    """

    dataset: rdflib.Dataset
    source: str
    """What the feed is called in messages."""
    show: Callable[[Delta], object]
    received: deque[Delta] = field(default_factory=deque)
    batches: int = 0
    changes: int = 0
    deltas: int = 0
    start: float = field(default_factory=time.perf_counter)

    def __str__(self) -> str:
        seconds = time.perf_counter() - self.start
        return f"{self.batches} batches, {self.changes} changes, {self.deltas} deltas in {seconds:.2f} s"

    def run(self, batches: Iterable[Batch], *, pace: float) -> None:
        """Show what has been received, then after each batch what came of it, `pace` seconds apart."""
        self._show()
        self.start = time.perf_counter()
        for batch in batches:
            time.sleep(pace)
            self._apply(batch)
            self.batches += 1
            self.changes += len(batch.changes)
            self._show()

    def _show(self) -> None:
        while self.received:
            delta = self.received.popleft()
            self.deltas += not delta.initial
            self.show(delta)

    def _apply(self, batch: Batch) -> None:
        with rdflive.batch(self.dataset):
            for sign, (s, p, o, name) in batch.changes:
                graph = self.dataset.default_graph if name is None else self.dataset.graph(name)
                try:
                    if sign > 0:
                        graph.add((s, p, o))
                    else:
                        graph.remove((s, p, o))
                except ValueError as error:  # Oxigraph takes fewer IRIs and language tags than RDF Patch
                    reason = f"the store refuses {s.n3()} {p.n3()} {o.n3()}: {error}"
                    raise RdfliveError(f"{self.source}, batch {batch.sequence}: {reason}") from error
