"""How a batch on an Oxigraph store is undone, also by the next program that opens the store.

A batch of several writes is several transactions of the store. On disk each of them also keeps, in the
reserved graph, whether the store had the quads that it changes. A program that ends in the middle leaves
these notes, and the next one that opens the store with rdflive undoes the batch by them.
"""

from __future__ import annotations

import json
import logging
import tempfile
import uuid
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, RdfFormat, Store, parse

from rdflive_stores.oxigraph.foresight import turn_unspelled
from rdflive_stores.oxigraph.kept import KEPT, has_kept, kept_quads
from rdflive_stores.oxigraph.request import execute, spelled

__all__ = ["Undoing", "undo_what_was_left"]

log = logging.getLogger("rdflive")

_NOTE: Final = NamedNode("urn:x-rdflive:undo")
"""The subject of notes; no feed is called so in the reserved graph."""
_NUMBER: Final = "urn:x-rdflive:note:"
_RUN: Final = uuid.uuid4().hex
"""Tells the notes of this program from those of one that ended."""
_HAD: Final = "had"
_LACKED: Final = "lacked"
"""Whether the store had a quad, or a graph, when the batch began."""


class Undoing:
    """Notes what the open batch changes first, on disk too where the store is there."""

    def __init__(self, native: Store) -> None:
        self._native = native
        self._is_on_disk: bool | None = None
        self._quads: dict[Quad, bool] = {}
        """Quads that the batch changed, and whether they were there before."""
        self._graphs: dict[Any, bool] = {}
        """Graphs that the batch made or dropped, and whether they were there before."""
        self._notes: list[Quad] = []

    def begin(self) -> None:
        """A batch begins."""
        self._quads.clear()
        self._graphs.clear()
        self._notes.clear()

    def note(
        self,
        went: Iterable[Quad],
        came: Iterable[Quad],
        dropped: Iterable[Any],
        made: Iterable[Any],
        forgotten: Iterable[Quad] = (),
        remembered: Iterable[Quad] = (),
    ) -> list[Quad]:
        """Note changes before they are made; give the quads that must be written together with them.

        `forgotten` and `remembered` are quads of the reserved graph that go and come.
        """
        if self._is_on_disk is None:
            self._is_on_disk = _is_on_disk(self._native)
        before = len(self._notes)
        for had, quads in ((True, (*went, *forgotten)), (False, (*came, *remembered))):
            for quad in quads:
                if quad not in self._quads:
                    self._quads[quad] = had
                    self._write(had, f"{quad} .")
        for had, graphs in ((True, dropped), (False, made), (False, self._new_graphs(came))):
            for graph in graphs:
                if graph not in self._graphs:
                    self._graphs[graph] = had
                    self._write(had, str(graph))
        return self._notes[before:]

    def _new_graphs(self, came: Iterable[Quad]) -> set[Any]:
        names = {quad.graph_name for quad in came} - {DefaultGraph()} - self._graphs.keys()
        return {name for name in names if not self._native.contains_named_graph(name)}

    def _write(self, had: bool, text: str) -> None:
        if self._is_on_disk:
            told = json.dumps([_HAD if had else _LACKED, text])
            number = NamedNode(f"{_NUMBER}{_RUN}:{len(self._notes)}")
            self._notes.append(Quad(_NOTE, number, Literal(told), KEPT))

    def undo(self, went: list[Quad], came: list[Quad]) -> None:
        """Write changes that undo the batch, give the reserved graph back what it held, drop the graphs that
        the batch made, and its notes.
        """
        kept = {quad: had for quad, had in self._quads.items() if quad.graph_name == KEPT}
        went = went + [quad for quad, had in kept.items() if not had]
        came = came + [quad for quad, had in kept.items() if had]
        _undo(self._native, went, came, self._graphs, self._notes)
        self.begin()

    def stay(self) -> None:
        """Drop the notes: the batch is whole."""
        if self._notes:
            _change(self._native, [], self._notes, [])
        self.begin()


def undo_what_was_left(native: Store) -> None:
    """Undo the batch that a program left half done, if it did."""
    if not has_kept(native):
        return
    found: Iterable[Any] = native.quads_for_pattern(_NOTE, None, None, KEPT)
    notes = [quad for quad in found if not quad.predicate.value.startswith(_NUMBER + _RUN)]
    if not notes:
        return
    went: list[Quad] = []
    came: list[Quad] = []
    graphs: dict[Any, bool] = {}
    for state, told in (json.loads(note.object.value) for note in notes):
        if told.endswith(" ."):
            # the parser keeps the labels of blank nodes
            (came if state == _HAD else went).extend(_parsed(told))
        else:
            graphs[BlankNode(told[2:]) if told.startswith("_:") else NamedNode(told[1:-1])] = state == _HAD
    log.warning(
        "a program ended in the middle of a guarded batch on this store: its %d changes are undone",
        len(notes),
    )
    _undo(native, went, came, graphs, notes)


def _parsed(text: str) -> list[Quad]:
    quads: Any = parse(text, format=RdfFormat.N_QUADS, lenient=True)
    return list(quads)


def _undo(
    native: Store, went: list[Quad], came: list[Quad], graphs: dict[Any, bool], notes: list[Quad]
) -> None:
    turned = [
        f"{'CREATE' if had else 'DROP'} SILENT GRAPH {graph}"
        for graph, had in graphs.items()
        if spelled(graph)
    ]
    _change(native, [" ;\n".join(turned)] if turned else [], [*went, *notes], came)
    lacked = [graph for graph, had in graphs.items() if not had]
    turn_unspelled(native, lacked, [graph for graph, had in graphs.items() if had])


def _change(native: Store, updates: list[str], went: list[Quad], came: list[Quad]) -> None:
    """Make changes, and drop the reserved graph if it gets empty: while it is there, it has to be hidden.

    All in one transaction, so that a program which ends in the middle leaves no empty reserved graph.
    """
    is_last = has_kept(native) and not set(kept_quads(native)).difference(went).union(
        quad for quad in came if quad.graph_name == KEPT
    )
    execute(native, updates, went, came, then=[f"DROP SILENT GRAPH {KEPT}"] if is_last else [])


def _is_on_disk(native: Store) -> bool:
    """Tell whether a store is on disk. It says so only when it is asked for a backup, here to no place."""
    try:
        native.backup(str(Path(tempfile.gettempdir()) / uuid.uuid4().hex / "nowhere"))
    except RuntimeError:
        return False
    except OSError:
        pass
    return True
