"""The classes of rdflib's in-memory stores while they are watched.

Another thread may be inside a method while the store is unhooked. So the methods of a live class call the
plain class by name, and work without an adapter after it is removed.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, partial
from typing import Any, Literal, Protocol

from rdflive.model import Triple
from rdflive.store import OPEN, UNION, WRITING, Capture, Changes, KnownWrite, QuadTerms
from rdflive.store.capture import thread
from rdflive.store.rdflib_graphs import ADAPTER, capture_of_watched, in_batch, live_class, reduce_as

__all__ = ["live_memory", "live_simple_memory"]


class _Adapter(Protocol):
    """The part of `rdflive_stores.rdflib.memory.MemoryAdapter` that a live `Memory` uses."""

    capture: Capture
    names: dict[Any, str | None]

    def name(self, identifier: Any) -> str | None:
        """Return the name of a graph inside `Memory`."""


@cache
def live_simple_memory(plain: Any) -> type[Any]:
    """Return the class of a watched `SimpleMemory`, which records the changes of each operation."""

    def added(store: Any, triple: Triple) -> Changes:
        return {} if next(iter(store.triples(triple)), None) is not None else {(*triple, None): 1}

    def removed(store: Any, pattern: Any) -> Changes:
        return {(*held, None): -1 for held, _ in store.triples(pattern)}

    def write(
        store: Any, foresee: Any, pattern: Any, operation: Any, *arguments: Any, is_single: bool = False
    ) -> None:
        change = partial(operation, store, pattern, *arguments)
        capture = capture_of_watched(store)
        if capture is None:
            change()
        else:
            capture.write(KnownWrite(capture, partial(foresee, store, pattern), change), is_single=is_single)

    class LiveSimpleMemory(plain):  # type: ignore[misc]  # the base is known only at run time
        def add(self, triple: Any, context: Any, quoted: bool = False) -> None:
            write(self, added, triple, plain.add, context, quoted, is_single=True)

        def addN(self, quads: Iterable[Any]) -> None:  # noqa: N802 - rdflib's name
            in_batch(self, plain.addN, self, quads)

        def remove(self, triple: Any, context: Any = None) -> None:
            write(self, removed, triple, plain.remove, context, is_single=None not in triple)

        def __reduce_ex__(self, protocol: Any) -> Any:
            return reduce_as(plain, self, protocol)

    return live_class(plain, LiveSimpleMemory)


@cache
def live_memory(plain: Any) -> type[Any]:
    """Return the class of a watched `Memory`, which records the changes of each graph and of the union.

    `Memory` has a set of triples for each graph, and one for the union under None.
    """

    def added(store: Any, adapter: _Adapter, triple: Triple, context: Any) -> Changes:
        graphs, identifier = store._Memory__contextTriples, getattr(context, "identifier", context)
        changes: dict[QuadTerms, Literal[1, -1]] = {}
        # a triple written without a graph is in the union alone
        if identifier is not None and triple not in graphs.get(adapter.name(identifier), ()):
            changes[*triple, identifier] = 1
        if adapter.capture.wants_union and triple not in graphs[None]:
            changes[*triple, UNION] = 1
        return changes

    def removed(store: Any, adapter: _Adapter, pattern: Any, context: Any) -> Changes:
        changes: dict[QuadTerms, Literal[1, -1]] = {}
        for held, contexts in store.triples(pattern, context):
            for graph in tuple(contexts) if context is None else (context,):
                changes[*held, getattr(graph, "identifier", graph)] = -1
            if adapter.capture.wants_union and (context is None or not is_elsewhere(store, held, context)):
                changes[*held, UNION] = -1
        return changes

    def is_elsewhere(store: Any, triple: Triple, context: Any) -> bool:
        graph = getattr(context, "identifier", context)
        others = (getattr(each, "identifier", each) for each in store.contexts(triple))
        return any(other != graph for other in others)

    class LiveMemory(plain):  # type: ignore[misc]  # the base is known only at run time
        def add(self, triple: Any, context: Any, quoted: bool = False) -> None:
            adapter: _Adapter | None = self.__dict__.get(ADAPTER)
            if adapter is None or quoted:  # a formula's statement is in no graph of a subscription
                plain.add(self, triple, context, quoted)
                return
            capture, batch = adapter.capture, thread.batch
            is_quick = batch is None or batch is capture
            if is_quick:
                # `Capture.write` inlined for one triple, the most frequent write
                with capture.lock:
                    judge, state = capture.judge, capture.state
                    wants_union = UNION in capture.listeners or (judge is not None and judge.wants_union)
                    is_judged = judge is not None and not state & OPEN and judge.wants(triple[1])
                    is_quick = state <= OPEN and (state != 0 or not wants_union) and not is_judged
                    if is_quick:
                        graphs = self._Memory__contextTriples
                        identifier = getattr(context, "identifier", context)
                        name = adapter.names.get(identifier) or adapter.name(identifier)
                        # no `finally`: an interruption must leave the flag, see `Capture`
                        capture.state = state | WRITING
                        own = graphs.get(name, ())
                        held = len(own)
                        union = len(graphs[None]) if wants_union else 0
                        plain.add(self, triple, context)
                        # The set of a graph is created with its first triple. Comparing sizes is the cheapest
                        # exact test.
                        if not held or len(own) != held:
                            s, p, o = triple
                            if identifier is not None:
                                capture.record(1, s, p, o, identifier)
                            if wants_union and len(graphs[None]) != union:
                                capture.record(1, s, p, o, UNION)
                        capture.state &= ~WRITING
                        if not capture.deliveries:
                            return
            if is_quick:
                capture.deliver()
            else:
                write(self, adapter, added, triple, context, plain.add)

        def addN(self, quads: Iterable[Any]) -> None:  # noqa: N802 - rdflib's name
            in_batch(self, plain.addN, self, quads)

        def remove(self, triple: Any, context: Any = None) -> None:
            adapter: _Adapter | None = self.__dict__.get(ADAPTER)
            if adapter is None:
                plain.remove(self, triple, context)
            else:
                write(self, adapter, removed, triple, context, plain.remove)

        def add_graph(self, graph: Any) -> None:
            capture = capture_of_watched(self)
            if capture is None or capture.judge is None:
                plain.add_graph(self, graph)
            else:  # after batches of other threads, whose undoing also restores the names of graphs
                capture.run(plain.add_graph, self, graph)

        def __reduce_ex__(self, protocol: Any) -> Any:
            return reduce_as(plain, self, protocol)

    def write(
        store: Any, adapter: _Adapter, foresee: Any, pattern: Any, context: Any, operation: Any
    ) -> None:
        adapter.capture.write(
            KnownWrite(
                adapter.capture,
                partial(foresee, store, adapter, pattern, context),
                partial(operation, store, pattern, context),
            ),
            is_single=foresee is added or (context is not None and None not in pattern),
        )

    return live_class(plain, LiveMemory)
