"""One entry of a feed on its way into an Oxigraph store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any

from pyoxigraph import NamedNode, Quad, Store

from rdflive.store import QuadTerms, Transaction, WriteRefusedError
from rdflive_stores.oxigraph.foresight import Foreseen, foresee
from rdflive_stores.oxigraph.kept import KEPT, KeptQuads, may_meet_kept, refuse_kept
from rdflive_stores.oxigraph.request import execute
from rdflive_stores.oxigraph.terms import canonical
from rdflive_stores.oxigraph.update import ANYTHING, Pattern, Request

__all__ = ["EntryRequest"]


class EntryRequest:
    """What is to be written: updates, then changes, and texts to be kept under a name.

    Raises WriteRefusedError for a change that no Oxigraph store can hold.
    """

    def __init__(self, transaction: Transaction, prefixes: dict[str, str] | None) -> None:
        self._signs = {_quad(change): sign for change, sign in transaction.changes.items()}
        self._transaction = transaction
        self._request = Request(transaction.updates, prefixes=prefixes)

    def touched(self) -> Iterator[Pattern]:
        """List the patterns of quads that can change."""
        patterns = self._request.patterns
        yield from patterns
        if ANYTHING not in patterns:
            yield from map(tuple, self._signs)

    @property
    def is_exact(self) -> bool:
        """Whether `changed` tells beforehand what the entry will change: it has no updates."""
        return not self._request.updates

    def changed(self, native: Store) -> tuple[list[Quad], list[Quad]]:
        """Give the quads to delete and to insert; without updates those that really go and come."""
        # updates come first and may insert or delete a quad, so then each change is written
        texts = self._request.updates
        went = [quad for quad, sign in self._signs.items() if sign < 0 and (texts or quad in native)]
        came = [quad for quad, sign in self._signs.items() if sign > 0 and (texts or quad not in native)]
        return went, came

    def foreseen(self, native: Store) -> Foreseen:
        """Find what the entry will change."""
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
        """Give the quads of the reserved graph that go and those that come."""
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
        """Write all of it in one transaction; `instead`: other updates, where it is known what they do."""
        request = self._request
        hide_kept = instead is None and may_meet_kept(native, request)
        forgotten, remembered = held.replaced(native, self._transaction.name, self._transaction.keep)
        went, came = [*went], [*came, *chain(*remembered.values())]
        updates = request.texts if instead is None else instead
        with held.following(forgotten, remembered), self._refusing(native):
            if not (went or updates) and forgotten.keys() <= remembered.keys():
                # in a fifth of the time; if it is interrupted here, the newer texts count
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
        """Raise WriteRefusedError where Oxigraph understands an update, but cannot evaluate it."""
        try:
            yield
        except RuntimeError as error:
            if type(error) is not RuntimeError or not self._request.updates:
                raise
            native.update("")  # a store that takes no update at all says so here again
            raise WriteRefusedError(str(error)) from error


def _quad(change: QuadTerms) -> Quad:
    """Make the canonical quad of a change."""
    s, p, o, graph = change
    if graph == KEPT:
        refuse_kept(graph)
    terms: tuple[Any, ...] = (s, p, o if type(o) is NamedNode else canonical(o), graph)
    try:
        return Quad(*terms)
    except TypeError as error:
        raise WriteRefusedError(
            f"{terms} is no quad of Oxigraph ({error}): the subject is an IRI or blank node, the predicate "
            "an IRI, the object any term, and the graph an IRI, a blank node or the default graph"
        ) from error
