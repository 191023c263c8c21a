"""Writes entries of feeds to rdflib's in-memory stores, and keeps texts beside the data.

rdflib has no transactions: if an entry fails, its changes are undone by the opposite operations. The kept
texts are an attribute of the store, so a copy or a pickle of the store includes them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final, Literal

from rdflib.graph import ConjunctiveGraph, Dataset, Graph
from rdflib.term import BNode, URIRef
from rdflib.term import Literal as RdfLiteral

from rdflive.store import QuadTerms, WriteRefusedError

__all__ = [
    "KEPT",
    "apply_changes",
    "check_terms",
    "keep_entries",
    "kept_entries",
    "restore_entries",
    "restoring_graphs",
    "updatable",
]

KEPT: Final = "_rdflive_kept"
"""The attribute of a store that holds the kept texts, by name and key."""

Contexts = Callable[[Any], Any]
"""Returns the context that rdflib's stores take for the graph of a key."""


def check_terms(changes: Mapping[QuadTerms, Literal[1, -1]]) -> None:
    """Raise WriteRefusedError for anything but terms; None would match anything in `remove`."""
    for s, p, o, _ in changes:
        for term in (s, p, o):
            if not isinstance(term, URIRef | BNode | RdfLiteral):
                raise WriteRefusedError(
                    f"{term!r} in {(s, p, o)} is not a term: give an IRI, a blank node or a literal of rdflib"
                )


def apply_changes(
    store: Any, changes: Mapping[QuadTerms, Literal[1, -1]], contexts: Contexts, *, direction: int = 1
) -> None:
    """Make the changes, or with `direction=-1` the opposite of each."""
    for (s, p, o, key), sign in changes.items():
        change = store.add if sign == direction else store.remove
        change((s, p, o), contexts(key))


def keep_entries(store: Any, name: str, keep: Mapping[str, str | None]) -> None:
    """Keep texts under a name, by key; None removes the key."""
    # a store without kept texts gets no attribute
    if not keep:
        return
    kept = vars(store).get(KEPT, {})
    entries = {key: text for key, text in {**kept.get(name, {}), **keep}.items() if text is not None}
    # new dictionaries, because the old ones serve to undo a batch
    vars(store)[KEPT] = {**kept, name: entries}


def kept_entries(store: Any, name: str) -> dict[str, str]:
    """Return a copy of the texts kept under a name."""
    return dict(vars(store).get(KEPT, {}).get(name, {}))


def restore_entries(store: Any, kept: Any) -> None:
    """Restore an earlier value of a store's attribute of kept texts; None removes the attribute."""
    if kept is None:
        vars(store).pop(KEPT, None)
    else:
        vars(store)[KEPT] = kept


@contextmanager
def restoring_graphs(graphs: set[Any]) -> Iterator[None]:
    """Restore a store's set of graphs if the block raises: it may have added or removed empty graphs."""
    before = set(graphs)
    try:
        yield
    except BaseException:
        # in place, because the store uses this set
        graphs.clear()
        graphs.update(before)
        raise


def updatable(graph: Any, store: Any) -> Graph:
    """Return a graph over a store, its own or the one inside it, on which updates run correctly.

    rdflib's engine treats a subclass of `Graph` as a dataset; for a `Dataset` see `_Dataset`.
    """
    if isinstance(graph, Dataset):
        target: Graph = _Dataset(store, default_union=graph.default_union)
    elif isinstance(graph, ConjunctiveGraph):
        target = ConjunctiveGraph(store, graph.default_context.identifier)
    else:
        target = Graph(store, graph.identifier)
    target.namespace_manager = graph.namespace_manager
    return target


class _Dataset(Dataset):
    """A dataset in whose updates triples belong to the default graph, as SPARQL requires.

    With rdflib's own `Dataset`, INSERT DATA and COPY of triples fail, and DELETE DATA, DELETE WHERE and CLEAR
    DEFAULT affect all graphs.
    """

    @property
    def identifier(self) -> Any:
        """The name of the default graph for rdflib's engine."""
        return self.default_graph.identifier

    def __iter__(self) -> Any:
        return iter(self.default_graph)

    def __iadd__(self, other: Iterable[Any]) -> _Dataset:  # type: ignore[misc]  # it adds, unlike +
        self.default_graph += other
        return self

    def remove(self, triple: Any) -> _Dataset:
        """Remove the triples that match a pattern from the default graph."""
        self.default_graph.remove(triple)
        return self
