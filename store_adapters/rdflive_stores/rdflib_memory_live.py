"""The classes that rdflib's in-memory stores have while they are watched.

Another thread may be inside a method while the store is unhooked. So the methods of a live class name the
plain class that they stand for, and work without an adapter once that is gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, Protocol

from rdflive.model import Triple
from rdflive.store import OPEN, UNION, WRITING, Capture
from rdflive.store.capture import thread
from rdflive.store.rdflib_graphs import ADAPTER, capture_of_watched, in_batch, live_class, reduce_as

__all__ = ["live_memory", "live_simple_memory"]


class _Names(Protocol):
    """What a live `Memory` asks of its adapter: see `rdflive_stores.rdflib_memory.MemoryAdapter`."""

    capture: Capture
    names: dict[Any, str | None]

    def name(self, identifier: Any) -> str | None:
        """Name a graph as `Memory` does."""


@cache
def live_simple_memory(plain: Any) -> type[Any]:
    """Make the class of a watched `SimpleMemory`: it records what each operation changed."""

    def holds(store: Any, triple: Triple) -> bool:
        return next(iter(store.triples(triple)), None) is not None

    def add_one(store: Any, capture: Capture, triple: Triple, context: Any, quoted: bool) -> None:
        capture.state |= WRITING
        known = holds(store, triple)
        plain.add(store, triple, context, quoted)
        if not known:
            s, p, o = triple
            capture.record(1, s, p, o, None)
        capture.state &= ~WRITING

    def remove_all(store: Any, capture: Capture, triple: Any, context: Any) -> None:
        capture.state |= WRITING
        found = [held for held, _ in store.triples(triple)]
        plain.remove(store, triple, context)
        for s, p, o in found:
            if not holds(store, (s, p, o)):
                capture.record(-1, s, p, o, None)
        capture.state &= ~WRITING

    class LiveSimpleMemory(plain):  # type: ignore[misc]  # the class is known at run time only
        def add(self, triple: Any, context: Any, quoted: bool = False) -> None:
            capture = capture_of_watched(self)
            if capture is None:
                plain.add(self, triple, context, quoted)
            else:
                capture.run(add_one, self, capture, triple, context, quoted)

        def addN(self, quads: Iterable[Any]) -> None:  # noqa: N802 - rdflib's name
            in_batch(self, plain.addN, self, quads)

        def remove(self, triple: Any, context: Any = None) -> None:
            capture = capture_of_watched(self)
            if capture is None:
                plain.remove(self, triple, context)
            else:
                capture.run(remove_all, self, capture, triple, context)

        def __reduce_ex__(self, protocol: Any) -> Any:
            return reduce_as(plain, self, protocol)

    return live_class(plain, LiveSimpleMemory)


@cache
def live_memory(plain: Any) -> type[Any]:
    """Make the class of a watched `Memory`: it records changes of each graph and of the union.

    `Memory` keeps the set of triples of each graph, and of the union under None; comparing their sizes
    around an operation on one triple is the cheapest exact test.
    """

    def remove_all(store: Any, adapter: _Names, triple: Any, context: Any) -> None:
        capture = adapter.capture
        capture.state |= WRITING
        found = [
            (held, (context,) if context is not None else tuple(contexts))
            for held, contexts in store.triples(triple, context)
        ]
        plain.remove(store, triple, context)
        graphs = store._Memory__contextTriples
        for held, contexts in found:
            s, p, o = held
            for graph in contexts:
                identifier = getattr(graph, "identifier", graph)
                if held not in graphs.get(adapter.name(identifier), ()):
                    capture.record(-1, s, p, o, identifier)
            if UNION in capture.listeners and held not in graphs[None]:
                capture.record(-1, s, p, o, UNION)
        capture.state &= ~WRITING

    class LiveMemory(plain):  # type: ignore[misc]  # the class is known at run time only
        def add(self, triple: Any, context: Any, quoted: bool = False) -> None:
            adapter: _Names | None = self.__dict__.get(ADAPTER)
            if adapter is None or quoted:  # a formula's statement is in no graph that can be subscribed to
                plain.add(self, triple, context, quoted)
                return
            capture, batch = adapter.capture, thread.batch
            if batch is not None and batch is not capture:
                capture.run(self.add, triple, context)
                return
            with capture.lock:
                wants_union = UNION in capture.listeners
                state = capture.state
                if state <= OPEN and (state or not wants_union):
                    graphs = self._Memory__contextTriples
                    identifier = getattr(context, "identifier", context)
                    name = adapter.names.get(identifier) or adapter.name(identifier)
                    # no `finally`: what interrupts this must leave the flag, see `Capture`
                    capture.state = state | WRITING
                    own = graphs.get(name, ())
                    held = len(own)
                    union = len(graphs[None]) if wants_union else 0
                    plain.add(self, triple, context)
                    # a graph has its set from its first triple on, which is new to it
                    if not held or len(own) != held:
                        s, p, o = triple
                        if identifier is not None:  # else written past every graph: the union alone has it
                            capture.record(1, s, p, o, identifier)
                        if wants_union and len(graphs[None]) != union:
                            capture.record(1, s, p, o, UNION)
                    capture.state &= ~WRITING
                    if not capture.deliveries:
                        return
            if state > OPEN or (wants_union and not state):
                capture.run(self.add, triple, context)  # mends first; and two changes are one batch
            else:
                capture.deliver()

        def addN(self, quads: Iterable[Any]) -> None:  # noqa: N802 - rdflib's name
            in_batch(self, plain.addN, self, quads)

        def remove(self, triple: Any, context: Any = None) -> None:
            adapter: _Names | None = self.__dict__.get(ADAPTER)
            if adapter is None:
                plain.remove(self, triple, context)
            else:
                adapter.capture.run(remove_all, self, adapter, triple, context)

        def __reduce_ex__(self, protocol: Any) -> Any:
            return reduce_as(plain, self, protocol)

    return live_class(plain, LiveMemory)
