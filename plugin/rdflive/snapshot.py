"""What a graph held at its last commit, also while a batch is open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rdflive.store import Adapter, GraphKey, Triple

__all__ = ["committed_triples"]


def committed_triples(adapter: Adapter, key: GraphKey) -> Callable[[tuple[Any, Any, Any]], Iterator[Triple]]:
    """Make the function that lists a graph's triples (None matches anything) as of the last commit.

    Inside a batch the store is ahead of what subscribers have been told; taking the open changes back
    keeps answers exact there too. Called under the store's lock.
    """

    def triples(pattern: tuple[Any, Any, Any]) -> Iterator[Triple]:
        pending = adapter.capture.pending(key)
        for triple in adapter.triples(key, pattern):
            if triple not in pending:
                yield triple
        for triple, sign in pending.items():
            if sign < 0 and all(want in (None, term) for want, term in zip(pattern, triple, strict=True)):
                yield triple

    return triples
