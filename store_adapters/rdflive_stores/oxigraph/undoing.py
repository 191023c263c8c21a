"""Undoes a batch on an Oxigraph store, even after the program has ended in its middle.

A batch of several writes is several transactions of the store. In a store on disk each transaction also
writes notes to the reserved graph: for each changed quad, if it was present before. If the program ends in
the middle, the next program that opens the store with rdflive undoes the batch by these notes.
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
"""The subject of notes; no feed in the reserved graph has this name."""
_NUMBER: Final = "urn:x-rdflive:note:"
_RUN: Final = uuid.uuid4().hex
"""Distinguishes the notes of this program from those of an earlier one."""
_HAD: Final = "had"
_LACKED: Final = "lacked"
"""The state of a quad or graph at the start of the batch: present or absent."""


class Undoing:
    """Records the state before the open batch, also on disk if the store is on disk."""

    def __init__(self, native: Store) -> None:
        self._native = native
        self._is_on_disk: bool | None = None
        self._quads: dict[Quad, bool] = {}
        """Changed quads of the batch; true if present before."""
        self._graphs: dict[Any, bool] = {}
        """Created or dropped graphs of the batch; true if present before."""
        self._notes: list[Quad] = []

    def begin(self) -> None:
        """Start a batch."""
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
        """Record changes before they are made; return the notes to write together with them.

        `forgotten` and `remembered` are quads of the reserved graph that are deleted and inserted.
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
            note = json.dumps([_HAD if had else _LACKED, text])
            number = NamedNode(f"{_NUMBER}{_RUN}:{len(self._notes)}")
            self._notes.append(Quad(_NOTE, number, Literal(note), KEPT))

    def undo(self, went: list[Quad], came: list[Quad]) -> None:
        """Write changes that undo the batch, restore the reserved graph and the dropped graphs, and drop the
        created graphs and the notes.
        """
        kept = {quad: had for quad, had in self._quads.items() if quad.graph_name == KEPT}
        went = went + [quad for quad, had in kept.items() if not had]
        came = came + [quad for quad, had in kept.items() if had]
        _undo(self._native, went, came, self._graphs, self._notes)
        self.begin()

    def stay(self, *, went: Iterable[Quad] = (), came: Iterable[Quad] = ()) -> None:
        """Remove the notes: the batch is complete. Quads of the reserved graph may go and come with them."""
        went, came = [*self._notes, *went], [*came]
        if went or came:
            _change(self._native, [], went, came)
        self.begin()


def undo_what_was_left(native: Store) -> None:
    """Undo the unfinished batch of an earlier program, if there is one."""
    if not has_kept(native):
        return
    found: Iterable[Any] = native.quads_for_pattern(_NOTE, None, None, KEPT)
    notes = [quad for quad in found if not quad.predicate.value.startswith(_NUMBER + _RUN)]
    if not notes:
        return
    went: list[Quad] = []
    came: list[Quad] = []
    graphs: dict[Any, bool] = {}
    for state, text in (json.loads(note.object.value) for note in notes):
        if text.endswith(" ."):
            # the parser keeps the labels of blank nodes
            (came if state == _HAD else went).extend(_parsed(text))
        else:
            graphs[BlankNode(text[2:]) if text.startswith("_:") else NamedNode(text[1:-1])] = state == _HAD
    log.warning(
        "a program has ended in the middle of a guarded batch on this store; undoing its %d changes",
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
    """Make changes, and drop the reserved graph if it becomes empty, because hiding it costs time.

    This is one transaction, so a program that ends in the middle leaves no empty reserved graph.
    """
    is_last = has_kept(native) and not set(kept_quads(native)).difference(went).union(
        quad for quad in came if quad.graph_name == KEPT
    )
    execute(native, updates, went, came, then=[f"DROP SILENT GRAPH {KEPT}"] if is_last else [])


def _is_on_disk(native: Store) -> bool:
    """True if a store is on disk: only the error of an impossible backup reveals it."""
    try:
        native.backup(str(Path(tempfile.gettempdir()) / uuid.uuid4().hex / "nowhere"))
    except RuntimeError:
        return False
    except OSError:
        pass
    return True
