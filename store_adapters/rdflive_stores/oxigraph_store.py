"""The stand-in for a `pyoxigraph.Store`: the same methods, and every change goes through a capture.

A native store cannot be subclassed or patched, so what is written to it past the stand-in is not seen.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any, Literal, TypeAlias

from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad, RdfFormat, Store, Triple, parse

from rdflive.store import UNION, Capture
from rdflive_stores.oxigraph_terms import canonical
from rdflive_stores.oxigraph_update import ANYTHING, Pattern, touched_patterns

if TYPE_CHECKING:
    from rdflive_stores.oxigraph_adapter import LiveStoreAdapter

__all__ = ["GraphName", "LiveStore"]

GraphName: TypeAlias = NamedNode | BlankNode | DefaultGraph
_Source: TypeAlias = bytes | str | IO[bytes] | IO[str] | None


class _Native:
    """A method that the stand-in hands to the native store as it is: it reads, or changes no quad."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, live: LiveStore | None, owner: type) -> Callable[..., Any]:
        method: Callable[..., Any] = getattr(Store if live is None else live.native, self._name)
        return method


class LiveStore:
    """Stands in for a `pyoxigraph.Store` (a new one in memory by default) and sees all it changes.

    Arguments, results and errors are the store's own; where several quads are inserted they are all
    taken from their iterable or parsed before the first one is written.

    >>> live = LiveStore()
    >>> live.add(Quad(NamedNode("http://e/IC5"), NamedNode("http://e/delay"), NamedNode("http://e/none")))
    >>> len(live), live.capture.sequence  # nobody listens, so nothing was recorded
    (1, 0)
    """

    __slots__ = ("__weakref__", "adapter", "capture", "native")

    def __init__(self, native: Store | None = None, capture: Capture | None = None) -> None:
        if native is not None and not isinstance(native, Store):
            raise TypeError(f"LiveStore stands in for a pyoxigraph.Store, got {native!r}")
        self.native = Store() if native is None else native
        self.capture = Capture() if capture is None else capture
        self.adapter: LiveStoreAdapter | None = None

    add_graph = _Native()
    backup = _Native()
    contains_named_graph = _Native()
    dump = _Native()
    flush = _Native()
    named_graphs = _Native()
    optimize = _Native()
    quads_for_pattern = _Native()
    query = _Native()
    read_only = _Native()

    def add(self, /, quad: Quad) -> None:
        """Add a quad."""
        capture = self.capture
        if not capture.listeners or UNION in capture.listeners:
            self._write_one(1, self.native.add, quad)
            return
        with capture.lock:  # `_write_one` written out, for a graph of rdflib adds quad by quad
            native = self.native
            known = quad in native
            native.add(quad)
            if not known:
                s, p, o, graph = quad
                capture.record(1, s, p, canonical(o), graph)
        if capture.deliveries:
            capture.deliver()

    def remove(self, /, quad: Quad) -> None:
        """Remove a quad."""
        self._write_one(-1, self.native.remove, quad)

    def extend(self, /, quads: Iterable[Quad]) -> None:
        """Add quads, all or none."""
        self._insert(self.native.extend, list(quads))

    def bulk_extend(self, /, quads: Iterable[Quad]) -> None:
        """Add many quads; they are kept in memory until they are written only while somebody listens."""
        if not self._unheard(self.native.bulk_extend, quads):
            self._insert(self.native.bulk_extend, list(quads))

    def load(
        self,
        /,
        input: _Source = None,  # noqa: A002 - pyoxigraph's name
        format: RdfFormat | None = None,  # noqa: A002 - pyoxigraph's name
        *,
        path: str | os.PathLike[str] | None = None,
        base_iri: str | None = None,
        to_graph: GraphName | None = None,
        lenient: bool = False,
    ) -> None:
        """Parse a document and add its quads, all or none."""
        options = {"path": path, "base_iri": base_iri, "lenient": lenient}
        if not self._unheard(self.native.load, input, format, to_graph=to_graph, **options):
            self._insert(self.native.extend, self._parsed(input, format, to_graph, options))

    def bulk_load(
        self,
        /,
        input: _Source = None,  # noqa: A002 - pyoxigraph's name
        format: RdfFormat | None = None,  # noqa: A002 - pyoxigraph's name
        *,
        path: str | os.PathLike[str] | None = None,
        base_iri: str | None = None,
        to_graph: GraphName | None = None,
        lenient: bool = False,
    ) -> None:
        """Parse a large document and add its quads."""
        options = {"path": path, "base_iri": base_iri, "lenient": lenient}
        if not self._unheard(self.native.bulk_load, input, format, to_graph=to_graph, **options):
            self._insert(self.native.bulk_extend, self._parsed(input, format, to_graph, options))

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
        """Execute a SPARQL update, all or nothing."""
        self._compare(
            lambda: touched_patterns(update, base_iri=base_iri, prefixes=prefixes),
            lambda: self.native.update(
                update,
                base_iri=base_iri,
                prefixes=prefixes,
                custom_functions=custom_functions,
                custom_aggregate_functions=custom_aggregate_functions,
            ),
        )

    def clear(self, /) -> None:
        """Remove everything."""
        self._compare(lambda: [ANYTHING], self.native.clear)

    def clear_graph(self, /, graph_name: GraphName) -> None:
        """Remove the quads of a graph."""
        self._compare(lambda: [(None, None, None, graph_name)], lambda: self.native.clear_graph(graph_name))

    def remove_graph(self, /, graph_name: GraphName) -> None:
        """Remove a graph with its quads."""
        self._compare(lambda: [(None, None, None, graph_name)], lambda: self.native.remove_graph(graph_name))

    def __len__(self) -> int:
        return len(self.native)

    def __bool__(self) -> bool:
        return bool(self.native)

    def __iter__(self) -> Iterator[Quad]:
        return iter(self.native)

    def __contains__(self, quad: object) -> bool:
        return quad in self.native

    def __str__(self) -> str:
        return str(self.native)

    def __repr__(self) -> str:
        return f"LiveStore({self.native!r})"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return self.native.__reduce_ex__(protocol)  # raises: a native store can be neither pickled nor copied

    def _unheard(self, write: Callable[..., None], *args: Any, **options: Any) -> bool:
        """Pass an operation straight to the store if nobody listens; say whether that was so."""
        with self.capture.lock:
            if self.capture.idle:
                write(*args, **options)
                return True
        return False

    def _write_one(self, sign: Literal[1, -1], write: Callable[[Quad], None], quad: Quad) -> None:
        """Write one quad, and record it if that changed something."""
        capture = self.capture
        with capture.lock:
            wants_union = False
            if capture.listeners:
                wants_union = UNION in capture.listeners
            elif capture.idle:
                write(quad)
                return
            if not wants_union:
                known = quad in self.native
                write(quad)
                if known is (sign < 0):
                    s, p, o, graph = quad
                    capture.record(sign, s, p, canonical(o), graph)
        if wants_union:
            self._write_with_union(sign, write, quad)
        elif capture.deliveries:
            capture.deliver()

    def _write_with_union(self, sign: Literal[1, -1], write: Callable[[Quad], None], quad: Quad) -> None:
        """Write one quad in a batch of its own, which has room for the change of the union too."""
        with self.capture as capture:
            known = quad in self.native
            write(quad)
            if known is (sign < 0):
                s, p, o, graph = quad
                o = canonical(o)
                capture.record(sign, s, p, o, graph)
                if all(held.graph_name == graph for held in self.native.quads_for_pattern(s, p, o, None)):
                    capture.record(sign, s, p, o, UNION)

    def _insert(self, write: Callable[[list[Quad]], None], quads: list[Quad]) -> None:
        if self._unheard(write, quads):
            return
        with self.capture:
            native = self.native
            absent = [quad for quad in quads if quad not in native]
            try:
                write(quads)
            finally:  # a bulk operation may have got half way
                came = dict.fromkeys(_canonical_quad(quad) for quad in absent if quad in native)
                self._record(came, ())

    def _parsed(
        self, source: _Source, syntax: RdfFormat | None, to_graph: GraphName | None, options: Any
    ) -> list[Quad]:
        """Parse as the store does on loading: blank nodes renamed, triples put into `to_graph`."""
        self.native.load("", RdfFormat.N_TRIPLES, to_graph=to_graph)  # refuses what is no name of a graph
        quads = parse(source, syntax, rename_blank_nodes=True, **options)
        if to_graph is None:
            return list(quads)
        default = DefaultGraph()
        return [
            Quad(q.subject, q.predicate, q.object, to_graph if q.graph_name == default else q.graph_name)
            for q in quads
        ]

    def _compare(self, touched: Callable[[], list[Pattern]], write: Callable[[], None]) -> None:
        """Run an operation and record how the quads of some patterns differ before and after.

        An open iterator keeps the old state at no cost, so an operation that fails reads nothing.
        """
        if self._unheard(write):
            return
        with self.capture:
            patterns = touched()
            before = [self._matching(pattern) for pattern in patterns]
            write()
            came: set[Quad] = set()
            went: set[Quad] = set()
            for pattern, quads in zip(patterns, before, strict=True):
                now = set(self._matching(pattern))
                for quad in quads:
                    if quad in now:
                        now.remove(quad)
                    else:
                        went.add(quad)
                came |= now
            self._record(came, went)

    def _matching(self, pattern: Pattern) -> Iterable[Quad]:
        s, p, o, graph = pattern
        if s is None or p is None or o is None or graph is None:
            return self.native.quads_for_pattern(s, p, o, graph)
        quad = _canonical_quad(Quad(s, p, o, graph))
        return (quad,) if quad in self.native else ()

    def _record(self, came: Iterable[Quad], went: Iterable[Quad]) -> None:
        """Record net changes of canonical quads inside a batch, and those of the union if wanted."""
        record = self.capture.record
        for quad in went:
            record(-1, *quad)
        for quad in came:
            record(1, *quad)
        if self.capture.wants_union:
            self._record_union(_graphs_of_triples(came), _graphs_of_triples(went))

    def _record_union(
        self, came: Mapping[Triple, set[GraphName]], went: Mapping[Triple, set[GraphName]]
    ) -> None:
        """Record the triples that a first graph took or a last one let go, given who did either."""
        for triple in came.keys() | went.keys():
            s, p, o = triple.subject, triple.predicate, triple.object
            takers = came.get(triple, ())
            is_held, was_held = False, triple in went
            for quad in self.native.quads_for_pattern(s, p, o, None):
                is_held = True
                if was_held or quad.graph_name not in takers:
                    was_held = True
                    break
            if is_held is not was_held:
                self.capture.record(1 if is_held else -1, s, p, o, UNION)


def _canonical_quad(quad: Quad) -> Quad:
    s, p, o, graph = quad
    term = canonical(o)
    return quad if term is o else Quad(s, p, term, graph)


def _graphs_of_triples(quads: Iterable[Quad]) -> Mapping[Triple, set[GraphName]]:
    graphs: dict[Triple, set[GraphName]] = {}
    for quad in quads:
        graphs.setdefault(quad.triple, set()).add(quad.graph_name)
    return graphs
