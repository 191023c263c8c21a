"""`rdflive.preview`: the deltas that changes would cause, without keeping the changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from rdflive.api.prepared import check_graph
from rdflive.delivery.guarding import Guards
from rdflive.delivery.previewing import Previewing
from rdflive.delivery.subscription import Subscription
from rdflive.errors import ValidationError
from rdflive.model import Batch, Delta
from rdflive.plugins import manager
from rdflive.store import GraphLike

__all__ = ["Preview", "preview"]


@dataclass
class Preview:
    """The effects of a block's changes, known after the end of the block."""

    batch: Batch = field(default_factory=lambda: Batch(()))
    """The quads to add and remove."""
    deltas: Mapping[Subscription, Delta] = field(default_factory=dict)
    """The delta of each subscription and validation that would get one."""
    refused: ValidationError | None = None
    """The error by which a guard would refuse the commit, or None."""


@contextmanager
def preview(graph: GraphLike, subscriptions: Iterable[Subscription] | None = None) -> Iterator[Preview]:
    """Find the deltas that the changes inside the block would cause, and undo the changes.

    Inside the block the graph has the changes. At its end they are undone, and `change.deltas` has the delta
    of each open subscription and validation on the graph, or of each of `subscriptions`. No delta is
    delivered. Other threads that write wait until the block ends. An exception in the block is raised, and
    the changes are undone too. Prefixes that a parser binds stay bound. Elements of a `Stream` are not part
    of a preview.

    Raises RuntimeError inside an open batch, and `UnsupportedStoreError` for a store that cannot undo.

    >>> import rdflib, rdflive
    >>> graph = rdflib.Graph()
    >>> trains = rdflive.subscribe(graph, "SELECT ?train { ?train a <http://e/Train> }")
    >>> with preview(graph) as change:
    ...     _ = graph.add((rdflib.URIRef("http://e/IC5"), rdflib.RDF.type, rdflib.URIRef("http://e/Train")))
    >>> change.deltas[trains].added, len(graph)
    ((Solution(train=rdflib.term.URIRef('http://e/IC5')),), 0)
    >>> trains.close()
    """
    check_graph(graph)
    wanted = None if subscriptions is None else _checked(subscriptions)
    change = Preview()
    with manager.hooked(manager.store_of(graph)) as adapter:
        capture = adapter.capture
        with capture.reading():
            if capture.is_open:
                raise RuntimeError("a preview cannot start inside an open batch: end the batch first")
            judge = capture.judge
            previewing = Previewing(adapter)
            capture.judge = previewing
            try:
                with capture.batch():
                    try:
                        yield change
                    except BaseException:
                        previewing.is_wanted = False
                        raise
            finally:
                # the block may have closed the last guard
                capture.judge = judge if not isinstance(judge, Guards) or judge.refusals else None
    change.batch, change.refused = previewing.batch, previewing.refused
    change.deltas = {of: delta for of, delta in previewing.deltas.items() if wanted is None or of in wanted}


def _checked(subscriptions: Any) -> set[Subscription]:
    given = [] if isinstance(subscriptions, Subscription) else list(subscriptions)
    if not given or not all(isinstance(each, Subscription) for each in given):
        raise TypeError(f"subscriptions must be a list of subscriptions, got {subscriptions!r:.200}")
    return set(given)
