"""The classes that rdflib's in-memory stores have while they are watched.

Another thread may be inside a method while the store is unhooked. So the methods of a live class name the
plain class that they stand for, and work without an adapter once that is gone.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, Literal, Protocol

from rdflive.model import Triple
from rdflive.store import OPEN, UNION, WRITING, Capture, QuadTerms
from rdflive.store.capture import thread
from rdflive.store.rdflib_graphs import ADAPTER, capture_of_watched, in_batch, live_class, reduce_as

__all__ = ["live_memory", "live_simple_memory"]


class _Names(Protocol):
    """What a live `Memory` asks of its adapter: see `rdflive_stores.rdflib.memory.MemoryAdapter`."""

    capture: Capture
    names: dict[Any, str | None]

    def name(self, identifier: Any) -> str | None:
        """Name a graph as `Memory` does."""


@cache
def live_simple_memory(plain: Any) -> type[Any]:
    """Make the class of a watched `SimpleMemory`: it records what each operation changed."""

    def holds(store: Any, triple: Triple) -> bool:
        return next(iter(store.triples(triple)), None) is not None

    def add_one(store: Any, capture: Capture, triple: Triple, context: Any, quoted: bool, asks: bool) -> None:
        if asks and not holds(store, triple):
            capture.permit({(*triple, None): 1})
        capture.state |= WRITING
        known = holds(store, triple)
        plain.add(store, triple, context, quoted)
        if not known:
            s, p, o = triple
            capture.record(1, s, p, o, None)
        capture.state &= ~WRITING

    def remove_all(store: Any, capture: Capture, triple: Any, context: Any, asks: bool) -> None:
        if asks:
            capture.permit({(*held, None): -1 for held, _ in store.triples(triple)})
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
                capture.run(add_one, self, capture, triple, context, quoted, capture.asks)

        def addN(self, quads: Iterable[Any]) -> None:  # noqa: N802 - rdflib's name
            in_batch(self, plain.addN, self, quads)

        def remove(self, triple: Any, context: Any = None) -> None:
            capture = capture_of_watched(self)
            if capture is None:
                plain.remove(self, triple, context)
            else:
                capture.run(remove_all, self, capture, triple, context, capture.asks)

        def __reduce_ex__(self, protocol: Any) -> Any:
            return reduce_as(plain, self, protocol)

    return live_class(plain, LiveSimpleMemory)


@cache
def live_memory(plain: Any) -> type[Any]:
    """Make the class of a watched `Memory`: it records changes of each graph and of the union.

    `Memory` keeps the set of triples of each graph, and of the union under None; comparing their sizes
    around an operation on one triple is the cheapest exact test.
    """

    def matching(store: Any, triple: Any, context: Any) -> list[tuple[Triple, tuple[Any, ...]]]:
        return [
            (held, (context,) if context is not None else tuple(contexts))
            for held, contexts in store.triples(triple, context)
        ]

    def add_permitted(store: Any, adapter: _Names, triple: Triple, context: Any) -> None:
        capture, graphs = adapter.capture, store._Memory__contextTriples
        identifier = getattr(context, "identifier", context)
        changes: dict[QuadTerms, Literal[1, -1]] = {}
        if identifier is not None and triple not in graphs.get(adapter.name(identifier), ()):
            changes[*triple, identifier] = 1
        if capture.wants_union and triple not in graphs[None]:
            changes[*triple, UNION] = 1
        capture.permit(changes)
        store.add(triple, context)

    def permit_removal(store: Any, adapter: _Names, triple: Any, context: Any) -> None:
        capture = adapter.capture
        changes: dict[QuadTerms, Literal[1, -1]] = {}
        for held, contexts in matching(store, triple, context):
            for graph in contexts:
                changes[*held, getattr(graph, "identifier", graph)] = -1
            if capture.wants_union and (context is None or not is_elsewhere(store, held, context)):
                changes[*held, UNION] = -1
        capture.permit(changes)

    def is_elsewhere(store: Any, triple: Triple, context: Any) -> bool:
        graph = getattr(context, "identifier", context)
        others = (getattr(each, "identifier", each) for each in store.contexts(triple))
        return any(other != graph for other in others)

    def remove_all(store: Any, adapter: _Names, triple: Any, context: Any, asks: bool) -> None:
        if asks:
            permit_removal(store, adapter, triple, context)
        capture = adapter.capture
        capture.state |= WRITING
        found = matching(store, triple, context)
        plain.remove(store, triple, context)
        graphs = store._Memory__contextTriples
        for held, contexts in found:
            s, p, o = held
            for graph in contexts:
                identifier = getattr(graph, "identifier", graph)
                if held not in graphs.get(adapter.name(identifier), ()):
                    capture.record(-1, s, p, o, identifier)
            if capture.wants_union and held not in graphs[None]:
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
                judge, state = capture.judge, capture.state
                wants_union = UNION in capture.listeners or (judge is not None and judge.wants_union)
                is_judged = judge is not None and not state & OPEN and judge.wants(triple[1])
                if state <= OPEN and (state or not wants_union) and not is_judged:
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
            if is_judged:
                capture.run(add_permitted, self, adapter, triple, context)
            elif state > OPEN or (wants_union and not state):
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
                capture = adapter.capture
                capture.run(remove_all, self, adapter, triple, context, capture.asks)

        def add_graph(self, graph: Any) -> None:
            capture = capture_of_watched(self)
            if capture is None or capture.judge is None:
                plain.add_graph(self, graph)
            else:  # behind a batch of another thread, which may be undone with the names of its graphs
                capture.run(plain.add_graph, self, graph)

        def __reduce_ex__(self, protocol: Any) -> Any:
            return reduce_as(plain, self, protocol)

    return live_class(plain, LiveMemory)
