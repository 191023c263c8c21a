"""The stand-in for a `pyoxigraph.Store`: it has the same methods, and records every change.

A native store can be neither subclassed nor patched, so direct writes to it are not seen. The module is long
because it repeats the whole interface.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from itertools import chain
from typing import Any, Literal, TypeAlias

from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad, RdfFormat, Store

from rdflive.store import (
    OPEN,
    UNION,
    WRITING,
    Adapter,
    Capture,
    Changes,
    History,
    StoredLog,
    Transaction,
)
from rdflive.store.capture import thread
from rdflive_stores.oxigraph.bulk import Changing, Source, content, load_unseen, parsed
from rdflive_stores.oxigraph.changes import matching, record
from rdflive_stores.oxigraph.entry import EntryRequest
from rdflive_stores.oxigraph.foresight import Foreseen, foresee
from rdflive_stores.oxigraph.ground import read_ground
from rdflive_stores.oxigraph.kept import KEPT, KeptQuads, has_kept, kept_entries, may_meet_kept, refuse_kept
from rdflive_stores.oxigraph.numbered import CommitNumbers
from rdflive_stores.oxigraph.request import execute
from rdflive_stores.oxigraph.terms import canonical
from rdflive_stores.oxigraph.undoing import Undoing, undo_what_was_left
from rdflive_stores.oxigraph.update import ANYTHING, Pattern, Request
from rdflive_stores.oxigraph.visible import Native, Read, visible
from rdflive_stores.oxigraph.writes import Compared, EntryWrite, ManyQuads, NativeWrite, OneQuad

__all__ = ["GraphName", "LiveStore"]

GraphName: TypeAlias = NamedNode | BlankNode | DefaultGraph


def _loader(load: str, write: str) -> Any:
    """Return a method that adds a document: by the native `load`, or parsed here and added by `write`."""

    def method(
        self: LiveStore,
        /,
        input: Source = None,  # noqa: A002 - pyoxigraph's name
        format: RdfFormat | None = None,  # noqa: A002 - pyoxigraph's name
        *,
        path: str | os.PathLike[str] | None = None,
        base_iri: str | None = None,
        to_graph: GraphName | None = None,
        lenient: bool = False,
    ) -> None:
        refuse_kept(to_graph)
        native, options = self.native, {"path": path, "base_iri": base_iri, "lenient": lenient}
        has_one_graph = isinstance(format, RdfFormat) and not format.supports_datasets
        may_pass = has_one_graph or load == "bulk_load"  # `load` is atomic: it must know the graphs first
        if not (
            may_pass and self._unchecked(getattr(native, load), input, format, to_graph=to_graph, **options)
        ):
            if has_one_graph and (input is None) is not (path is None) and self.capture.may_pass:
                input, options["path"] = content(input, path), None  # noqa: A001 - pyoxigraph's name
                if self.capture.run(self._load_unseen, load, input, format, to_graph, options):
                    return
            self._insert(getattr(native, write), list(parsed(native, input, format, to_graph, options)))

    method.__name__ = load
    return method


class LiveStore:
    """Stands in for a `pyoxigraph.Store` (a new one in memory by default) and records its changes.

    Arguments, results and errors are those of the store. Methods that insert several quads read or parse them
    all before the first write.

    >>> live = LiveStore()
    >>> live.add(Quad(NamedNode("http://e/IC5"), NamedNode("http://e/delay"), NamedNode("http://e/none")))
    >>> len(live), live.capture.sequence  # nothing listens, so nothing was recorded
    (1, 0)
    """

    __slots__ = ("__weakref__", "adapter", "capture", "held", "native", "numbered", "undoing")

    def __init__(self, native: Store | None = None, capture: Capture | None = None) -> None:
        if native is not None and not isinstance(native, Store):
            raise TypeError(f"LiveStore stands in for a pyoxigraph.Store, got {native!r}")
        self.native = Store() if native is None else native
        self.capture = Capture() if capture is None else capture
        self.adapter: Adapter | None = None
        self.held = KeptQuads()
        self.undoing = Undoing(self.native)
        self.numbered: CommitNumbers | None = None
        undo_what_was_left(self.native)

    backup = Native()
    flush = Native()
    optimize = Native()
    read_only = Native()
    contains_named_graph = Read()
    dump = Read()
    named_graphs = Read()
    quads_for_pattern = Read()
    query = Read()

    def add_graph(self, /, graph_name: GraphName) -> None:
        """Add a named graph without quads."""
        refuse_kept(graph_name)
        if self.numbered is None and self.capture.judge is None:
            self.native.add_graph(graph_name)
        else:  # a refused batch undoes it
            self._compare(list, partial(self.native.add_graph, graph_name), lambda _: self._with(graph_name))

    def _with(self, name: GraphName) -> Foreseen:
        is_new = not (isinstance(name, DefaultGraph) or self.native.contains_named_graph(name))
        return Foreseen([], [], [], [name] if is_new else [])  # type: ignore[list-item]  # tested above

    def add(self, /, quad: Quad) -> None:
        """Add a quad."""
        capture, batch = self.capture, thread.batch
        elsewhere = batch is not None and batch is not capture
        alone = (capture.listeners or capture.judge is not None) and not (
            capture.wants_union or self.numbered is not None
        )
        if elsewhere or not alone or not isinstance(quad, Quad):
            self._write_one(1, quad)
            return
        with capture.lock:  # `_write_one` inlined, because rdflib graphs add quad by quad
            state, judge = capture.state, capture.judge
            is_quick = state <= OPEN and (judge is None or not (state or judge.wants(quad.predicate)))
            if is_quick:
                native = self.native
                # no `finally`: an interruption must leave the flag, see `Capture`
                capture.state = state | WRITING
                if quad in native:
                    native.add(quad)
                else:
                    s, p, o, graph = quad
                    if graph == KEPT:
                        capture.state &= ~WRITING
                        refuse_kept(graph)
                    native.add(quad)
                    capture.record(1, s, p, canonical(o), graph)
                capture.state &= ~WRITING
        if not is_quick:
            self._write_one(1, quad)
        elif capture.deliveries:
            capture.deliver()

    def remove(self, /, quad: Quad) -> None:
        """Remove a quad."""
        self._write_one(-1, quad)

    def extend(self, /, quads: Iterable[Quad]) -> None:
        """Add quads atomically."""
        self._insert(self.native.extend, list(quads))

    def bulk_extend(self, /, quads: Iterable[Quad]) -> None:
        """Add many quads. While something listens, they are first collected in memory."""
        if not self._unchecked(self.native.bulk_extend, quads):
            self._insert(self.native.bulk_extend, list(quads))

    load = _loader("load", "extend")
    bulk_load = _loader("bulk_load", "bulk_extend")

    def update(
        self,
        /,
        update: str,
        *,
        base_iri: str | None = None,
        prefixes: dict[str, str] | None = None,
        custom_functions: dict[NamedNode, Callable[..., Any]] | None = None,
        custom_aggregate_functions: dict[NamedNode, Callable[[], Any]] | None = None,
    ) -> None:
        """Execute a SPARQL update atomically."""
        options: dict[str, Any] = {
            "base_iri": base_iri,
            "prefixes": prefixes,
            "custom_functions": custom_functions,
            "custom_aggregate_functions": custom_aggregate_functions,
        }
        request = Request([update], **options)
        if self._unheard(self._update, update, request, options):
            return
        calls_functions = custom_functions is not None or custom_aggregate_functions is not None
        changes = None if calls_functions else read_ground(update, prefixes, base_iri)
        if changes is None:
            write = Compared(
                self,
                lambda: request.patterns,
                lambda: self._update(update, request, options),
                lambda patterns: self._foresee(request, patterns),
            )
            self.capture.write(write)
        elif len(changes.went) + len(changes.came) == 1:  # the faster path for one quad
            (self.remove if changes.went else self.add)(*chain(*changes))
        elif changes.went:
            self._change(partial(self.native.update, update, base_iri=base_iri, prefixes=prefixes), changes)
        else:
            self._change(partial(self.native.extend, changes.came), changes)

    def _foresee(self, request: Request, patterns: list[Pattern]) -> Foreseen:
        hide_kept = may_meet_kept(self.native, request)
        return foresee(self.native, request.texts, patterns, hide_kept=hide_kept, **request.options)

    def _update(self, update: str, request: Request, options: dict[str, Any]) -> None:
        native = self.native
        hide_kept = may_meet_kept(native, request)
        if self.capture.idle and not hide_kept:  # without listeners it need not be parsed
            native.update(update, **options)
        else:
            execute(native, request.texts, hide_kept=hide_kept, **request.options)

    def write_ahead(self, log: StoredLog, history: History) -> None:
        """Write each commit into a log first, and its number into the store with it (see `DurableStore`)."""
        capture = self.capture
        self.numbered = CommitNumbers(self.native, self.undoing, self.undo, log, history)
        capture.history, capture.ahead = history, self.numbered

    def write(self, transaction: Transaction, prefixes: dict[str, str] | None = None) -> None:
        """Apply one entry of a feed in one native transaction, and keep texts with it (see `Writable`)."""
        self._write(EntryWrite(self, EntryRequest(transaction, prefixes)))

    def kept(self, name: str) -> dict[str, str]:
        """Return the texts that `write` kept under a name, read from the store."""
        self.held.forget()
        return kept_entries(self.native, name)

    def clear(self, /) -> None:
        """Remove all quads and graphs."""
        self._compare(lambda: [ANYTHING], self._clear, lambda _: self._without(ANYTHING, self.named_graphs()))

    def _clear(self) -> None:
        if has_kept(self.native):
            execute(self.native, ["DROP ALL"], hide_kept=True)
        else:
            self.native.clear()

    def clear_graph(self, /, graph_name: GraphName) -> None:
        """Remove the quads of a graph."""
        refuse_kept(graph_name)
        pattern: Pattern = (None, None, None, graph_name)
        self._compare(
            lambda: [pattern],
            lambda: self.native.clear_graph(graph_name),
            lambda _: self._without(pattern, ()),
        )

    def remove_graph(self, /, graph_name: GraphName) -> None:
        """Remove a graph with its quads."""
        refuse_kept(graph_name)
        pattern: Pattern = (None, None, None, graph_name)
        self._compare(
            lambda: [pattern],
            lambda: self.native.remove_graph(graph_name),
            lambda _: self._without(pattern, [graph_name]),
        )

    def _without(self, pattern: Pattern, dropped: Iterable[Any]) -> Foreseen:
        """Return the changes of removing the quads of a pattern, and dropping graphs."""
        names = [name for name in dropped if self.native.contains_named_graph(name)]
        return Foreseen(list(matching(self.native, pattern)), [], names, [])

    def __len__(self) -> int:
        return len(visible(self.native))

    def __bool__(self) -> bool:
        return bool(visible(self.native))

    def __iter__(self) -> Iterator[Quad]:
        return iter(visible(self.native))

    def __contains__(self, quad: object) -> bool:
        return quad in self.native and quad.graph_name != KEPT  # type: ignore[attr-defined]  # it is a Quad

    def __str__(self) -> str:
        return str(self.native)

    def __repr__(self) -> str:
        return f"LiveStore({self.native!r})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.native.__reduce_ex__(protocol)  # raises: a native store can be neither pickled nor copied

    def _locked(self) -> AbstractContextManager[object]:
        """Return a context manager that holds the lock, and detects threads that wait for each other."""
        capture = self.capture
        return capture.lock if thread.batch in (None, capture) else capture.reading()

    def _unheard(self, write: Callable[..., Any], *args: Any, **options: Any) -> bool:
        """Run an operation directly on the store if nothing listens; returns true if it was run."""
        capture = self.capture
        with self._locked():
            if capture.idle:
                write(*args, **options)
                return True
        return False

    def _unchecked(self, write: Callable[..., None], *args: Any, **options: Any) -> bool:
        """Do as `_unheard` with quads that are not checked, unless the reserved graph exists.

        If the quads create that graph, it is dropped, and WriteRefusedError is raised.
        """
        with self._locked():
            if has_kept(self.native):
                return False
            try:
                is_done = self._unheard(write, *args, **options)
            finally:
                is_met = has_kept(self.native)
                if is_met:
                    self.native.remove_graph(KEPT)
            if is_met:
                refuse_kept(KEPT)
            return is_done

    def _write(self, write: NativeWrite) -> None:
        """Make a write; without listeners it runs directly on the store."""
        if not self._unheard(write.native):
            self.capture.write(write)

    def _write_one(self, sign: Literal[1, -1], quad: Quad) -> None:
        """Write one quad, and record a real change."""
        native = self.native.add if sign > 0 else self.native.remove
        if not isinstance(quad, Quad):
            native(quad)  # the store raises for an argument that is no quad
        refuse_kept(quad.graph_name)
        if not self._unheard(native, quad):
            self.capture.write(OneQuad(self, sign, quad), is_single=True)

    def _insert(self, write: Callable[[list[Quad]], None], quads: list[Quad]) -> None:
        self._change(partial(write, quads), Changing([], quads))

    def _change(self, write: Callable[[], object], changes: Changing) -> None:
        """Run an operation that deletes and inserts quads, and record the real changes."""
        # the store raises for an argument that is no quad
        graphs = {getattr(quad, "graph_name", None) for quad in chain(*changes)}
        for graph in graphs:
            refuse_kept(graph)
        if not self._unheard(write):
            may_pass = None not in graphs and self.capture.may_pass
            self.capture.write(ManyQuads(self, write, changes, graphs, may_pass=may_pass))

    def _load_unseen(
        self, load: str, document: bytes | str, syntax: RdfFormat, to_graph: GraphName | None, options: Any
    ) -> bool:
        native = self.native
        return load_unseen(
            native,
            self.capture,
            lambda: getattr(native, load)(document, syntax, to_graph=to_graph, **options),
            parsed(native, document, syntax, to_graph, options),
            DefaultGraph() if to_graph is None else to_graph,
        )

    def _compare(
        self,
        touched: Callable[[], list[Pattern]],
        write: Callable[[], None],
        foresee: Callable[[list[Pattern]], Foreseen],
    ) -> None:
        """Run an operation, and record the difference of the quads of some patterns before and after it."""
        self._write(Compared(self, touched, write, foresee))

    def undo(self, changes: Changes) -> None:
        """Undo the net changes of the open batch in one recorded transaction."""
        native, capture = self.native, self.capture
        quads = {Quad(*quad): sign for quad, sign in changes.items() if quad[3] is not UNION}  # type: ignore[arg-type]
        went = [quad for quad, sign in quads.items() if sign > 0]
        came = [quad for quad, sign in quads.items() if sign < 0]
        capture.state |= WRITING
        self.undoing.undo(went, came)
        self.held.forget()
        record(native, capture, went, came)
        capture.state &= ~WRITING
