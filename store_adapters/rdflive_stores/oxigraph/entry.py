"""The write of one entry of a feed to an Oxigraph store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

from pyoxigraph import NamedNode, Quad, Store

from rdflive.store import QuadTerms, Transaction, WriteRefusedError
from rdflive_stores.oxigraph.foresight import Foreseen, foresee
from rdflive_stores.oxigraph.ground import net_of_ground
from rdflive_stores.oxigraph.kept import KEPT, KeptQuads, may_meet_kept, refuse_kept
from rdflive_stores.oxigraph.request import execute
from rdflive_stores.oxigraph.terms import canonical
from rdflive_stores.oxigraph.update import ANYTHING, Pattern, Request

__all__ = ["EntryRequest"]


class EntryRequest:
    """An entry: updates, then changes, and texts to keep under a name.

    Raises WriteRefusedError for a change that no Oxigraph store can hold.
    """

    def __init__(self, transaction: Transaction, prefixes: dict[str, str] | None) -> None:
        self._transaction = transaction
        updates = transaction.updates
        data = None if transaction.changes or not updates else net_of_ground(updates, prefixes)
        if data is None:
            self._signs = {_quad(change): sign for change, sign in transaction.changes.items()}
            self._request = Request(updates, prefixes=prefixes)
            return
        # updates of data are changes: they need no SPARQL parser and no comparison
        for name in {quad.graph_name for quad in data}:
            refuse_kept(name)
        self._signs = data
        self._request = Request(())

    def touched(self) -> Iterator[Pattern]:
        """List patterns that cover the quads that can change."""
        patterns = self._request.patterns
        yield from patterns
        if ANYTHING not in patterns:
            yield from map(tuple, self._signs)

    @property
    def is_exact(self) -> bool:
        """True if the entry has no updates but those of data, so that `changed` returns its exact changes."""
        return not self._request.updates

    def changed(self, native: Store) -> tuple[list[Quad], list[Quad]]:
        """Return the quads to delete and to insert; without updates, only real changes."""
        # updates run first and may insert or delete a quad, so with updates every change is written
        texts = self._request.updates
        went = [quad for quad, sign in self._signs.items() if sign < 0 and (texts or quad in native)]
        came = [quad for quad, sign in self._signs.items() if sign > 0 and (texts or quad not in native)]
        return went, came

    def foreseen(self, native: Store) -> Foreseen:
        """Return the changes that the entry will make."""
        if self.is_exact:
            return Foreseen(*self.changed(native), [], [])
        request = self._request
        hide_kept = may_meet_kept(native, request)
        went, came = self.changed(native)
        with self._refusing(native):
            return foresee(
                native, request.texts, self.touched(), went, came, hide_kept=hide_kept, **request.options
            )

    def replaced(self, native: Store, held: KeptQuads) -> tuple[list[Quad], list[Quad]]:
        """Return the quads of the reserved graph to delete and to insert."""
        went, came = held.replaced(native, self._transaction.name, self._transaction.keep)
        return [*chain(*went.values())], [*chain(*came.values())]

    def write(
        self,
        native: Store,
        held: KeptQuads,
        went: Iterable[Quad],
        came: Iterable[Quad],
        instead: Sequence[str] | None = None,
    ) -> None:
        """Write the entry in one transaction; `instead` are updates with the known effect of its own."""
        request = self._request
        hide_kept = instead is None and may_meet_kept(native, request)
        forgotten, remembered = held.replaced(native, self._transaction.name, self._transaction.keep)
        went, came = [*went], [*came, *chain(*remembered.values())]
        updates = request.texts if instead is None else instead
        with held.following(forgotten, remembered), self._refusing(native):
            if not (went or updates) and forgotten.keys() <= remembered.keys():
                # takes a fifth of the time; after an interruption the newer texts are valid
                native.extend(came)
                for quad in chain(*forgotten.values()):
                    native.remove(quad)
                return
            execute(
                native,
                updates,
                [*went, *chain(*forgotten.values())],
                came,
                hide_kept=hide_kept,
                **request.options,
            )

    @contextmanager
    def _refusing(self, native: Store) -> Iterator[None]:
        """Raise WriteRefusedError if Oxigraph can parse an update, but cannot evaluate it."""
        try:
            yield
        except RuntimeError as error:
            if type(error) is not RuntimeError or not self._request.updates:
                raise
            native.update("")  # a store that accepts no update at all raises its own error
            raise WriteRefusedError(str(error)) from error


def _quad(change: QuadTerms) -> Quad:
    """Return the canonical quad of a change."""
    s, p, o, graph = change
    if graph == KEPT:
        refuse_kept(graph)
    terms: tuple[Any, ...] = (s, p, o if type(o) is NamedNode else canonical(o), graph)
    try:
        return Quad(*terms)
    except TypeError as error:
        raise WriteRefusedError(
            f"{terms} is not a quad of Oxigraph ({error}): the subject is an IRI or blank node, the "
            "predicate an IRI, the object any term, and the graph an IRI, a blank node or the default graph"
        ) from error
