"""Some graphs of an rdflib dataset as a dataset: those of FROM and FROM NAMED, without copying them."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from typing import Any

from rdflib.graph import Dataset, Graph
from rdflib.paths import Path
from rdflib.term import Node, URIRef

__all__ = ["SelectedGraphs"]


class SelectedGraphs(Dataset):
    """Shows the default graph `merged` and the named graphs, of another dataset over the same store.

    >>> whole = Dataset()
    >>> _ = whole.add((URIRef("urn:a"), URIRef("urn:p"), URIRef("urn:b"), URIRef("urn:g")))
    >>> some = Selection(whole, [URIRef("urn:g")], [])
    >>> len(list(some.merged.triples((None, None, None)))), list(some.contexts())
    (1, [])
    """

    def __init__(self, whole: Dataset, default: Iterable[URIRef], named: Iterable[URIRef]) -> None:
        super().__init__(whole.store)
        self.namespace_manager = whole.namespace_manager
        self.merged = _Merged(whole, list(default))
        self._named = {name: Graph(whole.store, name) for name in named}

    def contexts(self, triple: Any = None) -> Generator[Graph, None, None]:  # noqa: ARG002 - rdflib's interface
        """List the named graphs."""
        yield from self._named.values()

    def get_context(self, identifier: Any, quoted: bool = False, base: str | None = None) -> Graph:  # noqa: ARG002 - rdflib's interface
        """Give a named graph; graphs that were not selected are empty."""
        return self._named.get(identifier, Graph())


class _Merged(Graph):
    """The union of graphs, in which a triple is once."""

    def __init__(self, whole: Dataset, names: list[URIRef]) -> None:
        super().__init__(whole.store)
        self.namespace_manager = whole.namespace_manager
        self._graphs = [Graph(whole.store, name) for name in names]

    def triples(self, triple: Any) -> Generator[Any, None, None]:
        """List the triples that match."""
        subject, path, value = triple
        # a path may lead from one of the graphs to another, so it is evaluated over all of them
        if isinstance(path, Path):
            for start, end in path.eval(self, subject, value):
                yield start, path, end
        elif len(self._graphs) == 1:
            yield from self._graphs[0].triples(triple)
        else:
            seen: set[tuple[Node, Node, Node]] = set()
            for graph in self._graphs:
                for found in graph.triples(triple):
                    if found not in seen:
                        seen.add(found)
                        yield found
