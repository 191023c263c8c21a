"""Feeds written as text, scripted feeds, and their effects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rdflib import Literal, URIRef

import rdflive
from rdflive import Batch, Change, Quad, ResyncNeeded
from rdflive.api.target import GraphTarget
from rdflive.feeds import Entry, Snapshot, Target
from support.worlds import KINDS

__all__ = ["DATASETS", "QUERY", "Deltas", "E", "Scripted", "append", "literal", "objects", "patch", "row"]

E = "http://example.org/"


QUERY = f"SELECT ?o {{ <{E}s> <{E}p> ?o }}"


DATASETS = {name: KINDS[name] for name in ("dataset", "oxigraph dataset", "live store")}


def row(text: str, graph: str = "") -> str:
    return f'<{E}s> <{E}p> "{text}" {graph}.'


def patch(*rows: str) -> str:
    return "".join(["TX .\n", *(f"{text}\n" for text in rows), "TC .\n"])


def append(path: Path, *texts: str) -> str:
    with path.open("a", encoding="utf-8", newline="") as stream:
        stream.writelines(texts)
    return str(path)


def objects(graph: Any) -> set[str]:
    return {str(quad.object) for quad in GraphTarget(graph).quads()}


class Deltas:
    """The deltas of a subscription to the literals."""

    def __init__(self, graph: Any) -> None:
        self._deltas: list[rdflive.Delta] = []
        self._subscription = rdflive.subscribe(graph, QUERY, self._deltas.append, initial=False)

    def take(self) -> list[tuple[list[str], list[str]]]:
        taken = [
            (sorted(str(getattr(s.o, "value", s.o)) for s in delta.added),
             sorted(str(getattr(s.o, "value", s.o)) for s in delta.removed))
            for delta in self._deltas
        ]  # fmt: skip
        self._deltas.clear()
        return taken

    def close(self) -> None:
        self._subscription.close()


class Scripted:
    """A feed of entries with numbers as cursors, which may raise `ResyncNeeded`."""

    source = "script"

    def __init__(self, batches: list[list[Change]], *, oldest: int = 0) -> None:
        self.batches, self.oldest = batches, oldest

    def entries(self, cursor: str | None, kept: Mapping[str, str], target: Target) -> Iterator[Entry]:
        begin = int(cursor or 0)
        assert kept == ({"last": str(begin)} if begin else {})
        if begin < self.oldest:
            raise ResyncNeeded(self.source, f"the log begins at {self.oldest}")
        for number, changes in enumerate(self.batches[begin:], start=begin + 1):
            yield Entry(Batch(tuple(changes), number), str(number), kept={"last": str(number)})

    def snapshot(self, target: Target) -> Snapshot | None:
        state: set[Quad] = set()
        for changes in self.batches:
            for sign, quad in changes:
                (state.add if sign > 0 else state.discard)(quad)
        end = str(len(self.batches))
        return Snapshot(tuple(state), end, {"last": end})

    def close(self) -> None: ...


def literal(sign: int, text: str) -> Change:
    return Change(1 if sign > 0 else -1, Quad(URIRef(E + "s"), URIRef(E + "p"), Literal(text)))
