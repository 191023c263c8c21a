"""Guards of a store: they look at each commit before it counts, and refuse it where it adds a result.

They have an engine of their own, beside that of the subscriptions. It takes the changes of a commit first.
Where a guard gets a new row then, the engine takes the changes back, and nobody else has seen them.

Say a guard wants each train to have a line, and a batch adds `:IC5 a :Train`. The engine of the guard takes
the triple, and the guard is told of a result for `:IC5`. So the engine takes the opposite, the store removes
the triple, and whoever wrote gets a `ValidationError`. Had the batch added `:IC5 :line :S1` too, no result
would have come, and the commit would have gone on to the subscriptions.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

from rdflive.delivery.subscription import QueuedDelta
from rdflive.errors import UnsupportedStoreError, ValidationError
from rdflive.model import Delta, Term, TermPattern, Triple
from rdflive.store import (
    UNION,
    WRITING,
    Adapter,
    Capture,
    Changes,
    GraphKey,
    Guardable,
    QuadTerms,
    value_of,
)
from rdflive.store.deliveries import Delivering
from rdflive.store.snapshot import committed_quads, committed_triples, matches

__all__ = ["Guards", "Refusal", "Shadow"]

Refusal: TypeAlias = Callable[[Delta], ValidationError | None]
"""Gives the error by which a guard refuses a delta; None where it does not."""


class _ShadowCapture(Capture):
    """Passes changes to the engine of the guards, under the lock of the store."""

    __slots__ = ("_of", "_predicates", "told")

    def __init__(self, capture: Capture) -> None:
        self._of = capture
        super().__init__()
        self.told: list[Delivering] = []
        """What the subscriptions of guards would be told; nobody is."""
        self.deliveries.aside = self.told
        self._predicates: set[Term] | Literal[False] | None = False
        """A cache of `wanted`; False where it must be asked anew."""

    @property
    def lock(self) -> Any:
        """The lock of the store, whichever it has: a fork may get another."""
        return self._of.lock

    @lock.setter
    def lock(self, own: Any) -> None:
        """Have none of its own."""

    def _is_held(self) -> bool:
        """Tell whether this thread is inside an operation of the guards; the lock alone does not tell."""
        # an interruption may leave the owner of a batch that has ended
        return self.is_open and self._owner == threading.get_ident()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Ask anew what is wanted, as what is maintained changes."""
        try:
            with super().changing():
                yield
        finally:
            self._predicates = False

    def wants(self, predicate: Term) -> bool:
        """Tell whether a change of a triple with this predicate could leave a trace."""
        predicates = self._predicates
        if predicates is False:
            predicates = self._predicates = self.wanted()
        return predicates is None or predicate in predicates


class Shadow:
    """The adapter of the guards' engine: the store as it is after the changes that the guards have taken."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self.capture: Capture = _ShadowCapture(adapter.capture)
        self.ahead: dict[GraphKey, dict[Triple, Literal[1, -1]]] = {}
        """The changes that the guards have taken and the store has not committed, by graph."""
        self._lists: dict[GraphKey, Callable[[TermPattern], Iterator[Triple]]] = {}

    def graph_key(self, graph: Any) -> GraphKey:
        """Name a graph as the store's adapter does."""
        return self._adapter.graph_key(graph)

    def default_graph(self, graph: Any) -> GraphKey:
        """Name the default graph as the store's adapter does."""
        return self._adapter.default_graph(graph)

    def triples(self, key: GraphKey, pattern: TermPattern) -> Iterator[Triple]:
        """List the triples of one graph, or of the union, that match."""
        if key not in self._lists:
            self._lists[key] = committed_triples(self._adapter, key)
        ahead = self.ahead.get(key, {})
        for triple in self._lists[key](pattern):
            if triple not in ahead:
                yield triple
        for triple, sign in ahead.items():
            if sign > 0 and matches(pattern, triple):
                yield triple

    def quads(self, pattern: TermPattern) -> Iterator[QuadTerms]:
        """List the quads of all graphs that match."""
        ahead = {
            (*triple, key): sign
            for key, of in self.ahead.items()
            if key is not UNION
            for triple, sign in of.items()
        }
        for quad in committed_quads(self._adapter)(pattern):
            if quad not in ahead:
                yield quad
        for quad, sign in ahead.items():
            if sign > 0 and matches(pattern, quad[:3]):
                yield quad

    def to_native(self, term: Any) -> Term:
        """Turn a term of rdflib into the store's own."""
        return self._adapter.to_native(term)

    def from_native(self) -> Callable[[Term], Any] | None:
        """Give what turns terms of the store into the user's."""
        return self._adapter.from_native()

    def to_rdflib(self) -> Callable[[Term], Any] | None:
        """Give what turns terms of the store into rdflib's."""
        return self._adapter.to_rdflib()

    def to_value(self) -> Callable[[Term], Any] | None:
        """Give what turns terms of the store into values of expressions."""
        return value_of(self._adapter)

    def detach(self) -> None:
        """Do nothing: the store stays hooked as long as there are guards."""


class Guards:
    """All guards of one store. Its methods run under the store's lock."""

    def __init__(self, adapter: Adapter) -> None:
        if not isinstance(adapter, Guardable):
            raise UnsupportedStoreError(
                f"the store of {type(adapter).__name__} cannot be guarded: its adapter cannot undo a commit "
                "(it has no method undo)"
            )
        self._adapter: Guardable = adapter
        self.shadow = Shadow(adapter)
        self._capture = self.shadow.capture
        assert isinstance(self._capture, _ShadowCapture)  # noqa: S101 - for type checkers
        self.wants = self._capture.wants
        self._told = self._capture.told
        self.refusals: dict[Any, Refusal] = {}
        """What each guard says of what its subscription is told."""
        self._taken: dict[QuadTerms, Literal[1, -1]] = {}
        """Changes that were permitted and are not committed yet."""

    @classmethod
    def of(cls, adapter: Adapter) -> Guards:
        """Give the guards of a store, which may be none yet."""
        known = adapter.capture.judge
        return known if isinstance(known, cls) else cls(adapter)

    @property
    def wants_union(self) -> bool:
        """True where a guard looks at the union of all graphs."""
        return UNION in self._capture.listeners

    def begin(self) -> None:
        """Have the store note what it needs to undo the batch."""
        self._adapter.begin()

    def permit(self, changes: Changes) -> None:
        """Take the changes of a whole commit; raises `ValidationError`, having taken none, to refuse them."""
        relevant = self._relevant(changes)
        if not relevant:
            return
        try:
            self._move(relevant, relevant)
            if self._has_begun_anew:
                self._forget()
                self._move(relevant, relevant)
            if self._has_begun_anew:
                raise ValidationError("the commit is refused, for a guard failed while it looked at it", ())
            self._taken = relevant
            refused = self._refusal()
            if refused is not None:
                self._take_back()
        except BaseException:
            self._forget()
            raise
        if refused is not None:
            raise refused

    def settle(self, changes: Changes) -> None:
        """Let the open batch be committed, or have it undone and raise `ValidationError`."""
        try:
            relevant = self._relevant(changes)
            if relevant != self._taken:
                if self._taken:
                    self._take_back()
                try:
                    self.permit(relevant)
                except BaseException:
                    self._adapter.undo(dict(changes))
                    raise
            # what is ahead is committed next, and the store has it
            self._taken = {}
            self.shadow.ahead = {}
            self._adapter.stay()
        except ValidationError:
            raise
        except BaseException:
            self._forget()
            raise

    def _relevant(self, changes: Changes) -> dict[QuadTerms, Literal[1, -1]]:
        return {quad: sign for quad, sign in changes.items() if self.wants(quad[1])}

    def would_refuse(self, changes: Changes) -> ValidationError | None:
        """Give the error by which changes would be refused, having taken none."""
        try:
            self.permit(changes)
        except ValidationError as error:
            return error
        self._take_back()
        return None

    def renew(self) -> None:
        """Read the store again after an interruption. What breaks a guard now counts as there before."""
        self._adapter.stay()
        self._forget()
        self._read_again()
        self._told.clear()

    @property
    def _has_begun_anew(self) -> bool:
        """True where the engine failed with the changes, so that new rows are not told from those before."""
        return any(isinstance(queued, QueuedDelta) and queued.delta.initial for queued in self._told)

    def _forget(self) -> None:
        """Have the engine read the store before it is used next."""
        self._taken = {}
        self.shadow.ahead = {}
        self._capture.tear()

    def _read_again(self) -> None:
        """Have the engine, which was interrupted, read the store and tell what it finds."""
        self.shadow.ahead = {}
        self._capture.run(self._capture.owe)

    def _take_back(self) -> None:
        try:
            taken, self._taken = self._taken, {}
            self._move({quad: -1 if sign > 0 else 1 for quad, sign in taken.items()}, {})
            self._told.clear()
        except BaseException:
            self._forget()
            raise

    def _move(self, changes: Changes, ahead: Changes) -> None:
        """Have the engine take changes, by which it is so far ahead of the store."""
        if self._capture.is_used:
            # an interruption came: the engine reads what was there before the changes
            self._read_again()
        self._told.clear()
        self.shadow.ahead = {}
        for (s, p, o, key), sign in ahead.items():
            self.shadow.ahead.setdefault(key, {})[s, p, o] = sign
        self._capture.run(self._record, changes)

    def _record(self, changes: Changes) -> None:
        capture = self._capture
        capture.state |= WRITING  # no `finally`: an interruption leaves the flag, see `Capture`
        for sign in (-1, 1):
            capture.record_all(sign, [quad for quad, each in changes.items() if each == sign])
        capture.state &= ~WRITING

    def _refusal(self) -> ValidationError | None:
        found: list[ValidationError] = []
        for queued in self._told:
            refuses = self.refusals.get(queued.to) if isinstance(queued, QueuedDelta) else None
            if isinstance(queued, QueuedDelta) and refuses is not None and not queued.delta.initial:
                error = refuses(queued.delta)
                if error is not None:
                    found.append(error)
        return ValidationError.joined(found) if found else None
