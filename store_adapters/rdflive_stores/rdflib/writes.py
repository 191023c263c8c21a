"""Writes entries of feeds to rdflib's in-memory stores, and keeps texts beside the data.

rdflib has no transactions: if an entry fails, its changes are undone by the opposite operations. What is kept
is an attribute of the store, so that it stays with the data in a copy or a pickle.
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
"""The attribute of a store that holds what is kept, by name and key."""

Contexts = Callable[[Any], Any]
"""Gives what rdflib's stores take for the graph of a key."""


def check_terms(changes: Mapping[QuadTerms, Literal[1, -1]]) -> None:
    """Refuse what is not a term of a statement; None would match anything when it is removed."""
    for s, p, o, _ in changes:
        for term in (s, p, o):
            if not isinstance(term, URIRef | BNode | RdfLiteral):
                raise WriteRefusedError(
                    f"{term!r} in {(s, p, o)} is no term: give an IRI, a blank node or a literal of rdflib"
                )


def apply_changes(
    store: Any, changes: Mapping[QuadTerms, Literal[1, -1]], contexts: Contexts, *, direction: int = 1
) -> None:
    """Do the changes, or the opposite of each with `direction=-1`."""
    for (s, p, o, key), sign in changes.items():
        change = store.add if sign == direction else store.remove
        change((s, p, o), contexts(key))


def keep_entries(store: Any, name: str, keep: Mapping[str, str | None]) -> None:
    """Remember texts under a name; None forgets the key."""
    # nothing is left on a store that keeps nothing
    if not keep:
        return
    kept = vars(store).get(KEPT, {})
    entries = {key: text for key, text in {**kept.get(name, {}), **keep}.items() if text is not None}
    # new dictionaries, so that a batch can be undone by the old ones
    vars(store)[KEPT] = {**kept, name: entries}


def kept_entries(store: Any, name: str) -> dict[str, str]:
    """Give a copy of what is remembered under a name."""
    return dict(vars(store).get(KEPT, {}).get(name, {}))


def restore_entries(store: Any, kept: Any) -> None:
    """Give a store back what it kept once, as its attribute was then."""
    if kept is None:
        vars(store).pop(KEPT, None)
    else:
        vars(store)[KEPT] = kept


@contextmanager
def restoring_graphs(graphs: set[Any]) -> Iterator[None]:
    """Give a store its set of graphs back if the block raises, as empty graphs may have been added or
    removed.
    """
    before = set(graphs)
    try:
        yield
    except BaseException:
        # in place, because the store itself has this set
        graphs.clear()
        graphs.update(before)
        raise


def updatable(graph: Any, store: Any) -> Graph:
    """Give the graph over a store, its own or the one inside it, in the form whose updates are right.

    rdflib's engine takes a subclass of `Graph` for a dataset; of a `Dataset` see `_Dataset`.
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
    """A dataset in whose updates triples are those of the default graph, as SPARQL says.

    In rdflib's own INSERT DATA and COPY fail with triples, and DELETE DATA, DELETE WHERE and CLEAR DEFAULT
    reach all graphs.
    """

    @property
    def identifier(self) -> Any:
        """The name that rdflib's engine takes for that of the default graph."""
        return self.default_graph.identifier

    def __iter__(self) -> Any:
        return iter(self.default_graph)

    def __iadd__(self, other: Iterable[Any]) -> _Dataset:  # type: ignore[misc]  # it adds where + would not
        self.default_graph += other
        return self

    def remove(self, triple: Any) -> _Dataset:
        """Remove a triple, or what a pattern matches, from the default graph."""
        self.default_graph.remove(triple)
        return self
