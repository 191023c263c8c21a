"""The content of a graph, or of all graphs, as of the last commit, even while a batch is open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import chain

from rdflive.model import Term, TermPattern, Triple
from rdflive.store.adapter import Adapter
from rdflive.store.listening import GraphKey, QuadTerms

__all__ = ["committed_quads", "committed_triples", "matches"]


def committed_triples(adapter: Adapter, key: GraphKey) -> Callable[[TermPattern], Iterator[Triple]]:
    """Return the function that lists a graph's triples (None matches anything) as of the last commit.

    Inside a batch the store is ahead of the last commit, so the function leaves out the open changes. Called
    under the store's lock.
    """

    known: Mapping[Triple, int] = {}
    gone: dict[Term, list[Triple]] = {}

    def triples(pattern: TermPattern) -> Iterator[Triple]:
        nonlocal known, gone
        pending = adapter.capture.pending(key)
        held = adapter.triples(key, pattern)
        if not pending:
            return held
        # a view calls this often inside a large batch, and a scan of all changes each time would be quadratic
        if pending is not known:
            known, gone = pending, _by_predicate(pending)
        left = gone.get(pattern[1], ()) if pattern[1] is not None else chain.from_iterable(gone.values())
        return chain(
            # without the triples that the batch has inserted
            (triple for triple in held if triple not in pending),
            (triple for triple in left if matches(pattern, triple)),
        )

    return triples


def _by_predicate(pending: Mapping[Triple, int]) -> dict[Term, list[Triple]]:
    """Group the triples that the open batch deletes by predicate."""
    gone: dict[Term, list[Triple]] = {}
    for triple, sign in pending.items():
        if sign < 0:
            gone.setdefault(triple[1], []).append(triple)
    return gone


def committed_quads(adapter: Adapter) -> Callable[[TermPattern], Iterator[QuadTerms]]:
    """Return the function that lists the quads of all graphs whose triple matches, as of the last commit."""

    def quads(pattern: TermPattern) -> Iterator[QuadTerms]:
        pending = adapter.capture.pending_quads()
        for quad in adapter.quads(pattern):
            if quad not in pending:
                yield quad
        for quad, sign in pending.items():
            if sign < 0 and matches(pattern, quad[:3]):
                yield quad

    return quads


def matches(pattern: TermPattern, triple: Triple) -> bool:
    """True if a triple matches a pattern; None in the pattern matches anything."""
    return all(want in (None, term) for want, term in zip(pattern, triple, strict=True))
