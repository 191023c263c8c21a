"""How the exact changes of a store become net batches, in commit order, for whoever listens."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from types import TracebackType
from typing import Any, Final, Literal, Protocol, TypeAlias

from rdflive.model import Batch, Change, Quad

__all__ = ["NAMED", "UNION", "Capture", "GraphKey", "Listener", "QuadTerms", "Triple"]


class _Every(Enum):
    UNION = "union of all graphs"
    NAMED = "all graphs by name"

    __hash__ = object.__hash__  # that of Enum runs in Python, and this is asked on every write


UNION: Final = _Every.UNION
"""The key of the union of all graphs: it holds a triple once however many graphs do."""

NAMED: Final = _Every.NAMED
"""The key of a listener to the quads of all graphs. No adapter records under it: `Capture` sees to it."""

GraphKey: TypeAlias = Hashable
"""How an adapter names a graph: any hashable value of its own, or `UNION`.

The key of a named graph is the store's own term for its name, as `to_native` gives it.
"""

Triple: TypeAlias = tuple[Any, Any, Any]
QuadTerms: TypeAlias = tuple[Any, Any, Any, GraphKey]
"""Subject, predicate, object and the key of the graph."""

ANYBODY: Final = 0
"""The owner of a delivery that whoever has the turn runs."""
_thread: Final = threading.local()
PATIENCE: Final = 1.0
"""Seconds to wait for a thread that committed but has not begun to deliver."""


class Listener(Protocol):
    """Whoever follows one graph of a store. Called under the store's lock, in the writing thread.

    A batch is applied to all listeners before any of them commits, and each of those commits once.
    """

    def apply(self, sign: Literal[1, -1], change: tuple[Any, ...], /) -> bool:
        """Take one exact change: +1 for a triple that was absent, -1 for one that was present.

        Under `NAMED` it is a quad, of any graph, the default one included. Returns whether `commit`
        must follow; false where the change leaves no trace.
        """
        ...

    def commit(self, sequence: int) -> None:
        """The batch is complete and the store's state is the one after it."""


class Capture:
    """Collects the exact changes of one store into net batches and hands them on in commit order.

    Use it as a context manager around one operation (they nest; the outermost is the batch). Inside,
    `record` each change that really happened. On leaving, +1 and -1 of the same quad have cancelled,
    listeners have seen the rest, and whatever they put into `deliver` runs after the lock is released,
    in the thread that wrote and in commit order.
    """

    __slots__ = (
        "__weakref__", "_batching", "_delivering", "_depth", "_net", "_pending", "_turn", "deliveries",
        "listeners", "lock", "on_batch", "sequence",
    )  # fmt: skip

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.sequence = 0
        """The number of the last commit that changed something."""
        self.listeners: dict[GraphKey, Listener] = {}
        self.on_batch: Callable[[Batch], None] | None = None
        """Called with every batch, under the lock; set only where a plugin takes batches."""
        self.deliveries: deque[tuple[int, Callable[[], None]]] = deque()
        self._depth = 0
        self._batching = 0
        """The thread whose batch is open; 0 for none."""
        self._net: dict[QuadTerms, Literal[1, -1]] = {}
        self._pending: dict[GraphKey, dict[Triple, Literal[1, -1]]] = {}
        """What `pending` gave since the last record."""
        self._turn = threading.Condition(threading.Lock())
        self._delivering = 0

    @property
    def idle(self) -> bool:
        """True when nobody listens and no batch is open, so the store need not be hooked."""
        return not self.listeners and not self._depth

    @property
    def is_open(self) -> bool:
        """True inside a batch; who holds the lock is inside it."""
        return self._depth > 0

    @property
    def wants_union(self) -> bool:
        """True while somebody listens to the union of all graphs, so its changes must be recorded."""
        return UNION in self.listeners

    def record(self, sign: Literal[1, -1], s: Any, p: Any, o: Any, graph: GraphKey) -> None:
        """Take one change that happened, under the lock; outside any batch it is one by itself.

        A change of the union (`graph` is `UNION`) is recorded beside that of the quad, and only when
        the first graph takes the triple or the last one lets it go.
        """
        if self._depth:
            quad = (s, p, o, graph)
            self._pending.clear()
            if self._net.get(quad) == -sign:
                del self._net[quad]
            else:
                self._net[quad] = sign
            return
        listeners = self.listeners
        if NAMED in listeners:
            self._commit({(s, p, o, graph): sign})
            return
        self.sequence += 1  # `_commit` of this one change, written out: most commits are single
        listener = listeners.get(graph)
        if listener is not None and listener.apply(sign, (s, p, o)):
            listener.commit(self.sequence)
        if self.on_batch is not None and graph is not UNION:
            self.on_batch(Batch((Change(sign, Quad(s, p, o, graph)),), self.sequence))

    def __enter__(self) -> Capture:
        self.lock.acquire()
        self._depth += 1
        self._batching = threading.get_ident()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            self._depth -= 1
            if not self._depth and self._net:
                net, self._net = self._net, {}
                self._pending.clear()
                self._commit(net)
        finally:
            if not self._depth:
                self._batching = 0
            self.lock.release()
        if self.deliveries:
            self.deliver()

    def _commit(self, net: dict[QuadTerms, Literal[1, -1]]) -> None:
        self.sequence += 1
        touched: dict[int, Listener] = {}  # by identity: one listener may follow several graphs
        listeners, named = self.listeners, self.listeners.get(NAMED)
        for quad, sign in net.items():
            s, p, o, graph = quad
            listener = listeners.get(graph)
            if listener is not None and listener.apply(sign, (s, p, o)):
                touched[id(listener)] = listener
            if named is not None and graph is not UNION and named.apply(sign, quad):
                touched[id(named)] = named
        for listener in touched.values():
            listener.commit(self.sequence)
        if self.on_batch is not None:
            changes = (Change(sign, Quad(*quad)) for quad, sign in net.items() if quad[3] is not UNION)
            self.on_batch(Batch(tuple(changes), self.sequence))

    def tick(self, listener: Listener) -> None:
        """Have a listener commit although no quad changed: time did. Under the lock; `deliver` must follow.

        It is a commit by itself, also inside an open batch, whose changes nobody has been told of yet.
        """
        self.sequence += 1
        listener.commit(self.sequence)

    def pending(self, graph: GraphKey) -> dict[Triple, Literal[1, -1]]:
        """Give the changes of one graph that the open batch has not committed yet; do not change them."""
        if not self._net:
            return {}
        found = self._pending.get(graph)
        if found is None:
            found = {(s, p, o): sign for (s, p, o, key), sign in self._net.items() if key == graph}
            self._pending[graph] = found
        return found

    def pending_quads(self) -> dict[QuadTerms, Literal[1, -1]]:
        """Give the changes of all graphs that the open batch has not committed yet."""
        return {quad: sign for quad, sign in self._net.items() if quad[3] is not UNION}

    @contextmanager
    def undoing(self, undo: Callable[[dict[QuadTerms, Literal[1, -1]]], None]) -> Iterator[None]:
        """Open a batch whose changes are taken back if it raises, and only they: others may be open.

        `undo` is given the net changes of the block, and reverses them by operations that are recorded.
        """
        with self:
            before = dict(self._net)
            try:
                yield
            except BaseException:
                undo(_difference(before, self._net))
                raise

    def forget_others(self) -> None:
        """Forget who listens, and what other threads were delivering: in a fork, made under the lock."""
        self.listeners.clear()
        self.on_batch = None
        self.deliveries.clear()
        self._turn = threading.Condition(threading.Lock())
        self._delivering = 0

    def enqueue(self, delivery: Callable[[], None]) -> None:
        """Queue a call for after the lock's release, behind what is queued already."""
        with self._turn:
            self.deliveries.append((threading.get_ident(), delivery))

    def deliver(self) -> None:
        """Run this thread's queued deliveries, each in its turn.

        A call inside a delivery leaves them to that one, and a call inside a batch to the batch's end,
        when the lock is free. Commit order holds across threads: a thread waits while an earlier
        commit's delivery belongs to another one. Should that thread be gone, the waiting one delivers
        in its place.
        """
        me = threading.get_ident()
        if me in (self._delivering, self._batching):
            return
        nested = getattr(_thread, "delivering", 0)
        _thread.delivering = nested + 1
        failure: BaseException | None = None
        try:
            while (delivery := self._next_delivery(me, may_wait=not nested)) is not None:
                try:
                    delivery()
                except BaseException as error:  # noqa: BLE001 - raised below, when nothing is left behind
                    failure = failure or error
                finally:
                    with self._turn:
                        self._delivering = 0
                        self._turn.notify_all()
        finally:
            _thread.delivering = nested
        if failure is not None:
            raise failure

    def _next_delivery(self, me: int, *, may_wait: bool) -> Callable[[], None] | None:
        """Take the next delivery that is this thread's or anybody's, waiting for its turn.

        A thread inside a delivery of another store must not wait: two stores whose callbacks write to
        each other would wait for each other. It leaves what is its own to whoever has the turn.
        """
        with self._turn:
            while any(owner in (me, ANYBODY) for owner, _ in self.deliveries):
                first = self.deliveries[0][0]
                if not self._delivering and first in (me, ANYBODY):
                    break
                if not may_wait:
                    self._give_away(me)
                    return None
                patient = self._turn.wait(None if self._delivering else PATIENCE)
                if not patient and not self._delivering:
                    break
            else:
                return None
            self._delivering = me
            return self.deliveries.popleft()[1]

    def _give_away(self, me: int) -> None:
        for i, (owner, delivery) in enumerate(self.deliveries):
            if owner == me:
                self.deliveries[i] = (ANYBODY, delivery)


def _difference(
    before: Mapping[QuadTerms, Literal[1, -1]], after: Mapping[QuadTerms, Literal[1, -1]]
) -> dict[QuadTerms, Literal[1, -1]]:
    """Give the changes of single graphs that lead from one state of a batch to a later one."""
    taken_back: dict[QuadTerms, Literal[1, -1]] = {
        quad: -1 if sign > 0 else 1 for quad, sign in before.items() if quad not in after
    }
    made = {quad: sign for quad, sign in after.items() if quad not in before}
    return {quad: sign for quad, sign in (taken_back | made).items() if quad[3] is not UNION}
