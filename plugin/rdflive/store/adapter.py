"""The adapter contract: the methods that rdflive needs of a store.

An adapter records every change of a store in its `Capture`: each added and removed quad exactly once,
whatever the operation. An adapter must pass the test suite in `rdflive.testing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from rdflive.errors import RdfliveError
from rdflive.model import Foreign, Term, TermPattern, Triple
from rdflive.store.capture import Capture
from rdflive.store.history import History
from rdflive.store.listening import Changes, GraphKey, QuadTerms
from rdflive.store.stored_log import StoredLog
from rdflive.values import Value, typed_value, value_in

__all__ = [
    "Adapter",
    "DurableStore",
    "GraphLike",
    "Guardable",
    "LiteralParts",
    "LookingUp",
    "NamedGraphs",
    "Rdf12Terms",
    "Snapshottable",
    "Transaction",
    "Watchable",
    "Writable",
    "WriteRefusedError",
    "content_of",
    "looks_up",
    "value_of",
]


class GraphLike(Protocol):
    """The type of graphs for type checkers: an `rdflib.Graph` or `Dataset`, or a `LiveStore`.

    It has the methods that these share, so a graph of another library with its own adapter fits too. The
    store's adapter decides at subscription time whether a graph can be watched.
    """

    def add(self, statement: Any, /) -> Any:
        """Add a triple or a quad."""

    def remove(self, statement: Any, /) -> Any:
        """Remove a triple or a quad."""

    def query(self, query: Any, /) -> Any:
        """Answer a SPARQL query once."""

    def update(self, update: Any, /) -> Any:
        """Execute a SPARQL update."""


@runtime_checkable
class Watchable(Protocol):
    """An adapter whose `capture` sees every change of the store."""

    capture: Capture

    def graph_key(self, graph: Any) -> GraphKey:
        """Return the key of the graph that queries on this object read (a union for a conjunctive graph)."""

    def detach(self) -> None:
        """Unhook the store after its last subscription has closed."""


@runtime_checkable
class Snapshottable(Protocol):
    """An adapter that can list the store's current triples, under the capture's lock."""

    def triples(self, key: GraphKey, pattern: TermPattern) -> Iterator[Triple]:
        """List the distinct triples of a graph that match; None in the pattern matches anything."""

    def to_native(self, term: Any) -> Term:
        """Turn an rdflib term of a query into the store's own canonical term."""

    def from_native(self) -> Callable[[Term], Any] | None:
        """Return the function that turns a store term into the user's; None if they are the same."""

    def to_rdflib(self) -> Callable[[Term], Any] | None:
        """Return the function that turns a store term into rdflib's; None if they are the same.

        The function keeps the lexical form, and raises ValueError for a term that rdflib cannot hold.
        """


@runtime_checkable
class NamedGraphs(Protocol):
    """An adapter that lists the quads of all graphs; a store may have one graph."""

    def quads(self, pattern: TermPattern) -> Iterator[QuadTerms]:
        """List the quads of all graphs, each once, whose triple matches; None matches anything."""

    def default_graph(self, graph: Any) -> GraphKey:
        """Return the key of the default graph of a dataset, which `GRAPH ?g` leaves out.

        Raises UnsupportedStoreError for an object that is not a dataset.
        """


@runtime_checkable
class Adapter(Watchable, Snapshottable, NamedGraphs, Protocol):
    """The return type of `rdflive_attach`."""


@runtime_checkable
class Rdf12Terms(Protocol):
    """An adapter of a store with RDF 1.2 terms that rdflib lacks; its `to_native` also takes values."""

    def to_value(self) -> Callable[[Term], Any] | None:
        """Return the function that turns a store term into a value of expressions; None if they are the same.

        It works like that of `to_rdflib`, but turns terms that rdflib lacks into a `DirectionalString` or a
        `TripleTerm` of `rdflive.model`.
        """


@runtime_checkable
class LookingUp(Protocol):
    """An adapter that declares whether its store has an index by subject and object.

    Without this attribute rdflive assumes an index. If there is none, the patterns of queries keep all their
    matches, so that nothing is looked up in the store.
    """

    looks_up: bool


def looks_up(adapter: Adapter) -> bool:
    """True if the store of an adapter has an index by subject and object."""
    return not isinstance(adapter, LookingUp) or adapter.looks_up


@runtime_checkable
class LiteralParts(Protocol):
    """An adapter that returns the parts of literals faster than rdflib's literals; used by comparisons."""

    def to_parts(self) -> Callable[[Term], tuple[str, str] | None]:
        """Return the function from a literal of the store to its datatype's IRI and its lexical form.

        The function returns None for other terms, and may return None for strings.
        """


@dataclass(frozen=True, slots=True)
class Transaction:
    """One entry of a feed, which a store applies atomically."""

    changes: Mapping[QuadTerms, Literal[1, -1]]
    """Changes in native terms and graph keys. Inserting a present quad, or deleting an absent one, has no
    effect.
    """
    _: KW_ONLY
    updates: Sequence[str] = ()
    """SPARQL updates that run before the changes, with the semantics of `graph.update`."""
    name: str
    keep: Mapping[str, str | None]
    """Texts to keep under `name`, by key, in the same atomic step; None removes the key."""


@runtime_checkable
class Writable(Protocol):
    """An adapter that can apply an entry of a feed and keep the feed's cursor with it, as `mirror` needs.

    The kept texts last as long as the store's data, and are invisible to queries and subscriptions.
    """

    def write(self, graph: Any, transaction: Transaction) -> None:
        """Apply one entry of a feed, with its texts to keep, as one atomic commit.

        Raises WriteRefusedError for a change that the store cannot hold, UnsupportedStoreError if the graph
        cannot run updates, and the store's own errors of an update. After an error nothing has changed, and
        there is no delta.
        """

    def kept(self, name: str) -> dict[str, str]:
        """Return the texts that `write` kept under the name, by key."""


@runtime_checkable
class Guardable(Protocol):
    """An adapter whose commits can be refused.

    `Capture.write` has the guards judge a write that is a commit before it is made. All three methods are
    called under the lock, inside the batch.
    """

    def begin(self) -> None:
        """Start a batch, and record the data that `undo` needs."""

    def undo(self, changes: Changes) -> None:
        """Write the opposite of the batch's net changes, which is recorded too, and restore the names of
        graphs; atomic if the store has transactions.
        """

    def stay(self) -> None:
        """Discard the data for `undo`: the batch is committed next."""


@runtime_checkable
class DurableStore(Protocol):
    """An adapter that can number the commits of a store in the commits themselves, and write them down first.

    All methods are called under the lock.
    """

    def kept_number(self) -> int:
        """Return the number of the store's last commit; 0 for a store without one."""

    def write_ahead(self, log: StoredLog, history: History) -> None:
        """From now on write each commit into the log first, and its number into the store with it."""

    def read_changes(self, content: bytes) -> Mapping[QuadTerms, Literal[1, -1]]:
        """Read the changes of an entry of the log; raises ValueError for content that it cannot have."""

    def flush(self) -> None:
        """Write all data of the store to the disk."""


class WriteRefusedError(RdfliveError, ValueError):
    """A change contains a term that the store cannot hold, or must not hold."""


def value_of(adapter: Snapshottable) -> Callable[[Term], Any] | None:
    """Return the function that turns terms of a store into values of expressions; None if they are the same.

    A term that cannot be converted becomes a value that no function of SPARQL accepts.
    """
    convert = adapter.to_value() if isinstance(adapter, Rdf12Terms) else adapter.to_rdflib()
    if convert is None:
        return None

    def value(term: Term) -> Any:
        try:
            return convert(term)
        except ValueError:
            return Foreign(term)

    return value


def content_of(adapter: Snapshottable) -> Callable[[Term], Value | None]:
    """Return the function from a typed literal of the store to its value, and from other terms to None."""
    if isinstance(adapter, LiteralParts):
        parts = adapter.to_parts()

        def content(term: Term) -> Value | None:
            found = parts(term)
            return None if found is None else value_in(*found)

        return content
    convert = value_of(adapter)
    return typed_value if convert is None else lambda term: typed_value(convert(term))
