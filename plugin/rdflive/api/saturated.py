"""A live graph of everything that another graph entails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import TracebackType
from typing import Any

import rdflib
from rdflib.store import Store

from rdflive.delivery import membership
from rdflive.entail.entailment import Proof, ProofStep
from rdflive.entail.regimes import Counts, Rules, regime_of
from rdflive.entail.view import EntailedView
from rdflive.errors import ClosedError, UnsupportedStoreError
from rdflive.plugins import manager
from rdflive.plugins.hookspecs import hookimpl
from rdflive.store import Adapter, GraphLike
from rdflive.store.deliveries import Delivering

__all__ = ["SaturatedGraph", "saturate"]


def saturate(
    graph: GraphLike,
    *,
    entailment: str | None = None,
    rules: Rules | None = None,
    counts: Counts | None = None,
) -> SaturatedGraph:
    """Return a live, read-only graph of the triples that a graph entails, including its own.

    It follows every commit of the graph, data and schema. `entailment`, `rules` and `counts` are those of
    `subscribe`; the default is entailment "rdfs". Close it, or use it as a context manager.

    >>> graph = rdflib.Graph()
    >>> _ = graph.update('''
    ...     PREFIX : <http://e/>
    ...     PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
    ...     INSERT DATA { :stops rdfs:domain :Train . :IC5 :stops :Bern }''')
    >>> triple = (rdflib.URIRef("http://e/IC5"), rdflib.RDF.type, rdflib.URIRef("http://e/Train"))
    >>> with saturate(graph) as saturated:
    ...     triple in saturated, saturated.is_explicit(triple), saturated.support(triple)
    (True, False, 1)
    """
    if rules is None and entailment is None:
        entailment = "rdfs"
    regime = regime_of(entailment, rules, "auto" if entailment is None else "saturate", counts)
    assert regime is not None  # noqa: S101 - one of the two is given
    with manager.locked(manager.store_of(graph)) as adapter:
        view = membership.saturate(adapter, graph, regime)
    return SaturatedGraph(graph, adapter, view)


@hookimpl
def rdflive_attach(store: Any) -> None:
    """Raise UnsupportedStoreError for the store of a saturated graph."""
    if isinstance(store, _EntailedStore):
        raise UnsupportedStoreError(
            "a saturated graph cannot be watched: subscribe to the graph that it was made of, with the same "
            "entailment= or rules="
        )


class SaturatedGraph(rdflib.Graph):
    """The entailed triples of a graph, as of its last commit; made by `saturate`.

    Each read takes the lock of the graph's store. It cannot be written or subscribed to: subscribe to the
    graph itself, with the same options.
    """

    def __init__(self, graph: GraphLike, adapter: Adapter, view: EntailedView) -> None:
        self._adapter = adapter
        self._view: EntailedView | None = view
        self._to_rdflib: Callable[[Any], Any] = adapter.to_rdflib() or _same
        super().__init__(store=_EntailedStore(self))
        for prefix, namespace in graph.namespaces() if isinstance(graph, rdflib.Graph) else ():
            self.bind(prefix, namespace)

    def is_explicit(self, triple: Any) -> bool:
        """True if the graph itself holds a triple; terms are compared by the rules of the store."""
        with self._adapter.capture.reading():
            return next(iter(self._live().explicit(self._given(triple))), None) is not None

    def support(self, triple: Any) -> int:
        """Return the number of explicit triples that entail a triple, including itself; 0 if none do.

        With `counts="paths"` it is the number of derivations (`SchemaError` while the schema has a cycle).
        With rules it is the number of rule applications that derive it, plus one if it is explicit.
        """
        with self._adapter.capture.reading():
            return self._live().entailment.support(self._given(triple))

    def why(self, triple: Any) -> list[Proof]:
        """Return proofs of a triple: the rule applications that derive it from explicit triples.

        RDFS returns a shortest proof for each explicit triple that entails it, rules return one proof.
        """
        with self._adapter.capture.reading():
            return [self._shown(proof) for proof in self._live().entailment.why(self._given(triple))]

    def resync(self) -> None:
        """Read the graph again, after changes that rdflive could not see.

        Every subscription on the graph gets a new initial delta; see `Subscription.resync`.
        """
        with self._adapter.capture.reading():
            membership.reload(self._adapter, self._live().state)

    def close(self, commit_pending_transaction: bool = False) -> None:  # noqa: ARG002 - rdflib's signature
        """Stop following the graph, and free the state that only this graph used. May be repeated."""
        with self._adapter.capture.reading():
            if self._adapter.capture.is_used:  # called by a finalizer in the middle of a write
                self._adapter.capture.enqueue(Delivering(self.close))
                return
            view, self._view = self._view, None
            if view is not None:
                membership.desaturate(self._adapter, view)
                manager.release(self._adapter)

    def __enter__(self) -> SaturatedGraph:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def entailed(self, pattern: Any) -> list[Any]:
        """List the entailed triples that match; None in the pattern matches anything.

        A triple with a term that rdflib cannot hold, such as a quoted triple, is left out.
        """
        with self._adapter.capture.reading():
            try:
                native = self._native(pattern)
            except ValueError:
                return []
            # a list, because a generator would run after the release of the lock
            return list(filter(None, map(self._in_rdflib, self._live().entailment.triples(native))))

    def _in_rdflib(self, triple: Any) -> Any:
        try:
            return tuple(map(self._to_rdflib, triple))
        except ValueError:
            return None

    def _live(self) -> EntailedView:
        if self._view is None:
            raise ClosedError("the saturated graph is closed; call saturate again")
        return self._view

    def _given(self, triple: Any) -> Any:
        """Return the store's terms of a triple."""
        if len(triple) != 3 or None in triple:
            raise ValueError(f"expected a triple of three terms, got {triple!r}")
        return self._native(triple)

    def _native(self, pattern: Any) -> Any:
        """Return the store's terms of a pattern; raises ValueError for a term that it cannot hold."""
        return tuple(None if term is None else self._adapter.to_native(term) for term in pattern)

    def _shown(self, proof: Proof) -> Proof:
        def triple(found: Any) -> Any:
            return tuple(map(self._to_rdflib, found))

        steps = [
            ProofStep(step.rule, tuple(map(triple, step.premises)), triple(step.conclusion))
            for step in proof.steps
        ]
        return Proof(triple(proof.triple), tuple(steps))


class _EntailedStore(Store):
    """The read-only store under a saturated graph."""

    def __init__(self, graph: SaturatedGraph) -> None:
        super().__init__()
        self._graph = graph
        self._prefixes: dict[str, Any] = {}

    def triples(self, triple_pattern: Any, context: Any = None) -> Iterator[Any]:  # noqa: ARG002
        """List the entailed triples that match; none if the store cannot hold a term of the pattern."""
        return ((triple, iter(())) for triple in self._graph.entailed(triple_pattern))

    def __len__(self, context: Any = None) -> int:
        return len(self._graph.entailed((None, None, None)))

    def add(self, triple: Any, context: Any, quoted: bool = False) -> None:  # noqa: ARG002
        """Raise TypeError."""
        raise TypeError("a saturated graph is read-only: write to the graph that it was made of")

    def remove(self, triple: Any, context: Any = None) -> None:  # noqa: ARG002
        """Raise TypeError."""
        raise TypeError("a saturated graph is read-only: write to the graph that it was made of")

    def bind(self, prefix: str, namespace: Any, override: bool = True) -> None:
        """Bind a prefix."""
        if override or prefix not in self._prefixes:
            self._prefixes[prefix] = namespace

    def namespace(self, prefix: str) -> Any:
        """Return the namespace of a prefix."""
        return self._prefixes.get(prefix)

    def prefix(self, namespace: Any) -> str | None:
        """Return the prefix of a namespace."""
        return next((p for p, bound in self._prefixes.items() if bound == namespace), None)

    def namespaces(self) -> Iterator[tuple[str, Any]]:
        """List the prefixes with their namespaces."""
        return iter(list(self._prefixes.items()))


def _same(term: Any) -> Any:
    return term
