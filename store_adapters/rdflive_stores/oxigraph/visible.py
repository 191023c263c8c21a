"""Reads of an Oxigraph store that hide its reserved graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from pyoxigraph import BlankNode, DefaultGraph, NamedNode, Quad, RdfFormat, Store, serialize

from rdflive.errors import QuerySyntaxError
from rdflive.syntax.reader import read_query
from rdflive.syntax.tokens import tokenize
from rdflive_stores.oxigraph.kept import KEPT, has_kept, kept_quads

__all__ = ["Native", "Read", "Visible", "visible"]

_DEFAULT: Final = DefaultGraph()


def visible(native: Store) -> Any:
    """Return the store, or if it has a reserved graph, its reading methods without that graph."""
    return Visible(native) if has_kept(native) else native


class Visible:
    """The reading methods of a `pyoxigraph.Store`, without the reserved graph."""

    def __init__(self, native: Store) -> None:
        self._native = native

    def __len__(self) -> int:
        return len(self._native) - len(kept_quads(self._native))

    def __bool__(self) -> bool:
        return any(True for _ in self)

    def __iter__(self) -> Iterator[Quad]:
        return _without_kept(self._native)

    def __contains__(self, quad: Quad) -> bool:
        return quad in self._native and quad.graph_name != KEPT

    def quads_for_pattern(self, subject: Any, predicate: Any, object: Any, graph_name: Any = None) -> Any:  # noqa: A002 - pyoxigraph's names
        """List the quads that match."""
        quads = self._native.quads_for_pattern(subject, predicate, object, graph_name)
        return _without_kept(quads) if graph_name is None or graph_name == KEPT else quads

    def named_graphs(self) -> Iterator[Any]:
        """List the names of graphs."""
        return (name for name in self._native.named_graphs() if name != KEPT)

    def contains_named_graph(self, graph_name: Any) -> bool:
        """True if there is a graph of the name."""
        return self._native.contains_named_graph(graph_name) and graph_name != KEPT

    def dump(
        self,
        output: Any = None,
        format: RdfFormat | None = None,  # noqa: A002 - pyoxigraph's name
        *,
        from_graph: Any = None,
        prefixes: dict[str, str] | None = None,
        base_iri: str | None = None,
    ) -> bytes | None:
        """Write a graph, or all graphs."""
        options: dict[str, Any] = {"prefixes": prefixes, "base_iri": base_iri}
        if from_graph is None:
            return serialize(self, output, format, **options)
        if from_graph == KEPT:
            return Store().dump(output, format, from_graph=from_graph, **options)
        return self._native.dump(output, format, from_graph=from_graph, **options)

    def query(
        self,
        query: str,
        *,
        base_iri: str | None = None,
        prefixes: dict[str, str] | None = None,
        use_default_graph_as_union: bool = False,
        default_graph: Any = None,
        named_graphs: Any = None,
        **options: Any,
    ) -> Any:
        """Execute a query on the visible graphs."""
        if default_graph is not None:
            default_graph = _others(default_graph)
        elif use_default_graph_as_union:
            # a list of graphs, because the store's own union would include the reserved graph
            use_default_graph_as_union, default_graph = False, [_DEFAULT, *self.named_graphs()]
        if named_graphs is not None:
            named_graphs = _others(named_graphs)
        else:
            default_graph, named_graphs = self._dataset(query, base_iri, prefixes, default_graph)
        return self._native.query(
            query,
            base_iri=base_iri,
            prefixes=prefixes,
            use_default_graph_as_union=use_default_graph_as_union,
            default_graph=default_graph,
            named_graphs=named_graphs,
            **options,
        )

    def _dataset(
        self, query: str, base_iri: str | None, prefixes: dict[str, str] | None, default_graph: Any
    ) -> tuple[Any, Any]:
        """Return the default and the named graphs that a query may read; None if its own clauses decide."""
        words = str(query).upper()  # the store itself refuses a query that is no string
        # such a query reads only the default graph
        if "GRAPH" not in words and "FROM" not in words:
            return default_graph, None
        try:
            clauses = read_query(query, prefixes, base=base_iri or "").query.datasetClause or ()
        except (QuerySyntaxError, TypeError):  # the store refuses it, or it has syntax only Oxigraph knows
            if any(token.text.upper() == "FROM" for token in tokenize(str(query))):
                return default_graph, None
            clauses = ()
        if not clauses:
            return default_graph, list(self.named_graphs())
        defaults = [str(clause.default) for clause in clauses if clause.default is not None]
        named = [str(clause.named) for clause in clauses if clause.named is not None]
        if KEPT.value not in (*defaults, *named):
            return default_graph, None
        if default_graph is None:
            default_graph = _others(map(NamedNode, defaults))
        return default_graph, _others(map(NamedNode, named))


class Native:
    """A method of the stand-in that calls the native store."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, live: Any, owner: type) -> Callable[..., Any]:
        method: Callable[..., Any] = getattr(Store if live is None else live.native, self._name)
        return method


class Read(Native):
    """A method that reads the visible part of the native store."""

    def __get__(self, live: Any, owner: type) -> Callable[..., Any]:
        if live is None or not live.native.contains_named_graph(KEPT):
            return super().__get__(live, owner)
        method: Callable[..., Any] = getattr(Visible(live.native), self._name)
        return method


def _without_kept(quads: Iterable[Quad]) -> Iterator[Quad]:
    """Leave out the quads of the reserved graph; the quads are those at the time of the call."""
    return (quad for quad in quads if quad.graph_name != KEPT)


def _others(graphs: Any) -> list[Any]:
    """List one or several graph names without the reserved one."""
    names = [graphs] if isinstance(graphs, NamedNode | BlankNode | DefaultGraph) else graphs
    return [name for name in names if name != KEPT]
