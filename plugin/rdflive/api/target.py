"""The target graph of a mirror: it takes and returns rdflib's terms, and writes each entry atomically."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, Final, Literal

from rdflib import XSD
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID

from rdflive.delivery import membership
from rdflive.errors import UnsupportedStoreError
from rdflive.feeds.feed import NAMED_GRAPHS
from rdflive.model import Batch, Change, Quad, Term
from rdflive.plugins import manager
from rdflive.query.bgp import TriplePattern, Variable
from rdflive.store import NAMED, UNION, Adapter, GraphKey, GraphLike, QuadTerms, Transaction, Writable
from rdflive.store.capture import thread
from rdflive.values import as_parsed, normal

__all__ = ["GraphTarget", "to_feed", "to_quad"]

_DOUBLES: Final = (XSD.double, XSD.float)


class GraphTarget:
    """Writes to a dataset or a single `rdflib.Graph`, and lists its content.

    A named graph in an entry for a single graph is refused. Raises `UnsupportedStoreError` for a store
    without atomic writes. A caller that keeps the store hooked passes its adapter, which saves the plugins'
    look-up at each use.
    """

    def __init__(self, graph: GraphLike, adapter: Adapter | None = None) -> None:
        self._graph = graph
        self._store = manager.store_of(graph)
        self._adapter = adapter
        with self._locked() as adapter:
            _writable(adapter)
            # of the store, not of the graph: several graphs may share one store
            self.identity = id(adapter.capture)
            """Identifies the store."""
            try:
                self._default, self._single = adapter.default_graph(graph), False
            except UnsupportedStoreError:
                self._default, self._single = adapter.graph_key(graph), True

    @property
    def is_in_batch(self) -> bool:
        """True while this thread has a batch of the store open."""
        with self._locked() as adapter:
            return adapter.capture.is_open

    @property
    def waits_for_me(self) -> bool:
        """True while writes of other threads wait for this thread: in a batch of the store or in a callback.

        Takes no lock.
        """
        capture = None if self._adapter is None else self._adapter.capture
        return capture is not None and (capture in thread.batches or capture.deliveries.is_mine)

    def kept(self, name: str) -> dict[str, str]:
        """Return the texts that `write` kept under a name."""
        with self._locked() as adapter:
            return _writable(adapter).kept(name)

    def write(
        self, changes: Iterable[Change], updates: Sequence[str], name: str, keep: Mapping[str, str | None]
    ) -> None:
        """Apply updates, then changes, and keep texts, in one atomic commit.

        Raises ValueError for a term or graph that the store cannot hold.
        """
        if self._adapter is not None and not self._adapter.capture.asks:
            self._adapter.capture.run(self._write, self._adapter, changes, updates, name, keep)
            return
        with self._locked() as adapter:
            if adapter.capture.asks:  # no batch: the adapter calls `permit` before it writes
                self._write(adapter, changes, updates, name, keep)
            else:
                adapter.capture.run(self._write, adapter, changes, updates, name, keep)

    def _write(
        self,
        adapter: Adapter,
        changes: Iterable[Change],
        updates: Sequence[str],
        name: str,
        keep: Mapping[str, str | None],
    ) -> None:
        net: dict[QuadTerms, Literal[1, -1]] = {}
        read = self._reader(adapter)
        for sign, quad in changes:
            # the last change of a quad decides, because inserting a present quad has no effect
            net[read(quad)] = sign
        _writable(adapter).write(self._graph, Transaction(net, updates=updates, name=name, keep=keep))

    def replace(self, quads: Iterable[Quad], name: str, keep: Mapping[str, str | None]) -> None:
        """Replace the graph's content by quads, and keep texts, in one commit."""
        with self._locked() as adapter, adapter.capture.batch():
            wanted = set(map(self._reader(adapter), quads))
            held = set(self._held(adapter))
            # only the difference is written, so that unchanged quads cause no deltas
            net: dict[QuadTerms, Literal[1, -1]] = dict.fromkeys(held - wanted, -1)
            net.update(dict.fromkeys(wanted - held, 1))
            _writable(adapter).write(self._graph, Transaction(net, name=name, keep=keep))

    def quads(self) -> Iterator[Quad]:
        """List the graph's quads in rdflib's terms; the default graph is None."""
        with self._locked() as adapter:
            convert = adapter.to_rdflib()
            return iter([self._to_quad(quad, convert) for quad in self._held(adapter)])

    def spelled(self, quads: Iterable[Quad]) -> list[Quad]:
        """Return quads in the form of `quads`, each once; a quad that the store cannot hold is unchanged."""
        with self._locked() as adapter:
            convert, read = adapter.to_rdflib(), self._reader(adapter)
            return list(dict.fromkeys(self._spell(read, quad, convert) for quad in quads))

    def patterns(self) -> list[Quad]:
        """List the patterns that the open subscriptions on the store need; None matches anything."""
        with self._locked() as adapter:
            convert = adapter.to_rdflib()
            return [
                to_quad(pattern, graph)
                for key, pattern in membership.patterns(adapter)
                for graph in self._graphs(key, convert)
            ]

    @contextmanager
    def _locked(self) -> Iterator[Adapter]:
        if self._adapter is None:
            with manager.locked(self._store) as adapter:
                yield adapter
        else:
            with self._adapter.capture.reading():
                yield self._adapter

    def _spell(
        self, read: Callable[[Quad], QuadTerms], quad: Quad, convert: Callable[[Term], Any] | None
    ) -> Quad:
        try:
            return self._to_quad(read(quad), convert)
        except ValueError:
            return quad

    def _graphs(self, key: GraphKey, convert: Callable[[Term], Any] | None) -> tuple[Any, ...]:
        if key is UNION:
            return None, NAMED_GRAPHS
        if key is NAMED:
            return (NAMED_GRAPHS,)
        return (self._name(key, convert),)

    def _held(self, adapter: Adapter) -> Iterator[QuadTerms]:
        if not self._single:
            return adapter.quads((None, None, None))
        return ((s, p, o, self._default) for s, p, o in adapter.triples(self._default, (None, None, None)))

    def _reader(self, adapter: Adapter) -> Callable[[Quad], QuadTerms]:
        """Return the function from quads of a feed to quads of the store."""
        to_native, default, is_single = adapter.to_native, self._default, self._single
        is_rdflib = adapter.to_rdflib() is None

        def read(quad: Quad) -> QuadTerms:
            s, p, o, graph = quad
            try:
                # a store of rdflib's terms holds `"01"^^xsd:integer` in the spelling of its parsers, "1"
                terms = to_native(s), to_native(p), to_native(normal(o) if is_rdflib else o)
                has_other = is_rdflib and _is_not_finite(o)
                if graph is None and not has_other:
                    return *terms, default
                is_default = graph is None or (graph == DATASET_DEFAULT_GRAPH_ID and not is_single)
                key = default if is_default else to_native(graph)
            except ValueError as error:
                raise ValueError(
                    f"{' '.join(repr(term) for term in quad if term is not None)}: {error}"
                ) from error
            if is_single and key != default:
                raise ValueError(
                    f"the mirror fills a single rdflib.Graph, which cannot hold the named graph "
                    f"{quad.graph.n3()}; give it a Dataset"
                )
            if has_other:
                # they spell INF as inf, which is no xsd:double, so this form is used only if it is present
                other = *terms[:2], as_parsed(o)
                terms = next(iter(adapter.triples(key, other)), terms)
            return *terms, key

        return read

    def _to_quad(self, quad: QuadTerms, convert: Callable[[Term], Any] | None) -> Quad:
        s, p, o, key = quad
        if convert is not None:
            s, p, o = convert(s), convert(p), convert(o)
        return Quad(s, p, o, self._name(key, convert))

    def _name(self, key: GraphKey, convert: Callable[[Term], Any] | None) -> Any:
        if key == self._default:
            return None
        return key if convert is None else convert(key)


def to_feed(store: Any, batch: Batch) -> Batch:
    """Return a captured batch in the form of feeds: in rdflib's terms, with None for the default graph.

    `store` and `batch` are the arguments of the hook `rdflive_batch`. Raises ValueError for a term that
    rdflib cannot hold, such as a triple.
    """
    convert = manager.attach(store).to_rdflib()

    def say(quad: Quad) -> Quad:
        s, p, o, graph = quad
        if convert is None:
            return Quad(s, p, o, None if graph == DATASET_DEFAULT_GRAPH_ID else graph)
        try:
            name = convert(graph)
        except ValueError:  # Oxigraph's default graph has no name, and is no term
            name = None
        return Quad(convert(s), convert(p), convert(o), name)

    return Batch(tuple(Change(sign, say(quad)) for sign, quad in batch.changes), batch.sequence)


def to_quad(pattern: TriplePattern, graph: Term | None) -> Quad:
    """Return a pattern in the form of feeds: None matches anything."""
    triple = (pattern.subject, pattern.predicate, pattern.object)
    s, p, o = (None if isinstance(term, Variable) else term for term in triple)
    return Quad(s, p, o, graph)


def _is_not_finite(term: Any) -> bool:
    """True for an xsd:double or xsd:float that is infinite or NaN."""
    return getattr(term, "datatype", None) in _DOUBLES and str(term) in ("INF", "+INF", "-INF", "NaN")


@cache
def _is_writable(kind: Any) -> bool:
    return issubclass(kind, Writable)  # cached, because it inspects every member of the protocol


def _writable(adapter: Any) -> Writable:
    kind: Any = type(adapter)
    if not _is_writable(kind):
        raise UnsupportedStoreError(
            f"{kind.__qualname__} cannot write an entry of a feed atomically, so no feed can be mirrored "
            "into its stores (see Writable in docs/adapters.md)"
        )
    writable: Writable = adapter
    return writable
