"""The adapter contract: what rdflive needs of a store, and what it offers to code that hooks one.

An adapter passes every change of a store through its `Capture`: exactly the quads that were added and
removed, once, whatever the operation. `rdflive.testing` holds the suite that an adapter must pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from rdflive.errors import RdfliveError
from rdflive.model import Foreign, Term, TermPattern, Triple
from rdflive.store.capture import Capture
from rdflive.store.listening import Changes, GraphKey, QuadTerms
from rdflive.values import Value, typed_value, value_in

__all__ = [
    "Adapter",
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
    """What can be subscribed to, for type checkers: an `rdflib.Graph` or `Dataset`, or a `LiveStore`.

    These are the methods that both have, so a graph of another library, with an adapter of its own, is
    one as well. Whether a graph can be watched is not seen by its type: its store's adapter tells, when it is
    subscribed to.
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
        """Name the graph that queries on this object see (a union for a conjunctive graph)."""

    def detach(self) -> None:
        """Unhook the store: the last subscription is gone."""


@runtime_checkable
class Snapshottable(Protocol):
    """An adapter that can list the store's current triples, under the capture's lock."""

    def triples(self, key: GraphKey, pattern: TermPattern) -> Iterator[Triple]:
        """List the distinct triples of a graph that match; None in the pattern matches anything."""

    def to_native(self, term: Any) -> Term:
        """Turn an rdflib term of a query into the store's own canonical term."""

    def from_native(self) -> Callable[[Term], Any] | None:
        """Give the function that turns a store term into the user's; None where they are the same."""

    def to_rdflib(self) -> Callable[[Term], Any] | None:
        """Give the function that turns a store term into rdflib's; None where they are the same.

        It keeps the lexical form, and raises ValueError for a term that rdflib cannot hold.
        """


@runtime_checkable
class NamedGraphs(Protocol):
    """An adapter that knows the store's graphs by name; one of a single graph knows no other."""

    def quads(self, pattern: TermPattern) -> Iterator[QuadTerms]:
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

    def to_value(self) -> Callable[[Term], Any] | None:
        """Give what `to_rdflib` does, but for expressions, which compute with more than rdflib can hold.

        The function makes of such terms a `DirectionalString` or a `TripleTerm` of `rdflive.model`.
        """


@runtime_checkable
class LookingUp(Protocol):
    """An adapter that says whether its store finds the triples of one subject or object by an index.

    Of one that does not say, it is taken for granted. Where the store goes through all of its triples,
    patterns of queries hold all that matches them, so that nothing is looked up.
    """

    looks_up: bool


def looks_up(adapter: Adapter) -> bool:
    """Tell whether the store of an adapter finds the triples of one subject or object soon."""
    return not isinstance(adapter, LookingUp) or adapter.looks_up


@runtime_checkable
class LiteralParts(Protocol):
    """An adapter that takes literals apart sooner than it makes rdflib's of them; comparisons ask for it."""

    def to_parts(self) -> Callable[[Term], tuple[str, str] | None]:
        """Give the function that gives the datatype's IRI and the lexical form of a literal of the store.

        It gives None for other terms, and may do so for strings.
        """


@dataclass(frozen=True, slots=True)
class Transaction:
    """One entry of a feed as a store takes it: all of it or nothing."""

    changes: Mapping[QuadTerms, Literal[1, -1]]
    """Changes in native terms and graph keys. Inserting what is there, or deleting what is not, is no
    change.
    """
    _: KW_ONLY
    updates: Sequence[str] = ()
    """SPARQL updates that run before the changes, as `graph.update` would run them."""
    name: str
    keep: Mapping[str, str | None]
    """Texts to remember under `name`, by key, in the same atomic step; None forgets the key."""


@runtime_checkable
class Writable(Protocol):
    """An adapter that can apply an entry of a feed and keep the feed's cursor with it, as `mirror` needs.

    What is kept belongs to the store like its data: it lasts as long, and no query or subscription sees it.
    """

    def write(self, graph: Any, transaction: Transaction) -> None:
        """Apply one entry of a feed as one commit, all or nothing, and remember what it keeps.

        Raises WriteRefusedError for a change that the store cannot hold, UnsupportedStoreError where the
        graph cannot run updates, and for an update whatever the store itself raises; then nothing has
        changed and no delta comes.
        """

    def kept(self, name: str) -> dict[str, str]:
        """Give what `write` remembered under the name."""


@runtime_checkable
class Guardable(Protocol):
    """An adapter whose commits can be refused.

    Where it knows the changes of a commit before it makes them, it asks `Capture.permit` first. All three
    methods are called under the lock, inside of the batch.
    """

    def begin(self) -> None:
        """Note what `undo` needs to know: a batch begins."""

    def undo(self, changes: Changes) -> None:
        """Take back the net changes of the batch by operations that are recorded, and its names of graphs;
        all or nothing where the store has transactions.
        """

    def stay(self) -> None:
        """Forget how to undo the batch: it is committed next."""


class WriteRefusedError(RdfliveError, ValueError):
    """A change contains what the store cannot hold, or must not be told."""


def value_of(adapter: Snapshottable) -> Callable[[Term], Any] | None:
    """Give the function that turns terms of a store into values for expressions; None if they are the same.

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
    """Give the function that reads the values of a store's literals with a datatype; None for other terms."""
    if isinstance(adapter, LiteralParts):
        parts = adapter.to_parts()

        def content(term: Term) -> Value | None:
            found = parts(term)
            return None if found is None else value_in(*found)

        return content
    convert = value_of(adapter)
    return typed_value if convert is None else lambda term: typed_value(convert(term))
