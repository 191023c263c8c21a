"""Deltas of a CONSTRUCT query as RDF Patch, which add up to the constructed graph."""

from __future__ import annotations

from typing import Any, TextIO

from rdflive.errors import RdfliveError
from rdflive.feeds.rdf_patch import encode_rdf_patch
from rdflive.model import Batch, Change, Delta, Quad, Solution
from rdflive.sinks.sink import to_rdflib

__all__ = ["PatchSink"]


class PatchSink:
    r"""Writes each delta of a CONSTRUCT query as one transaction of RDF Patch to a text stream.

    The first initial delta is a transaction of adds. Later ones, after `Subscription.resync`, are written as
    the difference from the triples written so far, which the sink keeps in memory. Blank nodes keep their
    labels.

    Raises `RdfliveError` for a query that returns solutions, and `UnwritableError` for a term that a line
    cannot hold; the sink then writes nothing of the delta.

    >>> import sys
    >>> from rdflib import URIRef
    >>> from rdflive.model import Header
    >>> triple = (URIRef("urn:s"), URIRef("urn:p"), URIRef("urn:o"))
    >>> PatchSink(sys.stdout)(Delta(Header("CONSTRUCT", ()), {triple: 1}, sequence=1))
    TX .
    A <urn:s> <urn:p> <urn:o> .
    TC .
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._held: set[Quad] = set()

    def __call__(self, delta: Delta) -> None:
        """Write one transaction, or nothing for a delta without changes."""
        native = delta.native
        # as ordered sets
        added = dict.fromkeys(map(_to_quad, native.added))
        removed = dict.fromkeys(map(_to_quad, native.removed))
        if delta.initial:  # it holds the full answer, not the change
            removed = dict.fromkeys(quad for quad in self._held if quad not in added)
            added = dict.fromkeys(quad for quad in added if quad not in self._held)
        changes = (*(Change(-1, quad) for quad in removed), *(Change(1, quad) for quad in added))
        if changes:
            # encoded completely before the writing: an unwritable term raises here
            self._stream.write(encode_rdf_patch(Batch(changes)))
            self._stream.flush()
            # after the writing: a failed write leaves the held triples as they were
            self._held.difference_update(removed)
            self._held.update(added)

    def close(self) -> None:
        """Leave the stream open: the caller owns it."""


def _to_quad(solution: Any) -> Quad:
    if isinstance(solution, Solution):
        raise RdfliveError(
            "RDF Patch holds triples, and the query returns solutions: write it as a CONSTRUCT query, or use "
            "another sink"
        )
    return Quad(*map(to_rdflib, solution))
