"""The adapter contract: what rdflive asks of a store, and what it offers to whoever hooks one.

An adapter makes every change of a store pass through its `Capture`: exactly the quads that came and
went, once, whatever the operation. `rdflive.testing` holds the suite that an adapter must pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

from rdflive.capture import (
    NAMED,
    OPEN,
    UNION,
    WRITING,
    Capture,
    GraphKey,
    Listener,
    QuadTerms,
    Triple,
)
from rdflive.errors import RdfliveError
from rdflive.model import Foreign

__all__ = [
    "NAMED",
    "OPEN",
    "UNION",
    "WRITING",
    "Adapter",
    "Capture",
    "GraphKey",
    "Listener",
    "NamedGraphs",
    "QuadTerms",
    "Rdf12Terms",
    "Snapshottable",
    "Triple",
    "Watchable",
    "Writable",
    "WriteRefusedError",
    "value_of",
]


@runtime_checkable
class Watchable(Protocol):
    """An adapter whose `capture` sees every change of the store."""

    capture: Capture

    def graph_key(self, graph: Any) -> GraphKey:
        """Name the graph that queries on this object see (a union for a conjunctive graph)."""

    def detach(self) -> None:
        """Unhook the store: the last subscription is gone."""


@runtime_checkable
class Snapshottable(Protocol):
    """An adapter that can list the store's current triples, under the capture's lock."""

    def triples(self, key: GraphKey, pattern: tuple[Any, Any, Any]) -> Iterator[Triple]:
        """List the distinct triples of a graph that match; None in the pattern matches anything."""

    def to_native(self, term: Any) -> Any:
        """Turn an rdflib term of a query into the store's own canonical term."""

    def from_native(self) -> Callable[[Any], Any] | None:
        """Give the function that turns a store term into the user's; None where they are the same."""

    def to_rdflib(self) -> Callable[[Any], Any] | None:
        """Give the function that turns a store term into rdflib's; None where they are the same.

        It keeps the lexical form, and raises ValueError for a term that rdflib cannot hold.
        """


@runtime_checkable
class NamedGraphs(Protocol):
    """An adapter that knows the store's graphs by name; one of a single graph knows no other."""

    def quads(self, pattern: tuple[Any, Any, Any]) -> Iterator[QuadTerms]:
        """List the quads of all graphs, each once, whose triple matches; None matches anything."""

    def default_graph(self, graph: Any) -> GraphKey:
        """Name the default graph of a dataset, which `GRAPH ?g` leaves out.

        Raises UnsupportedStoreError for what is no dataset.
        """


@runtime_checkable
class Adapter(Watchable, Snapshottable, NamedGraphs, Protocol):
    """What `rdflive_attach` returns."""


@runtime_checkable
class Rdf12Terms(Protocol):
    """An adapter whose store holds terms of RDF 1.2 that rdflib lacks; its `to_native` also takes values."""

    def to_value(self) -> Callable[[Any], Any] | None:
        """Give what `to_rdflib` does, but for expressions, which compute with more than rdflib can hold.

        The function makes of such terms a `DirectionalString` or a `TripleTerm` of `rdflive.model`.
        """


@runtime_checkable
class Writable(Protocol):
    """An adapter that can apply an entry of a feed and keep the feed's cursor with it, as `mirror` needs.

    What is kept belongs to the store as its data do: it lasts as long, and no query or subscription
    sees it.
    """

    def write(
        self,
        graph: Any,
        changes: Mapping[QuadTerms, Literal[1, -1]],
        *,
        updates: Sequence[str] = (),
        name: str,
        keep: Mapping[str, str | None],
    ) -> None:
        """Apply one entry of a feed as one commit, all or nothing, and remember `keep` with it.

        First the updates run, as `graph.update` would run them; then the changes, in native terms and
        keys of graphs, where inserting what is there or deleting what is not is no change. In the same
        atomic step each text of `keep` is remembered under `name` and its key; None forgets the key.

        Raises WriteRefusedError for a change that the store cannot hold, UnsupportedStoreError where the
        graph cannot run updates, and for an update whatever the store itself raises; then nothing has
        changed and no delta comes.
        """

    def kept(self, name: str) -> dict[str, str]:
        """Give what `write` remembered under the name."""


class WriteRefusedError(RdfliveError, ValueError):
    """What is to be written is not what the store can hold, or may be told to."""


def value_of(adapter: Snapshottable) -> Callable[[Any], Any] | None:
    """Give the function that makes values for expressions of a store's terms; None where they are the same.

    A term that nobody can convert becomes a value that no function of SPARQL knows.
    """
    convert = adapter.to_value() if isinstance(adapter, Rdf12Terms) else adapter.to_rdflib()
    if convert is None:
        return None

    def value(term: Any) -> Any:
        try:
            return convert(term)
        except ValueError:
            return Foreign(term)

    return value
