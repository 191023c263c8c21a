"""The work of a child that finds how the answer of a query has changed by the last commits of the log."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

import rdflib
from rdflib.term import Node

from rdflive.api.live import subscribe
from rdflive.model import Delta, rows_unread
from rdflive.plugins import manager
from rdflive.query.budget import Budget
from rdflive.server.failures import Problem
from rdflive.server.isolation.frames import Frames
from rdflive.sinks.events.log import weights_of
from rdflive.store import Durable, LogGapError, Transaction
from rdflive.store.stored_log import read_log

__all__ = ["CatchUp"]

MOST_ENTRIES: Final = 100_000
MOST_BYTES: Final = 64 << 20
"""Beyond this a client that fetches the answer again costs less."""


@dataclass(frozen=True, slots=True)
class CatchUp:
    """Undoes the commits of a store one by one, from its present state, and watches a query meanwhile."""

    query: str
    entailed: Mapping[str, Any]
    """The options of entailment."""
    bindings: Mapping[str, Node]
    folder: Path
    """The folder of the change log."""
    place: int
    """The number of the commit to go back to."""
    until: int
    """The number of the commit from which on the changes are known."""
    rows: int
    """The most solutions of all changes together."""
    budget: Budget

    def __call__(self, dataset: rdflib.Dataset, frames: Frames) -> None:
        """Write each commit after `place` up to `until` that changed the answer, with its net change."""
        with manager.hooked(manager.store_of(dataset)) as adapter:
            assert isinstance(adapter, Durable)  # noqa: S101 - the server asks only for such a store
            commits = self._commits(adapter)
            self._undo(dataset, adapter, [one for number, one in commits if number > self.until])
            found: list[tuple[int, dict[str, int]]] = []
            failed: list[Exception] = []
            net: dict[str, int] = {}
            rows = 0

            def take(delta: Delta) -> None:
                for text, weight in weights_of(delta).items():
                    net[text] = net.get(text, 0) - weight

            with rows_unread(), self._following(dataset, take, failed):
                for number, changes in reversed(commits):
                    if number > self.until:
                        continue
                    net = {}
                    self._undo(dataset, adapter, [changes])
                    net = {text: weight for text, weight in net.items() if weight}
                    rows += len(net)
                    if failed or rows > self.rows:
                        raise Problem(503, "the changes exceed the limits")
                    if net:
                        found.append((number, net))
        frames.begin("application/json")
        frames.write(json.dumps(found[::-1]).encode())

    def _following(self, dataset: rdflib.Dataset, take: Any, failed: list[Exception]) -> Any:
        return subscribe(
            dataset,
            self.query,
            take,
            initBindings=self.bindings,
            **self.entailed,
            initial=False,
            budget=self.budget,
            on_error=lambda _, error: failed.append(error),
        )

    def _commits(self, adapter: Durable) -> list[tuple[int, Mapping[Any, int]]]:
        """Read the commits after `place`; raises `Problem` if the log lacks one, or they are too many."""
        found: list[tuple[int, Mapping[Any, int]]] = []
        size = 0
        try:
            for number, content in read_log(self.folder, self.place, adapter.kept_number()):
                size += len(content)
                if size > MOST_BYTES or len(found) == MOST_ENTRIES:
                    raise Problem(503, "the log since then is too long")
                found.append((number, adapter.read_changes(content)))
        except LogGapError as error:
            raise Problem(410, "the log does not reach back") from error
        return found

    def _undo(self, dataset: rdflib.Dataset, adapter: Any, commits: Iterable[Mapping[Any, int]]) -> None:
        for changes in commits:
            opposite: dict[Any, Literal[1, -1]] = {q: -1 if sign > 0 else 1 for q, sign in changes.items()}
            adapter.write(dataset, Transaction(opposite, name="server", keep={}))
