"""What a graph, or all graphs, held at the last commit, also while a batch is open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rdflive.store import Adapter, GraphKey, QuadTerms, Triple

__all__ = ["committed_quads", "committed_triples"]


def committed_triples(adapter: Adapter, key: GraphKey) -> Callable[[tuple[Any, Any, Any]], Iterator[Triple]]:
    """Make the function that lists a graph's triples (None matches anything) as of the last commit.

    Inside a batch the store is ahead of what subscribers have been told; taking the open changes back
    keeps answers exact there too. Called under the store's lock.
    """

    def triples(pattern: tuple[Any, Any, Any]) -> Iterator[Triple]:
        pending = adapter.capture.pending(key)
        held = adapter.triples(key, pattern)
        return _taken_back(held, pending, pattern) if pending else held

    return triples


def committed_quads(adapter: Adapter) -> Callable[[tuple[Any, Any, Any]], Iterator[QuadTerms]]:
    """Make the function that lists the quads of all graphs whose triple matches, as of the last commit."""

    def quads(pattern: tuple[Any, Any, Any]) -> Iterator[QuadTerms]:
        pending = adapter.capture.pending_quads()
        for quad in adapter.quads(pattern):
            if quad not in pending:
                yield quad
        for quad, sign in pending.items():
            if sign < 0 and _matches(pattern, quad[:3]):
                yield quad

    return quads


def _taken_back(
    held: Iterator[Triple], pending: Mapping[Triple, int], pattern: tuple[Any, Any, Any]
) -> Iterator[Triple]:
    for triple in held:
        if triple not in pending:
            yield triple
    for triple, sign in pending.items():
        if sign < 0 and _matches(pattern, triple):
            yield triple


def _matches(pattern: tuple[Any, Any, Any], triple: Triple) -> bool:
    return all(want in (None, term) for want, term in zip(pattern, triple, strict=True))
