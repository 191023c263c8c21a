"""The contract test-suite for adapters of rdflib stores: subclass `AdapterContract` and run pytest.

    class TestMyStore(AdapterContract):
        def make_store(self):
            return MyStore()

Every operation runs on a watched store and on an unwatched twin. The deltas of the watched store (of each
graph, of the union, and of all quads) must equal the difference between its content before and after. An
operation that is one commit must produce one. Both stores must end with the same outcome, also for a failing
operation.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import rdflib
from rdflib.store import Store

from rdflive.api.live import batch, subscribe
from rdflive.model import Delta
from rdflive.plugins import manager
from rdflive.testing.operations import (
    DATASET_OPERATIONS,
    GRAPH_OPERATIONS,
    NAMES,
    Operation,
    World,
    term,
)
from rdflive.testing.quads import QuadWatch, check_named_graphs, check_patterns, check_snapshot
from rdflive.testing.writes import (
    check_failures,
    check_kept,
    check_places,
    check_threads,
    check_writes,
)

__all__ = ["AdapterContract", "Watch", "check_fuzz", "check_operation"]

Content = Counter[tuple[Any, ...]]


class Watch:
    """Follows the full content of a graph by subscription and compares it with the graph."""

    def __init__(self, graph: rdflib.Graph) -> None:
        self.graph = graph
        self.deltas: list[Delta] = []
        self.content: Content = Counter()
        self.subscription = subscribe(graph, "SELECT ?s ?p ?o { ?s ?p ?o }", self._take)
        # the initial delta belongs to no operation
        self.deltas.clear()

    def _take(self, delta: Delta) -> None:
        self.deltas.append(delta)
        for solution, weight in delta.weights().items():
            row = (solution.s, solution.p, solution.o)
            # a graph holds a triple once: only an absent one can be added, only a present one removed
            if weight != (1 if not self.content[row] else -1):
                raise AssertionError(f"{row} has weight {weight} on top of {self.content[row]}")
            self.content[row] += weight
        # without counts of zero
        self.content = +self.content

    @property
    def changed(self) -> bool:
        """True after changes since the last check."""
        return bool(self.deltas)

    def close(self) -> None:
        """Stop following."""
        self.subscription.close()

    def check(self, commits: int | None) -> None:
        """Compare the sum of the deltas with the graph, and discard the deltas."""
        if self.subscription.last_error is not None:
            raise self.subscription.last_error
        # a set, because a store may list a triple of the union once per graph
        held = Counter(set(self.graph.triples((None, None, None))))
        if self.content != held:
            raise AssertionError(
                f"{_label(self.graph)}: the deltas lack {held - self.content} "
                f"and have {self.content - held} too many"
            )
        # fewer are correct too: an operation may change nothing
        if commits is not None and len(self.deltas) > commits:
            raise AssertionError(
                f"{_label(self.graph)}: {len(self.deltas)} deltas for one commit: {self.deltas}"
            )
        self.deltas.clear()


def _label(graph: rdflib.Graph) -> str:
    return "the union" if isinstance(graph, rdflib.Dataset) else f"graph {graph.identifier}"


def _watch(world: World, *, union: bool = True, quads: bool = True) -> list[Watch | QuadWatch]:
    """Watch each graph, and optionally the union and the quads: the listeners change the recording."""
    graphs = world.views()
    if not union and world.graph_aware:
        # the union, see `World.views`
        graphs.pop()
    return [*map(Watch, graphs), *([QuadWatch(world)] if quads else ())]


def _run(operation: Operation, world: World) -> type[BaseException] | None:
    try:
        operation.run(world)
    except Exception as error:  # noqa: BLE001 - both stores must raise the same error
        return type(error)
    return None


def check_operation(make_store: Callable[[], Store], operation: Operation) -> None:
    """Check one operation on a prepared store: exact deltas, one commit, and the outcome of its twin.

    Runs once with all kinds of listeners, and once with listeners to single graphs only.
    """
    for listening in (True, False):
        _check_operation(make_store, operation, listening)


def _check_operation(make_store: Callable[[], Store], operation: Operation, listening: bool) -> None:
    world, twin = World(make_store()), World(make_store())
    world.prepare()
    twin.prepare()
    watches = _watch(world, union=listening, quads=listening)
    for _ in range(2):  # the second run starts from the result of the first
        outcome, expected = _run(operation, world), _run(operation, twin)
        if outcome is not expected:
            raise AssertionError(f"{operation.name}: {outcome} on a watched store, {expected} otherwise")
        for watch in watches:
            watch.check(1 if operation.one_commit else None)
        for mine, other in zip(world.views(), twin.views(), strict=True):
            # by number only: `[]` in an update creates other blank nodes in the twin
            if len(mine) != len(other):
                raise AssertionError(
                    f"{operation.name}: {len(mine)} triples in {_label(mine)}, {len(other)} in its twin"
                )
    for watch in watches:
        watch.close()


def check_fuzz(make_store: Callable[[], Store], *, sequences: int, length: int = 25, seed: int = 0) -> float:
    """Check random sequences of operations; return the share of operations with a change."""
    operations = GRAPH_OPERATIONS
    if make_store().graph_aware:
        operations += DATASET_OPERATIONS
    changing = 0
    for number in range(sequences):
        choice = random.Random(f"{seed}-{number}")  # noqa: S311 - a seeded test
        world = World(make_store(), choice)
        # all four combinations of listeners, in turn
        watches = _watch(world, union=number % 2 == 0, quads=number % 4 < 2)
        for operation in choice.choices(operations, k=length):
            _run(operation, world)
            changing += any(watch.changed for watch in watches)
            for watch in watches:
                watch.check(1 if operation.one_commit else None)
        for watch in watches:
            watch.close()
    return changing / (sequences * length)


class AdapterContract:
    """Tests for a store that an adapter watches; `make_store` returns an empty store."""

    sequences: ClassVar[int] = 40
    """Number of random sequences, of 25 operations each, in `test_random_sequences`."""

    def make_store(self) -> Store:
        """Return an empty store of the kind under test."""
        raise NotImplementedError("return an empty store of the kind under test")

    def test_random_sequences(self) -> None:
        """Random sequences of operations cause exact deltas; 30 % of the operations must change data."""
        share = check_fuzz(self.make_store, sequences=self.sequences)
        if share < 0.3:
            raise AssertionError(f"only {share:.0%} of the operations changed anything")

    def test_insert_then_delete_returns_to_empty(self) -> None:
        """After the removal of all triples the caches and the answer are empty."""
        world = World(self.make_store())
        with subscribe(world.graph, "SELECT ?s ?o { ?s ?p ?o . ?o ?q ?z }") as subscription:
            world.prepare()
            for graph in world.views():
                graph.remove((None, None, None))
            if subscription.answers() or subscription.stats.entries:
                raise AssertionError(f"left behind: {subscription.answers()}, {subscription.stats}")

    def test_batch_is_one_net_commit(self) -> None:
        """A batch causes one net delta, also when it ends in an exception."""
        world = World(self.make_store())
        watch = Watch(world.graph)
        try:
            with batch(world.graph):
                world.graph.add(term("a p b"))
                world.graph.add(term("a p c"))
                world.graph.remove(term("a p b"))
                raise KeyError("after the changes")
        except KeyError:
            pass
        if [len(delta.weights()) for delta in watch.deltas] != [1]:
            raise AssertionError(f"expected one net delta of one triple, got {watch.deltas}")
        watch.check(1)

    def test_quads_are_those_of_the_graphs(self) -> None:
        """`quads` lists the quads of each graph once, for every pattern."""
        check_patterns(World(self.make_store()))

    def test_named_graphs_are_those_of_a_query(self) -> None:
        """`GRAPH ?g` matches every graph except `default_graph`; a single graph refuses it."""
        check_named_graphs(World(self.make_store()))

    def test_an_open_batch_can_be_taken_back(self) -> None:
        """Inside a batch a snapshot has the quads and triples of the last commit."""
        check_snapshot(World(self.make_store()))

    def test_entries_of_a_feed_are_exact(self) -> None:
        """An entry of a feed has the effect of its single operations, in one commit with its cursor."""
        check_writes(self.make_store, _watch, sequences=max(2, self.sequences // 20))

    def test_an_entry_that_fails_leaves_nothing(self) -> None:
        """An entry that fails half-way changes neither data nor cursor, and reports no change."""
        check_failures(self.make_store, _watch)

    def test_what_is_kept_is_not_seen(self) -> None:
        """A feed reads its kept texts back unchanged, and no query or listener sees them."""
        check_kept(self.make_store)

    def test_entries_join_batches_and_come_from_callbacks(self) -> None:
        """An entry inside a batch is part of its commit; an entry from a callback is its own commit."""
        check_places(self.make_store)

    def test_feeds_write_at_once(self) -> None:
        """Feeds that write concurrently leave data and cursors that match."""
        check_threads(self.make_store, _watch)

    def test_a_watched_store_keeps_its_adapter(self) -> None:
        """A watched store always has the same adapter."""
        store = self.make_store()
        with subscribe(rdflib.Graph(store, NAMES[0]), "ASK { ?s ?p ?o }"):
            first, second = manager.attach(store), manager.attach(store)
            if first is not second:
                raise AssertionError(
                    f"rdflive_attach returned {first} and then {second} for one watched store"
                )

    def test_closing_leaves_no_trace(self) -> None:
        """The last close restores the class and attributes of the store."""
        store = self.make_store()
        graph = rdflib.Graph(store, NAMES[0])
        graph.add(term("a p b"))
        before = (type(store), set(vars(store)))
        first, second = subscribe(graph, "ASK { ?s ?p ?o }"), subscribe(graph, "ASK { ?s ?p ?o }")
        quads = QuadWatch(World(store))
        first.close()
        graph.remove(term("a p b"))
        if second.answers():
            raise AssertionError("closing one subscription stopped another")
        second.close()
        graph.add(term("a p b"))
        quads.check(2)
        quads.close()
        if (type(store), set(vars(store))) != before:
            raise AssertionError(f"left on the store: {type(store)}, {set(vars(store)) - before[1]}")

    def test_threads_write_at_once(self) -> None:
        """Threads that write concurrently cause correct deltas, in commit order."""
        world = World(self.make_store())
        watch = Watch(world.graph)
        triples = [term(f"s{i} p o{i % 7}") for i in range(60)]

        def write(part: Iterable[Any]) -> None:
            for triple in part:
                world.graph.add(triple)
                world.graph.remove(triple)
                world.graph.add(triple)

        threads = [threading.Thread(target=write, args=(triples[i::4],)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        sequences = [delta.sequence for delta in watch.deltas]
        if sequences != sorted(sequences):
            raise AssertionError(f"deltas are out of order: {sequences}")
        watch.check(None)


def _add_operation(operation: Operation, *, dataset: bool) -> None:
    def test(self: AdapterContract) -> None:
        if not dataset or self.make_store().graph_aware:
            check_operation(self.make_store, operation)

    test.__doc__ = f"Exact deltas: {operation.name}."
    name = "".join(c if c.isalnum() else "_" for c in operation.name.lower())
    setattr(AdapterContract, f"test_operation_{name}", test)


for _operation in GRAPH_OPERATIONS:
    _add_operation(_operation, dataset=False)
for _operation in DATASET_OPERATIONS:
    _add_operation(_operation, dataset=True)
