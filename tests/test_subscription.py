"""Subscriptions as a program meets them: delivery, iterators, failures, threads, closing."""

from __future__ import annotations

import asyncio
import gc
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import pytest
import rdflib
from rdflib import RDF, Literal, URIRef
from rdflib.plugins.stores.auditable import AuditableStore

import rdflive
from support.garbage import only_new_garbage
from support.waiting import waiting
from support.worlds import KINDS

EX = "urn:example:"
TRAIN = URIRef(EX + "Train")
QUERY = f"SELECT ?t {{ ?t a <{TRAIN}> }}"


def node(name: str) -> URIRef:
    return URIRef(EX + name)


@pytest.fixture
def graph() -> rdflib.Graph:
    graph = rdflib.Graph()
    graph.bind("ex", EX)
    graph.add((node("ic1"), RDF.type, TRAIN))
    return graph


def names(solutions: Any) -> list[str]:
    return sorted(str(solution.t).removeprefix(EX) for solution in solutions)


def test_first_delta_holds_the_current_answers(graph: rdflib.Graph) -> None:
    """It is marked initial, also when it is empty; what a thread writes it tells before the write returns."""
    deltas: list[rdflive.Delta] = []
    seen: list[tuple[int, list[str]]] = []
    rdflive.subscribe(graph, QUERY, deltas.append)
    rdflive.subscribe(graph, "ASK { ?s ex:nowhere ?o }", deltas.append)
    rdflive.subscribe(
        graph, QUERY, lambda d: seen.append((threading.get_ident(), names(d.added))), initial=False
    )
    assert [delta.initial for delta in deltas] == [True, True]
    assert names(deltas[0].added) == ["ic1"]
    assert deltas[1].answer is False
    graph.add((node("ic2"), RDF.type, TRAIN))
    assert seen == [(threading.get_ident(), ["ic2"])]


def test_changes_without_effect_are_not_told(graph: rdflib.Graph) -> None:
    """Adding what is there, removing what is not, and changes that cancel in a batch; batches nest."""
    deltas: list[rdflive.Delta] = []
    rdflive.subscribe(graph, QUERY, deltas.append, initial=False)
    graph.add((node("ic1"), RDF.type, TRAIN))
    graph.remove((node("ic9"), RDF.type, TRAIN))
    with rdflive.batch(graph):
        graph.add((node("ic2"), RDF.type, TRAIN))
        graph.remove((node("ic2"), RDF.type, TRAIN))
        graph.remove((node("ic1"), RDF.type, TRAIN))
        with rdflive.batch(graph):
            graph.add((node("ic1"), RDF.type, TRAIN))
    assert deltas == []


def test_prefixes_and_bindings_are_those_of_graph_query(graph: rdflib.Graph) -> None:
    """Prefixes bound on the graph, beside those of initNs, and initBindings work as in Graph.query."""
    graph.add((node("ic1"), node("line"), Literal("S5")))
    bound = {"l": Literal("S5")}
    text = "SELECT ?t ?l { ?t ex:line ?l ; a ex:Train }"
    assert [s.asdict() for s in rdflive.subscribe(graph, text, initBindings=bound).answers()] == [
        {str(name): term for name, term in row.asdict().items()}
        for row in graph.query(text, initBindings=bound)
    ]
    graph.add((node("ic1"), URIRef("urn:v:line"), Literal(1)))
    assert rdflive.subscribe(graph, "ASK { ?t a ex:Train ; v:line ?l }", initNs={"v": "urn:v:"}).answers()


def test_failing_callback_changes_nothing_else(graph: rdflib.Graph, caplog: pytest.LogCaptureFixture) -> None:
    """The error is logged and kept, or told to on_error, whose own is logged; others are served."""
    others: list[rdflive.Delta] = []
    told: list[Any] = []

    def tell(subscription: Any, error: Exception) -> None:
        told.append((subscription.name, type(error)))
        raise ValueError("again")

    failing = rdflive.subscribe(graph, QUERY, lambda delta: 1 / 0, name="trains")
    rdflive.subscribe(graph, QUERY, lambda delta: 1 / 0, name="n", on_error=tell)
    rdflive.subscribe(graph, QUERY, lambda delta: 1 / 0, on_error="ignore")
    rdflive.subscribe(graph, QUERY, others.append, initial=False)
    graph.add((node("ic2"), RDF.type, TRAIN))
    assert (node("ic2"), RDF.type, TRAIN) in graph
    assert isinstance(failing.last_error, ZeroDivisionError)
    assert told == [("n", ZeroDivisionError)] * 2
    assert "trains" in caplog.text
    assert "on_error" in caplog.text
    assert len(others) == 1


def test_keyboard_interrupt_in_a_callback_loses_nothing(graph: rdflib.Graph) -> None:
    """An interrupt stops the delivery; what is queued arrives with the next write."""
    seen: list[list[str]] = []

    def interrupt(delta: rdflive.Delta) -> None:
        if names(delta.added) == ["ic2"]:
            raise KeyboardInterrupt

    rdflive.subscribe(graph, QUERY, interrupt)
    rdflive.subscribe(graph, QUERY, lambda d: seen.append(names(d.added)), initial=False)
    with pytest.raises(KeyboardInterrupt):
        graph.add((node("ic2"), RDF.type, TRAIN))
    graph.add((node("ic3"), RDF.type, TRAIN))
    assert seen == [["ic2"], ["ic3"]]


def test_equal_subscriptions_are_told_of_a_commit_by_one_delta(graph: rdflib.Graph) -> None:
    """Each is told once, whatever others do with it; one with an iterator or other prefixes has its own."""
    told: dict[str, list[rdflive.Delta]] = {name: [] for name in "abcdef"}
    plan = {"b": ZeroDivisionError, "c": KeyboardInterrupt}

    def opened(name: str, **options: Any) -> rdflive.Subscription:
        def take(delta: rdflive.Delta) -> None:
            told[name].append(delta)
            if len(told[name]) < 3 and name in plan:
                raise plan[name]

        return rdflive.subscribe(graph, QUERY, take, initial=False, on_error="ignore", **options)

    subscriptions = {name: opened(name) for name in "abcde"}
    subscriptions["f"] = opened("f", initNs={"other": EX})
    deltas = subscriptions["e"].deltas(timeout=0)
    assert len(subscriptions["a"]._live().queries) == 1
    for number in range(2, 6):
        try:
            graph.add((node(f"ic{number}"), RDF.type, TRAIN))
        except KeyboardInterrupt:
            assert number in (2, 3)
    for name in "abdef":
        assert [names(delta.added) for delta in told[name]] == [["ic2"], ["ic3"], ["ic4"], ["ic5"]], name
    # what it has taken of the first two is not known, so it is told the whole answer behind each
    assert [delta.initial for delta in told["c"]] == [False, True, True, False, False]
    last = [told[name][-1] for name in "abcdef"]
    assert len({id(delta) for delta in last}) == 3
    assert "other" in last[5].prefixes
    assert "other" not in last[0].prefixes
    assert [names(next(deltas).added) for _ in range(4)] == [["ic2"], ["ic3"], ["ic4"], ["ic5"]]
    counted = {name: subscription.stats.deltas for name, subscription in subscriptions.items()}
    assert counted == {name: len(deltas) for name, deltas in told.items()}


def test_a_timeout_does_not_end_an_iterator(graph: rdflib.Graph) -> None:
    """What happens before the first deltas() waits for it; after a TimeoutError it goes on."""
    subscription = rdflive.subscribe(graph, QUERY, initial=False)
    graph.add((node("ic2"), RDF.type, TRAIN))
    deltas = subscription.deltas(timeout=0.01)
    assert names(next(deltas).added) == ["ic2"]
    with pytest.raises(TimeoutError, match=r"0\.01"):
        next(deltas)
    graph.add((node("ic3"), RDF.type, TRAIN))
    assert names(next(deltas).added) == ["ic3"]


def test_iterators_beside_a_callback_start_with_the_current_answers(graph: rdflib.Graph) -> None:
    """The first one begins with an initial delta, from which on deltas are queued."""
    subscription = rdflive.subscribe(graph, QUERY, lambda delta: None)
    graph.add((node("ic2"), RDF.type, TRAIN))
    first = next(subscription.deltas(timeout=5))
    assert (first.initial, names(first.added)) == (True, ["ic1", "ic2"])


def test_closing_an_iterator_ends_a_wait_in_another_thread(graph: rdflib.Graph) -> None:
    """A closed iterator is at its end, also for who waits; others go on with what waits."""
    with rdflive.subscribe(graph, QUERY) as subscription:
        deltas, other = subscription.deltas(), subscription.deltas(timeout=5)
        assert next(deltas).initial
        with waiting(deltas) as told:
            deltas.close()
        graph.add((node("ic2"), RDF.type, TRAIN))
        deltas.close()
        assert (told, list(deltas)) == ([], [])
        assert names(next(other).added) == ["ic2"]
        graph.add((node("ic3"), RDF.type, TRAIN))
        other.close()
        assert list(other) == []
        assert names(subscription.next(timeout=0).added) == ["ic3"]


def test_async_iteration(graph: rdflib.Graph) -> None:
    """`async for` gets deltas written by another thread, and ends when its iterator or all is closed."""

    async def consume() -> list[str]:
        seen: list[str] = []
        subscription = rdflive.subscribe(graph, QUERY)
        writer = threading.Timer(0.02, lambda: graph.add((node("ic2"), RDF.type, TRAIN)))
        writer.start()
        async for delta in subscription:
            seen.extend(names(delta.added))
            if "ic2" in seen:
                deltas = aiter(subscription)
                task = asyncio.create_task(anext(deltas, None))
                await asyncio.sleep(0)
                deltas.close()
                assert await task is None
                subscription.close()
        writer.join()
        return seen

    assert asyncio.run(asyncio.wait_for(consume(), 10)) == ["ic1", "ic2"]


@only_new_garbage()
def test_close_frees_everything(graph: rdflib.Graph) -> None:
    """After close nothing of the subscription is alive, and the store is as it was."""
    plain = type(graph.store)
    subscription = rdflive.subscribe(graph, "SELECT * { ?a ?p ?b . ?b ?q ?c }", lambda delta: None)
    engine = weakref.ref(subscription._state)
    assert "open" in repr(subscription)
    subscription.close()
    subscription.close()
    assert "closed" in repr(subscription)
    assert (type(graph.store), subscription.closed) == (plain, True)
    for use in (subscription.answers, lambda: subscription.stats, subscription.deltas, subscription.resync):
        with pytest.raises(rdflive.ClosedError, match="subscribe again"):
            use()
    del use
    gc.collect()
    assert engine() is None


def test_closing_in_a_callback_drops_what_is_queued(graph: rdflib.Graph) -> None:
    """A delta of the same commit that has not been handed out is not, nor is one of a later commit."""
    seen: list[rdflive.Delta] = []
    opened: list[rdflive.Subscription] = []
    rdflive.subscribe(graph, QUERY, lambda delta: [one.close() for one in opened])
    opened.append(rdflive.subscribe(graph, QUERY, seen.append, initial=False))
    graph.add((node("ic2"), RDF.type, TRAIN))
    assert (seen, opened[0].closed) == ([], True)
    own = rdflive.subscribe(graph, QUERY, lambda delta: (seen.append(delta), own.close()), initial=False)
    graph.add((node("ic3"), RDF.type, TRAIN))
    graph.add((node("ic4"), RDF.type, TRAIN))
    assert len(seen) == 1


def test_an_iterator_opened_in_a_callback_counts_nothing_twice(graph: rdflib.Graph) -> None:
    """What is queued for its subscription is in its first delta already; the next commit comes next."""
    opened: list[Any] = []

    def open_once(delta: rdflive.Delta) -> None:
        if not opened:
            opened.append(followed.deltas(timeout=0))

    rdflive.subscribe(graph, QUERY, open_once, initial=False)
    followed = rdflive.subscribe(graph, QUERY, lambda delta: None)
    graph.add((node("ic2"), RDF.type, TRAIN))
    (deltas,) = opened
    first = next(deltas)
    assert (first.initial, first.first_sequence, names(first.added)) == (True, 1, ["ic1", "ic2"])
    graph.add((node("ic3"), RDF.type, TRAIN))
    assert names(next(deltas).added) == ["ic3"]


def test_subscribing_inside_a_batch_is_exact(graph: rdflib.Graph) -> None:
    """A subscription made inside a batch starts from the last commit and gets the batch as a delta."""
    deltas: list[rdflive.Delta] = []
    rdflive.subscribe(graph, QUERY)
    with rdflive.batch(graph):
        graph.add((node("ic2"), RDF.type, TRAIN))
        graph.remove((node("ic1"), RDF.type, TRAIN))
        late = rdflive.subscribe(graph, QUERY, deltas.append)
        first = rdflive.subscribe(graph, "SELECT ?t { ?t a ?c }")  # no other query keeps its pattern
        assert names(late.answers()) == names(first.answers()) == ["ic1"]
    assert [(names(d.added), names(d.removed)) for d in deltas] == [(["ic1"], []), (["ic2"], ["ic1"])]
    assert names(late.answers()) == names(first.answers()) == ["ic2"]


def test_resync_sends_the_answers_again(graph: rdflib.Graph) -> None:
    """After unseen writes every subscription on the graph gets an initial delta, an empty one too."""
    deltas: list[rdflive.Delta] = []
    join = rdflive.subscribe(graph, "SELECT ?t { ?t a ?c . ?t ex:line ?l }", deltas.append)
    rdflive.subscribe(graph, QUERY, deltas.append)
    deltas.clear()
    store: Any = graph.store
    for triple in ((node("ic2"), RDF.type, TRAIN), (node("ic2"), node("line"), Literal(5))):
        type(store).__bases__[0].add(store, triple, graph)
    join.resync()
    assert [(d.initial, names(d.added)) for d in deltas] == [(True, ["ic2"]), (True, ["ic1", "ic2"])]
    graph.remove((node("ic2"), None, None))
    assert names(deltas[2].removed) == ["ic2"]
    assert join.stats.entries == 1  # the neighbour of ic1
    deltas.clear()
    type(store).__bases__[0].remove(store, (None, None, None), graph)
    join.resync()
    assert {(delta.initial, len(delta.added)) for delta in deltas} == {(True, 0)}


def test_stats_count(graph: rdflib.Graph) -> None:
    """stats names what runs and counts updates, matches, deltas, entries, bytes and time."""
    subscription = rdflive.subscribe(
        graph, "SELECT * { ?t a ?c ; ex:line ?l . ?x ex:y ex:z }", lambda delta: None
    )
    graph.add((node("ic1"), node("line"), Literal(5)))
    graph.add((node("x"), node("y"), node("z")))
    graph.add((node("no"), node("match"), node("here")))
    stats = subscription.stats
    assert stats.algorithms[0] == "product"
    assert sorted(stats.algorithms[1:]) == ["connected", "star"]
    assert (stats.updates, stats.matched, stats.deltas) == (3, 2, 2)
    assert stats.entries > 0
    assert stats.size > 0
    assert 0 < stats.seconds < 5
    assert 0 < stats.callback_seconds < 5


def test_install_gives_graphs_the_methods() -> None:
    """install() adds the methods to every rdflib graph; LiveGraph and LiveDataset have them built in."""
    rdflive.install()
    try:
        for graph in (rdflib.Graph(), rdflive.LiveGraph(), rdflive.LiveDataset(), rdflib.Dataset()):
            with graph.subscribe("ASK { ?s ?p ?o }", lambda delta: None) as subscription, graph.batch():
                graph.add((node("a"), node("b"), node("c")))
            assert subscription.closed
    finally:
        del rdflib.Graph.subscribe, rdflib.Graph.batch


def test_unwatchable_graphs_are_refused(graph: rdflib.Graph) -> None:
    """Stores that others can write unseen, aggregates, formulas and what is no graph are refused by name."""
    with pytest.raises(TypeError, match="callable"):
        rdflive.subscribe(graph, QUERY, 3)
    with pytest.raises(ValueError, match="on_error"):
        rdflive.subscribe(graph, QUERY, on_error="shout")
    formula = rdflib.graph.QuotedGraph(rdflib.Graph().store, node("f"))
    for refused, says in (
        (None, "no adapter can watch"),
        ("graph", "no adapter can watch"),
        (rdflib.Graph("SPARQLUpdateStore"), "endpoint"),
        (rdflib.graph.ReadOnlyGraphAggregate([rdflib.Graph()]), "ReadOnlyGraphAggregate"),
        (formula, "QuotedGraph"),
    ):
        with pytest.raises(rdflive.UnsupportedStoreError, match=says):
            rdflive.subscribe(refused, QUERY)
    assert type(formula.store).__name__ == "Memory"


def test_subscribing_in_a_batch_cannot_deadlock_with_a_delivery(graph: rdflib.Graph) -> None:
    """What is queued inside a batch is delivered after it, when other threads' callbacks can write."""
    started, seen = threading.Event(), []

    def slow(delta: rdflive.Delta) -> None:
        if delta.sequence == 1:
            started.set()
            time.sleep(0.05)
            graph.add((node("x"), node("y"), node("z")))

    rdflive.subscribe(graph, QUERY, slow, initial=False)
    writer = threading.Thread(target=graph.add, args=((node("ic2"), RDF.type, TRAIN),))
    writer.start()
    started.wait(5)
    with rdflive.batch(graph):
        rdflive.subscribe(graph, QUERY, lambda delta: seen.append(delta.initial))
        graph.add((node("ic3"), RDF.type, TRAIN))
        assert seen == []
    writer.join(5)
    assert not writer.is_alive()
    assert seen == [True, False]


def test_subscribing_and_closing_in_many_threads_loses_nothing(graph: rdflib.Graph) -> None:
    """While threads subscribe, write and close, every open subscription sees every write."""
    missing: list[str] = []

    def work(part: int) -> None:
        for i in range(20):
            seen: set[str] = set()
            with rdflive.subscribe(graph, QUERY, lambda d, seen=seen: seen.update(names(d.added))):
                graph.add((node(f"t{part}-{i}"), RDF.type, TRAIN))
            if f"t{part}-{i}" not in seen:
                missing.append(f"t{part}-{i}")

    threads = [threading.Thread(target=work, args=(part,)) for part in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert missing == []
    assert len(graph) == 81
    assert type(graph.store).__name__ == "Memory"


@pytest.mark.parametrize("store", ["default", "SimpleMemory", "Oxigraph"])
def test_a_write_that_waits_while_subscriptions_change_hands_is_seen(store: str) -> None:
    """A write that waits for the lock reaches the subscriptions open when it gets the lock."""
    if store == "Oxigraph":
        pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    graph = rdflib.Graph(store)
    old = rdflive.subscribe(graph, QUERY)
    seen: list[str] = []
    with old._capture.lock:
        writer = threading.Thread(target=graph.add, args=((node("ic1"), RDF.type, TRAIN),))
        writer.start()
        time.sleep(0.05)
        old.close()
        rdflive.subscribe(graph, QUERY, lambda delta: seen.extend(names(delta.added)))
    writer.join(5)
    assert seen == ["ic1"]


def test_two_graphs_whose_callbacks_write_to_each_other_do_not_wait_for_each_other() -> None:
    """Mirroring both ways between two stores from two threads ends, and every delta arrives."""
    left, right = rdflib.Graph(), rdflib.Graph()
    barrier = threading.Barrier(2)
    came: dict[str, list[str]] = {"left": [], "right": []}

    def mirror(side: str, other: rdflib.Graph) -> Any:
        def copy(delta: rdflive.Delta) -> None:
            came[side] += names(delta.added)
            if names(delta.added) == [side]:
                barrier.wait(5)
            for solution in delta.added:
                other.add((solution.t, RDF.type, TRAIN))

        return copy

    rdflive.subscribe(left, QUERY, mirror("left", right), initial=False)
    rdflive.subscribe(right, QUERY, mirror("right", left), initial=False)
    threads = [
        threading.Thread(target=graph.add, args=((node(name), RDF.type, TRAIN),), daemon=True)
        for name, graph in (("left", left), ("right", right))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(5)
    assert not any(thread.is_alive() for thread in threads)
    both = ["left", "right"]
    assert {side: sorted(seen) for side, seen in came.items()} == {"left": both, "right": both}


def test_a_wrapper_is_hooked_again_after_its_inner_store_was() -> None:
    """An AuditableStore and the store inside it can be watched and closed in any order."""
    inner = rdflib.Graph()
    outer = rdflib.Graph(AuditableStore(inner.store), inner.identifier)
    first, second = rdflive.subscribe(outer, QUERY), rdflive.subscribe(inner, QUERY)
    first.close()
    second.close()
    seen: list[str] = []
    with rdflive.subscribe(outer, QUERY, lambda delta: seen.extend(names(delta.added))):
        outer.add((node("ic1"), RDF.type, TRAIN))
    assert seen == ["ic1"]


def test_a_closed_event_loop_disturbs_nobody(graph: rdflib.Graph) -> None:
    """A consumer whose loop is gone is forgotten, the write ends well, and what waits is not lost."""
    subscription = rdflive.subscribe(graph, QUERY, initial=False)

    async def wait() -> None:
        async for _ in subscription:
            pass

    loop = asyncio.new_event_loop()
    task = loop.create_task(wait())
    loop.run_until_complete(asyncio.sleep(0.01))
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    loop.close()
    seen: list[str] = []
    rdflive.subscribe(graph, QUERY, lambda delta: seen.extend(names(delta.added)), initial=False)
    graph.add((node("ic2"), RDF.type, TRAIN))
    assert seen == ["ic2"]
    task.get_coro().close()
    assert names(subscription.next(timeout=0).added) == ["ic2"]


@pytest.mark.parametrize("is_known", [False, True], ids=["new", "watched before"])
@pytest.mark.parametrize("kind", ["graph", "dataset", "oxigraph dataset"])
@only_new_garbage()
def test_a_graph_that_is_dropped_takes_its_subscriptions_with_it(kind: str, is_known: bool) -> None:
    """An open subscription does not keep the store alive."""
    graph = KINDS[kind]()
    if is_known:
        with rdflive.batch(graph):
            pass
    rdflive.subscribe(graph, "SELECT ?s { ?s ?p ?o }", lambda delta: None)
    graph.add((rdflib.URIRef("urn:a"), rdflib.URIRef("urn:b"), rdflib.URIRef("urn:c")))
    store = weakref.ref(graph.store)
    del graph
    gc.collect()
    assert store() is None


def test_a_store_on_disk_is_free_when_it_is_closed(tmp_path: Path) -> None:
    """Nothing of a closed subscription holds the directory, also before garbage is collected."""
    gc.disable()
    try:
        for _ in range(2):
            dataset = KINDS["oxigraph dataset"]()
            dataset.open(str(tmp_path))
            subscription = rdflive.subscribe(dataset, "SELECT ?s { ?s ?p ?o }", lambda delta: None)
            subscription.close()
            dataset.close()
    finally:
        gc.enable()
