"""The work of a child that finds how the answer of a query has changed by the last commits of the log."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import rdflib
from rdflib.term import Node

from rdflive.api.live import subscribe
from rdflive.api.target import GraphTarget
from rdflive.feeds import decode
from rdflive.feeds.rdf_patch import RDF_PATCH
from rdflive.model import Batch, Delta, rows_unread
from rdflive.plugins import manager
from rdflive.query.budget import Budget
from rdflive.server.change_log import CommitLog
from rdflive.server.failures import Problem
from rdflive.server.isolation.frames import Frames
from rdflive.sinks.events.log import weights_of
from rdflive.store import DurableStore, LogGapError, Transaction
from rdflive.store.stored_log import read_log

__all__ = ["CatchUp"]

MOST_ENTRIES: Final = 100_000
MOST_BYTES: Final = 64 << 20
"""Beyond this a client that fetches the answer again costs less."""


_Undo: TypeAlias = "tuple[int, Callable[[], None]]"
"""The number of a commit, and what undoes it."""


@dataclass(frozen=True, slots=True)
class CatchUp:
    """Undoes the commits of a store one by one, from its present state, and watches a query meanwhile."""

    query: str
    entailed: Mapping[str, Any]
    """The options of entailment."""
    bindings: Mapping[str, Node]
    log: Path | CommitLog
    """The folder of the change log on disk; for a store in memory the log, of which the child has a copy."""
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
            commits = self._commits(dataset, adapter)
            for number, undo in reversed(commits):
                if number > self.until:
                    undo()
            earlier = [(number, undo) for number, undo in reversed(commits) if number <= self.until]
            found: list[tuple[int, dict[str, int]]] = []
            failed: list[Exception] = []
            net: dict[str, int] = {}
            rows = 0

            def take(delta: Delta) -> None:
                for text, weight in weights_of(delta).items():
                    net[text] = net.get(text, 0) - weight

            with rows_unread(), self._following(dataset, take, failed):
                for number, undo in earlier:
                    net = {}
                    undo()
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

    def _commits(self, dataset: rdflib.Dataset, adapter: Any) -> list[_Undo]:
        """Return the commits after `place`; raises `Problem` if the log lacks one, or they are too many."""
        if isinstance(self.log, CommitLog):
            return self._in_memory(self.log, dataset, adapter)
        assert isinstance(adapter, DurableStore)  # noqa: S101 - only such a store has a log on disk
        found: list[_Undo] = []
        size = 0
        try:
            for number, content in read_log(self.log, self.place, adapter.kept_number()):
                size += len(content)
                if size > MOST_BYTES or len(found) == MOST_ENTRIES:
                    raise Problem(503, "the log since then is too long")
                found.append((number, partial(_undo, dataset, adapter, adapter.read_changes(content))))
        except LogGapError as error:
            raise Problem(410, "the log does not reach back") from error
        return found

    def _in_memory(self, log: CommitLog, dataset: rdflib.Dataset, adapter: Any) -> list[_Undo]:
        found: list[_Undo] = []
        for number, content in log.forked(self.place):
            if isinstance(content, Batch):
                changes = {tuple(quad): sign for sign, quad in content.changes}
                found.append((number, partial(_undo, dataset, adapter, changes)))
            else:
                found.append((number, partial(_undo_patch, dataset, content)))
        return found


def _undo(dataset: rdflib.Dataset, adapter: Any, changes: Mapping[Any, int]) -> None:
    opposite: dict[Any, Literal[1, -1]] = {q: -1 if sign > 0 else 1 for q, sign in changes.items()}
    adapter.write(dataset, Transaction(opposite, name="server", keep={}))


def _undo_patch(dataset: rdflib.Dataset, patch: str) -> None:
    """Undo a commit that a replica has from its primary."""
    for batch in decode(RDF_PATCH, patch.splitlines()):
        opposite = [change._replace(sign=-change.sign) for change in batch.changes]
        GraphTarget(dataset).write(opposite, (), "server", {})
