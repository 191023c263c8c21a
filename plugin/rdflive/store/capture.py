"""Collects the exact changes of a store into net batches, in commit order, for the listening engine."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, TypeVar

from rdflive.errors import RdfliveError, WaitError, is_interruption
from rdflive.model import Batch, Change, Quad, Term, Triple
from rdflive.store.deliveries import Deliveries, Delivering
from rdflive.store.garbage_collection import MANY, uncollected
from rdflive.store.history import History
from rdflive.store.listening import (
    NAMED,
    UNION,
    Changes,
    GraphKey,
    Judge,
    Listener,
    QuadTerms,
    WriteAhead,
)
from rdflive.store.states import CHANGING, IDLE, LEFT, OPEN, OWED, TORN, UNREAD, WRITING

__all__ = ["Capture", "KnownWrite", "Write", "thread"]


Result = TypeVar("Result")


class Write(Protocol):
    """One write to a watched store. `Capture.write` makes it."""

    def foresee(self) -> Changes:
        """Return the net changes that `apply` would make now, for a guard to permit."""
        ...

    def apply(self, *, is_permitted: bool) -> None:
        """Change the store, and record each quad that really changed.

        `is_permitted`: guards have permitted this write as the whole commit, so it needs no data for an undo.
        A write that has recorded all changes, even after an error, ends with `Capture.recorded`; without
        that call an exception makes the listeners read the store again.
        """
        ...


@dataclass(slots=True)
class KnownWrite:
    """A write whose changes the store can list in advance. They are recorded after the write.

    `foresee` only reads, and is called a second time for a commit that guards permit.
    """

    capture: Capture
    foresee: Callable[[], Changes]
    change: Callable[[], object]

    def apply(self, *, is_permitted: bool) -> None:  # noqa: ARG002 - undone by the opposite operations
        """Make the change. If it raises half-way, the listeners read the store again."""
        changes = self.foresee()
        self.change()
        self.capture.record_net(changes)


class _Thread(threading.local):
    """The open batches of a thread."""

    batch: Capture | None = None
    """The capture of the innermost open batch; None outside any batch."""

    def __init__(self) -> None:
        self.batches: list[Capture] = []
        """The captures of all open batches. A list, because asyncio tasks may leave theirs in any order."""

    def look(self) -> None:
        """Update the batches after the end of one."""
        me = threading.get_ident()
        self.batches = [capture for capture in self.batches if capture._owner == me]
        self.batch = self.batches[-1] if self.batches else None


thread: Final = _Thread()


def _may_wait() -> bool:
    """True if this thread may wait for its turn to deliver: it has no batch that others may wait for."""
    return thread.batch is None


_waits: Final[dict[int, Capture]] = {}
"""Thread → the store whose lock it has or waits for, while it has a batch of another store open."""
_waits_mutex: Final = threading.RLock()


_captures: Final[weakref.WeakSet[Capture]] = weakref.WeakSet()


class Capture:
    """Collects the exact changes of one store into net batches, and passes them on in commit order.

    `run` makes an operation with several writes one batch; `batch` does the same for a `with` block. Batches
    nest, and the outermost one is the commit. Inside, `record` is called for each real change. At the end, an
    insert and a delete of the same quad have cancelled each other, and the listeners get the net changes. The
    deliveries that they pass to `enqueue` run after the lock is released, in the writing thread and in commit
    order.

    `write` changes a store; the write is a value. `state` has the flag `WRITING` from before the store
    changes until every listener has applied the change. After an interruption in between (Ctrl-C, no
    memory, an exception) the flag stays set. The next use of the store finds it in `settle`, and the
    listeners read the store again; see `rdflive.store.states`.

    A signal handler, a finalizer or a function of an update may use the store in the middle of a write. It
    reads the present state of the store. Its own writes are not recorded, and the listeners read the store
    again afterwards.
    """

    __slots__ = (
        "__weakref__", "_later", "_net", "_owner", "_passed", "_pending", "ahead", "deliveries", "history",
        "judge", "listeners", "lock", "on_batch", "sequence", "state", "users",
    )  # fmt: skip

    def __init__(self) -> None:
        _captures.add(self)
        self.lock = threading.RLock()
        self.state = IDLE
        self.sequence = 0
        """The number of the last commit that changed something."""
        self.history: History | None = None
        """Numbers the commits beyond this process; set by a server."""
        self.ahead: WriteAhead | None = None
        """Writes down each commit before it happens; needs `history`."""
        self.listeners: dict[GraphKey, Listener] = {}
        self.judge: Judge | None = None
        """The judge that may refuse a commit, or None."""
        self.users: weakref.WeakSet[object] = weakref.WeakSet()
        """Objects that need the store to stay hooked, but do not listen."""
        self.on_batch: Callable[[Batch], None] | None = None
        """Called with every batch, under the lock; set only if a plugin takes batches."""
        self.deliveries = Deliveries(_may_wait)
        self._owner = 0
        """The thread whose batch is open; 0 if none is."""
        self._later = IDLE
        """Flags that were set inside the open batch and wait for its end."""
        self._net: dict[QuadTerms, Literal[1, -1]] = {}
        self._passed = False
        """True if `pass_by` has counted unwanted changes since the last commit."""
        self._pending: dict[GraphKey, dict[Triple, Literal[1, -1]]] = {}
        """A cache of `pending`, cleared by each record."""

    @property
    def number(self) -> int:
        """The number of the last commit in the history; without one, as in a child process, the sequence."""
        return self.sequence if self.history is None else self.history.number

    @property
    def idle(self) -> bool:
        """True if nothing must be recorded: no listener, judge or log, and no open batch."""
        return not (self.listeners or self.state & OPEN or self.judge or self.ahead)

    @property
    def is_used(self) -> bool:
        """True during a write, inside `changing`, and while `settle` has something to mend."""
        return self.state > OPEN

    @property
    def is_written(self) -> bool:
        """True during a write."""
        return bool(self.state & WRITING)

    @property
    def is_open(self) -> bool:
        """True inside a batch. The thread that holds the lock is then inside it."""
        return bool(self.state & OPEN)

    @property
    def wants_union(self) -> bool:
        """True if changes of the union of all graphs must be recorded."""
        return UNION in self.listeners or (self.judge is not None and self.judge.wants_union)

    @property
    def asks(self) -> bool:
        """True if an operation that starts now is a whole commit, which is foreseen: the guards judge it, and
        the log has it first.
        """
        return (self.judge is not None or self.ahead is not None) and self not in thread.batches

    def record(self, sign: Literal[1, -1], s: Term, p: Term, o: Term, graph: GraphKey) -> None:
        """Record one real change, under the lock. Outside any batch it is a commit of its own.

        A change of the union (`graph` is `UNION`) is recorded in addition to that of the quad, and only when
        the first graph gets the triple or the last graph loses it.
        """
        if self.state & OPEN:
            quad = (s, p, o, graph)
            self._pending.clear()
            if self._net.get(quad) == -sign:
                del self._net[quad]
            else:
                self._net[quad] = sign
            return
        listeners = self.listeners
        # two listeners may follow this change, and both must apply it before either commits
        if NAMED in listeners:
            self._commit({(s, p, o, graph): sign})
            return
        # `_commit` inlined for one change, because most commits have one
        self.sequence = sequence = self.sequence + 1
        if self.history is not None:
            self.history.commit(sequence)
        listener = listeners.get(graph)
        if listener is not None and listener.apply(sign, (s, p, o)):
            listener.commit(sequence)
        if self.on_batch is not None and graph is not UNION:
            self._announce(self.on_batch, Batch((Change(sign, Quad(s, p, o, graph)),), self.sequence))

    def record_net(self, changes: Changes) -> None:
        """Record the real net changes of one write."""
        if self.state & OPEN and not self._net:
            self._pending.clear()
            self._net = dict(changes)
        else:
            for quad, sign in changes.items():
                self.record(sign, *quad)

    def record_all(self, sign: Literal[1, -1], quads: Iterable[QuadTerms]) -> None:
        """Record distinct real changes inside a batch."""
        if self._net:
            for quad in quads:
                self.record(sign, *quad)
        else:
            self._pending.clear()
            self._net = dict.fromkeys(quads, sign)

    @property
    def may_pass(self) -> bool:
        """True if an operation that starts now may leave out changes that no listener wants.

        False inside a batch, because a subscription that wants them may start before its end; and false if a
        listener follows the union, whose changes are found from those of all graphs.
        """
        return (
            self not in thread.batches
            and self.on_batch is None
            and self.judge is None
            and self.ahead is None
            and UNION not in self.listeners
        )

    def wanted(self) -> set[Term] | None:
        """Return the predicates of triples that a listener may need; None if it may be any."""
        # checked again, because `may_pass` is read without the lock
        is_all = self.on_batch is not None or self.judge is not None or self.ahead is not None
        if is_all or UNION in self.listeners:
            return None
        found: set[Term] = set()
        for listener in self.listeners.values():
            predicates = listener.wanted()
            if predicates is None:
                return None
            found.update(predicates)
        return found

    def pass_by(self, graph: GraphKey, count: int) -> None:
        """Count real changes of a graph that no listener needs, inside a batch."""
        for key in (graph, NAMED):
            listener = self.listeners.get(key)
            if listener is not None:
                listener.pass_by(count)
        self._passed = True

    def write(self, write: Write, *, is_single: bool = False) -> None:
        """Make a write, as part of the open batch or as a commit of its own, which guards may refuse.

        A write that `is_single` changes one quad at most: it needs no batch, unless it must be foreseen, or a
        listener to the union follows the store.
        """
        batch = thread.batch
        if batch is self or (is_single and batch is None):
            with self.lock:
                state = self.state
                is_quick = state == OPEN or (
                    is_single and not state and not self.asks and not self.wants_union
                )
                if is_quick:
                    self._write(write, False)
            if is_quick:
                if self.deliveries:
                    self.deliver()
                return
        self.run(self._write, write, self.asks)

    def _write(self, write: Write, is_commit: bool) -> None:
        if is_commit:
            changes = write.foresee()
            if self.judge is not None:
                self.judge.permit(changes)
            if self.ahead is not None:
                self.ahead.append(changes)
        # no `finally`: after an interruption the flag must stay, see `states`
        self.state |= WRITING
        write.apply(is_permitted=is_commit)
        self.state &= ~WRITING

    def recorded(self) -> None:
        """End a write whose changes are all recorded, even if it raises."""
        self.state &= ~WRITING

    def run(self, operation: Callable[..., Result], /, *arguments: Any, **options: Any) -> Result:
        """Make all changes of an operation one batch, or part of the open one; returns its result.

        Unlike a `with` block, it cannot leave the lock taken after a signal: Python checks for signals only
        between its own instructions, and `with lock:` has none between taking the lock and entering the
        block.
        """
        # waiting for a second store can close a circle of threads that wait for each other; see `_will_wait`
        elsewhere, is_inside = thread.batch not in (None, self), self._is_held()
        try:
            if elsewhere:
                self._will_wait()
            with self.lock:
                # If this thread held the lock already, the flags may be those of its own unfinished write,
                # and there is nothing to repair. An open batch only records them.
                if self.state > OPEN and (not is_inside or self.state & OPEN):
                    self.settle()
                before = self.state
                try:
                    self._begin(before)
                    return operation(*arguments, **options)
                finally:
                    try:
                        if not before & OPEN:
                            self._leave(before)
                    finally:  # so that an interruption of this step cannot leave the batch open
                        if not before & OPEN:
                            self._owner, self.state = 0, WRITING if self.state & OPEN else self.state
                        thread.look()
        finally:
            if elsewhere:
                _waits.pop(threading.get_ident(), None)
            if self.deliveries:
                self.deliver()

    @contextmanager
    def batch(self) -> Iterator[Capture]:
        """Make a `with` block one batch, or part of the open one.

        An interruption between two steps of the `with` statement itself may leave the batch open until Python
        frees the exception. If the garbage collector does so in another thread, which cannot release the
        lock, the batch stays open for ever. `run` has no such gap.
        """
        with self.reading():
            if self.state & OPEN and self.state > OPEN:
                self.settle()
            before = self.state
            try:
                self._begin(before)
                yield self
            finally:  # repeated from `run`: a shared function could be interrupted before its first step
                try:
                    if not before & OPEN:
                        self._leave(before)
                finally:
                    if not before & OPEN:
                        self._owner, self.state = 0, WRITING if self.state & OPEN else self.state
                    thread.look()

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Hold the lock, after repairing the state that an interruption left."""
        elsewhere, is_inside = thread.batch not in (None, self), self._is_held()
        try:
            if elsewhere:
                self._will_wait()
            with self.lock:
                if self.state > OPEN and not is_inside:
                    self.settle()
                yield
        finally:
            if elsewhere:
                _waits.pop(threading.get_ident(), None)
            if self.deliveries:
                self.deliver()

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Protect a change of the listeners' state in the block, under the lock. After an interruption, the
        listeners read the store again.

        A block that raises any other exception must undo its changes first.
        """
        before = self.state
        self.state |= CHANGING
        try:
            yield
        except Exception as error:
            if not is_interruption(error):
                self.state &= ~CHANGING
            raise
        self.state &= ~CHANGING
        # the unfinished write started with other listeners
        if before & (WRITING | CHANGING):
            self.state |= TORN

    def tear(self) -> None:
        """Make the listeners read the store again before its next use. Called under the lock."""
        self.state |= TORN

    def mended(self) -> None:
        """Undo `tear`, because the listener reads the store again itself."""
        self.state &= ~TORN

    def owe(self) -> None:
        """Make the listeners commit before the next use of the store. Called under the lock."""
        self.state |= OWED

    def _is_held(self) -> bool:
        """True if this thread holds the lock."""
        return self.lock._is_owned()  # type: ignore[attr-defined, no-any-return]  # as Condition does

    def _begin(self, before: int) -> None:
        """Open a batch, unless one is open."""
        thread.batch = self
        if not before & OPEN:
            self._owner, self.state = threading.get_ident(), OPEN
            thread.batches.append(self)
            if self.ahead is not None:
                self.ahead.begin()
            if self.judge is not None:
                self.judge.begin()

    def _leave(self, before: int) -> None:
        """Commit the open batch, or discard the changes of one that was opened in the middle of a write."""
        # A batch inside a write, as in a signal handler, has no place in the commit order. So its changes are
        # dropped, and the listeners read the store again.
        if before & (WRITING | CHANGING):
            self.state = before | TORN
            self._net.clear()
            self._pending.clear()
        else:
            refused = None if self.judge is None else self._refused(self.judge.settle)
            if self.ahead is not None:
                refused = self._refused(self.ahead.settle) or refused
            self.state = LEFT | self._later | self.state & ~OPEN
            self.settle()
            if refused is not None:
                try:
                    raise refused
                finally:
                    del refused  # its frames refer to the store, which closing must free

    def permit_all(self) -> None:
        """Let the judge refuse the open batch, which is the whole commit; the caller undoes it then."""
        if self.judge is not None:
            self.judge.permit(self._net)

    def _refused(self, settle: Callable[[Changes], None]) -> RdfliveError | None:
        """Settle the open batch, unless the store must be read again; returns the refusal or None."""
        if (self.state | self._later) & UNREAD:
            return None
        try:
            settle(self._net)
        except RdfliveError as error:
            return error
        return None

    def settle(self) -> None:
        """Commit an ended batch, and repair the state after an interruption. Called under the lock.

        Inside an open batch this only records the flags; the end of the batch settles them.
        """
        if self.state & OPEN:
            self._later |= self.state & ~OPEN
            self.state = OPEN
            return
        found, self.state = self.state, WRITING
        self._later = IDLE
        net, self._net = self._net, {}
        passed, self._passed = self._passed, False
        self._pending.clear()
        if found & UNREAD:
            self.deliveries.give_away()  # the interrupted thread may never come back to deliver
            self.sequence += 1
            if self.history is not None:
                self.history.tear(self.sequence)
            if self.ahead is not None:
                self.ahead.tear()
            # all views of a store share one `renew`, which is called once
            for renew in dict.fromkeys([listener.renew for listener in self.listeners.values()]):
                renew(self.sequence)
            if self.judge is not None:
                self.judge.renew()
        else:
            if len(net) >= MANY:
                uncollected(self._commit)(net)
            elif net:
                self._commit(net)
            elif passed:
                self.sequence += 1
                if self.history is not None:
                    self.history.commit(self.sequence)
            if found & OWED:
                self.sequence += 1
                for commit in dict.fromkeys([listener.commit for listener in self.listeners.values()]):
                    commit(self.sequence)
        self.state &= ~WRITING

    def _will_wait(self) -> None:
        """Record that this thread, which has a batch of another store open, waits for the lock of this store.

        Raises `WaitError` if the thread with an open batch of this store waits, directly or through other
        threads, for this thread. In such a circle of threads the last one to wait raises the error.
        """
        me = threading.get_ident()
        with _waits_mutex:
            _waits[me] = self
            if self._owner != me and self._waits_for(me):
                del _waits[me]
                raise WaitError(
                    "deadlock: this thread has a batch open on another store, and the thread with a batch "
                    "open on this store waits for that one; use the stores in the same order in all threads"
                )

    def _waits_for(self, me: int) -> bool:
        owner, seen = self._owner, set[int]()
        # `seen`, because other threads may wait in a circle of their own
        while owner not in (0, me) and owner not in seen:
            seen.add(owner)
            waited = _waits.get(owner)
            owner = 0 if waited is None else waited._owner
        return owner == me

    def _commit(self, net: dict[QuadTerms, Literal[1, -1]]) -> None:
        self.sequence += 1
        if self.history is not None:
            self.history.commit(self.sequence)
        touched: dict[int, Listener] = {}  # by identity: one listener may follow several graphs
        listeners = self.listeners
        by_graph: dict[GraphKey, list[tuple[Literal[1, -1], tuple[Term, ...]]]] = {
            key: [] for key in listeners
        }
        for quad, sign in net.items():
            s, p, o, graph = quad
            if graph in listeners:
                by_graph[graph].append((sign, (s, p, o)))
            if NAMED in listeners and graph is not UNION:
                by_graph[NAMED].append((sign, quad))
        for key, listener in listeners.items():
            if by_graph[key] and listener.apply_all(by_graph[key]):
                touched[id(listener)] = listener
        for listener in touched.values():
            listener.commit(self.sequence)
        if self.on_batch is not None:
            changes = (Change(sign, Quad(*quad)) for quad, sign in net.items() if quad[3] is not UNION)
            self._announce(self.on_batch, Batch(tuple(changes), self.sequence))

    def _announce(self, on_batch: Callable[[Batch], None], batch: Batch) -> None:
        """Pass a batch to plugins. They may read the store: all listeners have applied the change."""
        self.state &= ~WRITING
        try:
            on_batch(batch)
        finally:
            self.state |= WRITING

    def tick(self, commit: Callable[[int], object]) -> None:
        """Let a listener `commit` without a change of quads, because time passed. Called under the lock;
        `deliver` must follow.

        It is a commit of its own, even inside an open batch, whose changes come later.
        """
        self.sequence += 1
        commit(self.sequence)

    def pending(self, graph: GraphKey) -> dict[Triple, Literal[1, -1]]:
        """Return the changes of one graph in the open batch. The caller must not modify them."""
        if not self._net:
            return {}
        found = self._pending.get(graph)
        if found is None:
            found = {(s, p, o): sign for (s, p, o, key), sign in self._net.items() if key == graph}
            self._pending[graph] = found
        return found

    def pending_quads(self) -> dict[QuadTerms, Literal[1, -1]]:
        """Return the changes of all graphs in the open batch."""
        return {quad: sign for quad, sign in self._net.items() if quad[3] is not UNION}

    def rehearse(self, undo: Callable[[Changes], None]) -> list[Delivering]:
        """Try the open batch for a preview: the listeners apply it, then `undo` reverses it.

        Returns the deliveries that it would cause; they are not queued. `undo` gets the net changes and
        writes their opposites, which are recorded, so nothing is left to commit. After an interruption the
        listeners read the store again.
        """
        net, self._net = self._net, {}
        self._pending.clear()
        sequence, later, on_batch, history = self.sequence, self._later, self.on_batch, self.history
        self._later |= TORN
        rehearsed: list[Delivering] = []
        self.on_batch, self.deliveries.aside, self.history = None, rehearsed, None
        try:
            self.state |= WRITING
            self._commit(net)
            self.state &= ~WRITING
            self.deliveries.aside = []
            undo(net)
            back, self._net = self._net, {}
            self._pending.clear()
            self.state |= WRITING
            self._commit(back)
            self.state &= ~WRITING
        finally:
            self.on_batch, self.deliveries.aside, self.history = on_batch, None, history
        self.sequence, self._later = sequence, later
        return rehearsed

    @contextmanager
    def undoing(self, undo: Callable[[dict[QuadTerms, Literal[1, -1]]], None]) -> Iterator[None]:
        """Undo the changes of the block in the open batch if the block raises.

        `undo` gets the net changes of the block, and reverses them by recorded operations.
        """
        before = dict(self._net)
        try:
            yield
        except BaseException:
            undo(_difference(before, self._net))
            raise

    def forget_others(self) -> None:
        """Discard all listeners and queued deliveries, in a child process forked under the lock."""
        self.listeners.clear()
        self.on_batch = self.judge = self.history = self.ahead = None
        self.users.clear()
        self.deliveries.free_others()
        self.deliveries = Deliveries(_may_wait)
        # the forking thread holds the lock to the end, and deliveries run only without it
        self.lock, self.state, self._owner = threading.RLock(), IDLE, 0

    def free_others(self) -> None:
        """Release the locks and turns of threads that do not exist in a fork, and repair their unfinished
        work.
        """
        if not self._is_held():
            self.lock, self._owner = threading.RLock(), 0
            if self.state & ~(LEFT | OWED):  # a write is half done
                self.state = TORN
        if self.deliveries.free_others():
            self.state |= TORN

    def enqueue(self, delivery: Delivering) -> None:
        """Queue a delivery, which runs after the lock is released."""
        self.deliveries.put(delivery)

    def deliver(self) -> None:
        """Run this thread's queued deliveries, unless it holds the lock: then they run after its release."""
        if not self.lock._is_owned():  # type: ignore[attr-defined]  # see `_is_held`
            self.deliveries.run()


def _difference(
    before: Mapping[QuadTerms, Literal[1, -1]], after: Mapping[QuadTerms, Literal[1, -1]]
) -> dict[QuadTerms, Literal[1, -1]]:
    """Return the net changes that lead from one state of a batch to another, without those of the union."""
    undone: dict[QuadTerms, Literal[1, -1]] = {
        quad: -1 if sign > 0 else 1 for quad, sign in before.items() if quad not in after
    }
    made = {quad: sign for quad, sign in after.items() if quad not in before}
    return {quad: sign for quad, sign in (undone | made).items() if quad[3] is not UNION}


def _after_fork() -> None:
    _waits.clear()
    _waits_mutex.release()
    for capture in tuple(_captures):
        capture.free_others()


if hasattr(os, "register_at_fork"):
    # taken before a fork, so that the child never inherits it locked by a thread that it does not have
    os.register_at_fork(
        before=_waits_mutex.acquire, after_in_parent=_waits_mutex.release, after_in_child=_after_fork
    )
