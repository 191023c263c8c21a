"""Guards of a store: they evaluate each commit first, and refuse it if it adds a result.

The guards have an engine of their own, separate from the engine of the subscriptions. It applies the changes
of a commit first. If a guard then gets a new row, the engine undoes the changes before any subscription sees
them.

For example, a guard requires each train to have a line, and a batch adds `:IC5 a :Train`. The guards' engine
applies the triple, and the guard gets a result for `:IC5`. So the engine and the store remove the triple, and
the writer gets a `ValidationError`. If the batch also adds `:IC5 :line :S1`, there is no result, and the
commit goes on to the subscriptions.
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
"""Returns the error by which a guard refuses a delta; None if the delta is permitted."""


class _ShadowCapture(Capture):
    """Passes changes to the engine of the guards, under the lock of the store."""

    __slots__ = ("_of", "_predicates", "withheld")

    def __init__(self, capture: Capture) -> None:
        self._of = capture
        super().__init__()
        self.withheld: list[Delivering] = []
        """The deliveries of the guards' subscriptions, which never run."""
        self.deliveries.aside = self.withheld
        self._predicates: set[Term] | Literal[False] | None = False
        """A cache of `wanted`; False if it is stale."""

    @property
    def lock(self) -> Any:
        """The store's lock, which may be replaced in a fork."""
        return self._of.lock

    @lock.setter
    def lock(self, own: Any) -> None:
        """Ignore a lock of its own."""

    def _is_held(self) -> bool:
        """True if this thread is inside an operation of the guards, and not only inside the store's lock."""
        # an interruption may leave `_owner` set after the end of a batch
        return self.is_open and self._owner == threading.get_ident()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Reset the cache of wanted predicates, because the maintained queries change."""
        try:
            with super().changing():
                yield
        finally:
            self._predicates = False

    def wants(self, predicate: Term) -> bool:
        """True if a change of a triple with this predicate could change the state."""
        predicates = self._predicates
        if predicates is False:
            predicates = self._predicates = self.wanted()
        return predicates is None or predicate in predicates


class Shadow:
    """The adapter of the guards' engine: the store after the changes that the guards have applied."""

    def __init__(self, adapter: Adapter) -> None:
        self._adapter = adapter
        self.capture: Capture = _ShadowCapture(adapter.capture)
        self.ahead: dict[GraphKey, dict[Triple, Literal[1, -1]]] = {}
        """The changes that the guards have applied and the store has not committed, by graph."""
        self._lists: dict[GraphKey, Callable[[TermPattern], Iterator[Triple]]] = {}

    def graph_key(self, graph: Any) -> GraphKey:
        """Return the key of a graph, from the store's adapter."""
        return self._adapter.graph_key(graph)

    def default_graph(self, graph: Any) -> GraphKey:
        """Return the key of the default graph, from the store's adapter."""
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
        """Return the conversion of the store's terms to the user's."""
        return self._adapter.from_native()

    def to_rdflib(self) -> Callable[[Term], Any] | None:
        """Return the conversion of the store's terms to rdflib's."""
        return self._adapter.to_rdflib()

    def to_value(self) -> Callable[[Term], Any] | None:
        """Return the conversion of the store's terms to values of expressions."""
        return value_of(self._adapter)

    def detach(self) -> None:
        """Do nothing: the store stays hooked while it has guards."""


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
        self._withheld = self._capture.withheld
        self.refusals: dict[Any, Refusal] = {}
        """The refusal of each guard, by its subscription."""
        self._taken: dict[QuadTerms, Literal[1, -1]] = {}
        """Permitted changes that are not committed yet."""

    @classmethod
    def of(cls, adapter: Adapter) -> Guards:
        """Return the guards of a store, or a new object without guards."""
        known = adapter.capture.judge
        return known if isinstance(known, cls) else cls(adapter)

    @property
    def wants_union(self) -> bool:
        """True if a guard reads the union of all graphs."""
        return UNION in self._capture.listeners

    def begin(self) -> None:
        """Prepare the store to undo the batch."""
        self._adapter.begin()

    def permit(self, changes: Changes) -> None:
        """Apply the changes of a whole commit, or undo them and raise `ValidationError` to refuse them."""
        relevant = self._relevant(changes)
        if not relevant:
            return
        try:
            self._move(relevant, relevant)
            if self._has_restarted:
                self._discard()
                self._move(relevant, relevant)
            if self._has_restarted:
                raise ValidationError("the commit is refused, because a guard failed while evaluating it", ())
            self._taken = relevant
            refused = self._refusal()
            if refused is not None:
                self._take_back()
        except BaseException:
            self._discard()
            raise
        if refused is not None:
            raise refused

    def settle(self, changes: Changes) -> None:
        """Permit the commit of the open batch, or undo it and raise `ValidationError`."""
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
            # the store commits these changes next
            self._taken = {}
            self.shadow.ahead = {}
            self._adapter.stay()
        except ValidationError:
            raise
        except BaseException:
            self._discard()
            raise

    def _relevant(self, changes: Changes) -> dict[QuadTerms, Literal[1, -1]]:
        return {quad: sign for quad, sign in changes.items() if self.wants(quad[1])}

    def would_refuse(self, changes: Changes) -> ValidationError | None:
        """Return the error by which changes would be refused, without applying them."""
        try:
            self.permit(changes)
        except ValidationError as error:
            return error
        self._take_back()
        return None

    def renew(self) -> None:
        """Read the store again after an interruption. Present results count as pre-existing."""
        self._adapter.stay()
        self._discard()
        self._read_again()
        self._withheld.clear()

    @property
    def _has_restarted(self) -> bool:
        """True if a query failed and restarted, so that new rows cannot be told from old ones."""
        return any(isinstance(queued, QueuedDelta) and queued.delta.initial for queued in self._withheld)

    def _discard(self) -> None:
        """Discard the applied changes: the engine reads the store before its next use."""
        self._taken = {}
        self.shadow.ahead = {}
        self._capture.tear()

    def _read_again(self) -> None:
        """Make the interrupted engine read the store and deliver full answers."""
        self.shadow.ahead = {}
        self._capture.run(self._capture.owe)

    def _take_back(self) -> None:
        try:
            taken, self._taken = self._taken, {}
            self._move({quad: -1 if sign > 0 else 1 for quad, sign in taken.items()}, {})
            self._withheld.clear()
        except BaseException:
            self._discard()
            raise

    def _move(self, changes: Changes, ahead: Changes) -> None:
        """Make the engine apply `changes`. Afterwards it is ahead of the store by the changes `ahead`."""
        if self._capture.is_used:
            # after an interruption the engine first reads the state before the changes
            self._read_again()
        self._withheld.clear()
        self.shadow.ahead = {}
        for (s, p, o, key), sign in ahead.items():
            self.shadow.ahead.setdefault(key, {})[s, p, o] = sign
        self._capture.run(self._record, changes)

    def _record(self, changes: Changes) -> None:
        capture = self._capture
        capture.state |= WRITING  # no `finally`: an interruption must leave the flag, see `Capture`
        for sign in (-1, 1):
            capture.record_all(sign, [quad for quad, each in changes.items() if each == sign])
        capture.state &= ~WRITING

    def _refusal(self) -> ValidationError | None:
        found: list[ValidationError] = []
        for queued in self._withheld:
            refuses = self.refusals.get(queued.to) if isinstance(queued, QueuedDelta) else None
            if isinstance(queued, QueuedDelta) and refuses is not None and not queued.delta.initial:
                error = refuses(queued.delta)
                if error is not None:
                    found.append(error)
        return ValidationError.joined(found) if found else None
