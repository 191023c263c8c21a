"""Changes of graphs, each one commit, all or nothing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Literal, NamedTuple

import rdflib
from rdflib.term import URIRef

from rdflive.errors import ValidationError
from rdflive.plugins import manager
from rdflive.server.failures import Problem, Refused, problem_of
from rdflive.server.graph_store.documents import Row
from rdflive.server.graph_store.graphs import has_graph
from rdflive.server.sparql.updating import updated
from rdflive.store import ChangeLogError, QuadTerms, Transaction, uncollected

__all__ = ["GraphWriter", "Written"]


class Written(NamedTuple):
    """A commit."""

    sequence: int
    """The number of a commit that includes the change."""
    is_new: bool
    """True if the graph did not exist."""


class GraphWriter:
    """Writes a graph of a dataset, or with None the dataset. Its methods run in the writing thread.

    `most` is the number of quads that one commit may add and remove. After an error nothing has changed.
    """

    def __init__(self, dataset: rdflib.Dataset, graph: str | None, most: int) -> None:
        self._dataset = dataset
        self._graph = graph
        self._most = most

    @uncollected
    def write(self, rows: Iterable[Row], *, replaces: bool) -> Written:
        """Add quads, or replace all that there are; raise `Problem` 413 and `Refused`."""
        with manager.locked(self._dataset.store) as adapter:
            is_new = not has_graph(self._dataset, self._graph)
            key, default = self._keys(adapter)
            native = adapter.to_native
            changes: dict[QuadTerms, Literal[1, -1]] = {
                # the object in the form that the store returns, as a document may have 01 for 1
                (s, p, native(o), key if key is not None else default if graph is None else graph): 1
                for s, p, o, graph in rows
            }
            if replaces and not is_new:
                for quad in self._held(adapter):
                    changes.setdefault(quad, -1)
                    if len(changes) > self._most:
                        raise self.too_many()
            # an empty document makes an empty graph
            creates = is_new and not changes
            updates = [f"CREATE SILENT GRAPH <{self._graph}>"] if creates else []
            return Written(self._commit(adapter, changes, updates), is_new)

    def remove_some(self, most: int) -> int:
        """Remove some quads, and return their number; 0 if there were none."""
        with manager.locked(self._dataset.store) as adapter:
            gone = list(islice(self._held(adapter), most))
            if gone:
                self._commit(adapter, dict.fromkeys(gone, -1), [])
            return len(gone)

    def drop(self) -> int:
        """Remove the graph; raise `Problem` 404, and `Refused`."""
        with manager.locked(self._dataset.store) as adapter:
            if not has_graph(self._dataset, self._graph):
                raise Problem(404, f"there is no graph <{self._graph}>")
            drop = f"DROP GRAPH <{self._graph}>" if self._graph else "DROP DEFAULT"
            return self._commit(adapter, {}, [drop])

    def too_many(self) -> Problem:
        """Return the problem of a document that is too large for one commit."""
        return Problem(
            413,
            f"one commit may change {self._most:,} triples: give commit=N, which makes a commit of each N "
            "triples, or raise --store-triples",
        )

    def _commit(
        self, adapter: Any, changes: Mapping[QuadTerms, Literal[1, -1]], updates: Sequence[str]
    ) -> int:
        try:
            # not in a batch, so that guards can refuse it before the writing
            adapter.write(
                updated(self._dataset), Transaction(changes, updates=updates, name="server", keep={})
            )
        except ValidationError as error:
            raise Refused(error) from None
        except ChangeLogError as error:
            raise problem_of(error) from None  # a problem, so that a load in parts tells what is written
        return int(adapter.capture.number)

    def _keys(self, adapter: Any) -> tuple[Any, Any]:
        """Return the store's names of the graph, None for the dataset, and of the default graph."""
        default = adapter.default_graph(self._dataset)
        if self._graph is None:
            return None, default
        return (adapter.to_native(URIRef(self._graph)) if self._graph else default), default

    def _held(self, adapter: Any) -> Iterable[QuadTerms]:
        """Yield the quads that there are."""
        key, _ = self._keys(adapter)
        everything = (None, None, None)
        if key is None:
            yield from adapter.quads(everything)
        else:
            yield from ((*triple, key) for triple in adapter.triples(key, everything))
