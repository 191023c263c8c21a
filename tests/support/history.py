"""The change history of schema.org's vocabulary: all of it, or in the gate consecutive transactions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import rdflib

from rdflive import Batch, Quad
from rdflive.feeds import decode, feed_format, open_lines, read_nquads
from rdflive.feeds.rdf_patch import encode_rdf_patch
from rdflive.feeds.terms import write_quad
from support.effort import HUNT, drawn_from
from support.shared import shared

__all__ = ["FOLDER", "History", "history"]

FOLDER = ("data", "history", "schemaorg")
COUNT = 99
"""Number of transactions; the 28th renames every term, and most others change one or two."""
PART = 24
"""Number of transactions in the gate."""


@dataclass(frozen=True, slots=True)
class History:
    """The first state and the transactions."""

    base: frozenset[Quad]
    batches: list[Batch]

    @property
    def triples(self) -> list[tuple[rdflib.URIRef, rdflib.URIRef, rdflib.term.Node]]:
        """The triples of the first state, in rdflib's terms."""
        return [(q.subject, q.predicate, q.object) for q in self.base]

    def states(self) -> list[frozenset[Quad]]:
        """Return the state after each transaction."""
        held, found = set(self.base), []
        for batch in self.batches:
            follow(held, batch)
            found.append(frozenset(held))
        return found

    def files(self, folder: Path) -> tuple[Path, Path]:
        """Return the paths of the N-Triples and the RDF Patch; a part is written to `folder`."""
        if len(self.batches) == COUNT:
            return shared(*FOLDER, "base.nt.gz"), shared(*FOLDER, "changes.rdfp.gz")
        base, changes = folder / "base.nt", folder / "changes.rdfp"
        base.write_text(
            "".join(f"{write_quad(quad)}\n" for quad in self.base), encoding="utf-8", newline="\n"
        )
        changes.write_text("".join(map(encode_rdf_patch, self.batches)), encoding="utf-8", newline="\n")
        return base, changes


def history(*names: object) -> History:
    """Return the history; in the gate a part of it, drawn from the names of the test."""
    shared(*FOLDER)
    whole = _read()
    assert len(whole.batches) == COUNT
    if HUNT:
        return whole
    start = drawn_from("history", *names).randint(0, COUNT - PART)
    held = set(whole.base)
    for batch in whole.batches[:start]:
        follow(held, batch)
    return History(frozenset(held), whole.batches[start : start + PART])


@cache
def _read() -> History:
    changes, base = (str(shared(*FOLDER, name)) for name in ("changes.rdfp.gz", "base.nt.gz"))
    with open_lines(changes) as patch, open_lines(base) as triples:
        batches = decode(feed_format("rdf-patch"), patch, changes)
        return History(frozenset(read_nquads(triples, base)), list(batches))


def follow(held: set[Quad], batch: Batch) -> None:
    """Apply a transaction to a set."""
    for sign, quad in batch.changes:
        (held.add if sign > 0 else held.discard)(quad)
