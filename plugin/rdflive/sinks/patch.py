"""Deltas of a CONSTRUCT query as RDF Patch: what is written adds up to the constructed graph."""

from __future__ import annotations

from typing import Any, TextIO

from rdflive.errors import RdfliveError
from rdflive.feeds.rdf_patch import encode_rdf_patch
from rdflive.model import Batch, Change, Delta, Quad, Solution
from rdflive.sinks.sink import to_rdflib

__all__ = ["PatchSink"]


class PatchSink:
    r"""Writes each delta of a CONSTRUCT query as one transaction of RDF Patch to a text stream.

    The initial delta is a transaction of adds; a later one, after `Subscription.resync`, is written as
    what it changes. Blank nodes keep their labels. The triples are kept in memory for that.

    Raises `RdfliveError` for a query that makes no triples, `UnwritableError` for a term that a line
    cannot hold; nothing of the delta is written then.

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
        """Write one transaction; nothing for a delta without changes."""
        native = delta.native
        # sets that keep their order
        added = dict.fromkeys(map(_to_quad, native.added))
        removed = dict.fromkeys(map(_to_quad, native.removed))
        if delta.initial:  # it says what there is, not what came
            removed = dict.fromkeys(quad for quad in self._held if quad not in added)
            added = dict.fromkeys(quad for quad in added if quad not in self._held)
        changes = (*(Change(-1, quad) for quad in removed), *(Change(1, quad) for quad in added))
        if changes:
            # encoded as a whole before any of it is written: a term that cannot be written raises
            self._stream.write(encode_rdf_patch(Batch(changes)))
            self._stream.flush()
            # behind the writing: what was not written is not held either
            self._held.difference_update(removed)
            self._held.update(added)

    def close(self) -> None:
        """Leave the stream open: it is the caller's."""


def _to_quad(solution: Any) -> Quad:
    if isinstance(solution, Solution):
        raise RdfliveError(
            "RDF Patch holds triples, and the query gives solutions: write it as a CONSTRUCT query, or use "
            "another sink"
        )
    return Quad(*map(to_rdflib, solution))
