"""Checks of adapters that feeds can write to; other adapters are skipped."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import rdflib
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID
from rdflib.store import Store

from rdflive.api.live import batch, subscribe
from rdflive.errors import RdfliveError
from rdflive.model import Delta
from rdflive.testing.entries import ODD, Changes, RandomEntries, Writer
from rdflive.testing.operations import EX, World, term
from rdflive.testing.quads import QuadWatch

__all__ = ["check_failures", "check_kept", "check_places", "check_threads", "check_writes"]


def check_writes(
    make_store: Callable[[], Store], watch: Callable[[World], list[Any]], *, sequences: int
) -> None:
    """Check random entries against the same single operations on an unwatched store."""
    for number in range(sequences):
        writer = Writer.over(make_store)
        twin = Writer(World(make_store()))
        choice = RandomEntries(f"entries {number}", writer)
        watches = watch(writer.world)
        kept: dict[str, str] = {}
        for _ in range(12):
            changes, updates, keep = choice.changes(), choice.updates(), choice.keep()
            writer.write(changes, updates=updates, keep=keep)
            _one_by_one(twin, changes, updates)
            kept = {key: text for key, text in {**kept, **keep}.items() if text is not None}
            if writer.content() != twin.content() or writer.kept() != kept:
                raise AssertionError(
                    f"after {updates}, {changes}, {keep}: {writer.content()}, {writer.kept()}"
                )
            for one in watches:
                one.check(1)
        for one in watches:
            one.close()


def _one_by_one(twin: Writer, changes: Changes, updates: Sequence[str]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # rdflib's engine uses what rdflib deprecates
        for text in updates:
            twin.target.update(text)
    for (triple, name), sign in changes.items():
        if twin.world.dataset is None:
            graph = twin.world.graph
        else:
            graph = rdflib.Graph(twin.world.store, DATASET_DEFAULT_GRAPH_ID if name is None else name)
        (graph.add if sign > 0 else graph.remove)(triple)


def check_failures(make_store: Callable[[], Store], watch: Callable[[World], list[Any]]) -> None:
    """Check that an entry that fails half-way changes nothing, alone or in an open batch."""
    writer = Writer.over(make_store)
    writer.world.prepare()
    writer.write({}, keep={"cursor": "1"})
    watches = watch(writer.world)
    before = writer.content()
    change: Changes = {(term("new p b"), None): 1, (term("a p b"), None): -1}
    impossible: Changes = {(term("new p b"), None): 1, ((term("a p b")[0], None, None), None): -1}
    insert = "INSERT { :new :p :b } WHERE {}"
    entries: list[tuple[Changes, list[str]]] = [
        (impossible, []),
        (impossible, [insert]),
        (change, [insert, "DELETE { ?s ?p ?o } WHERE { ?s ?p ?o } ; INSERT DATA { unfinished"]),
        (change, ["DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }", "CREATE nonsense"]),
        (change, [insert, "LOAD <file:///nowhere.ttl>"]),
        # two texts that form an update only when joined: each must be parsed by itself
        (change, ["INSERT DATA { :a :p '''", "''' }"]),
    ]
    if not writer.can_update():
        del entries[1:]
    for changes, updates in entries:
        error = writer.fail(changes, updates=updates, keep={"cursor": "2"})
        if changes is impossible and not (isinstance(error, RdfliveError) and isinstance(error, ValueError)):
            raise AssertionError(f"an impossible change must raise an error of rdflive, not {error!r}")
        if writer.content() != before or writer.kept() != {"cursor": "1"}:
            raise AssertionError(f"{updates} failed, but left {writer.content()}, {writer.kept()}")
        if any(one.changed for one in watches):
            raise AssertionError(f"{updates} failed, but changes were reported")
    with batch(writer.target):
        writer.world.graph.add(term("kept p b"))
        writer.world.graph.remove(term("b q 1"))
        for changes, updates in entries:
            writer.fail(changes, updates=updates)
    before[0] = before[0] - {term("b q 1")} | {term("kept p b")}
    if writer.content()[0] != before[0]:
        raise AssertionError(f"a failed entry undid what came before it in the batch: {writer.content()}")
    for one in watches:
        one.check(1)
        one.close()


def check_kept(make_store: Callable[[], Store]) -> None:
    """Check that kept texts are read back unchanged, by name and key, and that no reader sees them."""
    writer = Writer.over(make_store)
    writer.world.prepare()
    before = (writer.content(), _seen(writer.world))
    quads = QuadWatch(writer.world)
    for name in ODD:
        writer.write({}, name=name, keep={key: name + key for key in ODD})
    # None removes a key, also one that was never kept
    writer.write({}, name="", keep={"": None, "never kept": None})
    for name in ODD:
        expected = {key: name + key for key in ODD if name or key}
        if writer.kept(name) != expected:
            raise AssertionError(f"{name!r} keeps {writer.kept(name)} instead of {expected}")
    if quads.changed:
        raise AssertionError("listeners received kept texts")
    # again without listeners, when the store has its own class again
    for watched in (True, False):
        if (writer.content(), _seen(writer.world)) != before:
            raise AssertionError(f"readers see kept texts ({watched=}): {_seen(writer.world)}")
        if watched:
            quads.check(None)
            quads.close()
    if writer.kept("cursor")["cursor"] != "cursorcursor":
        raise AssertionError("the kept texts were lost with the last listener")


def _seen(world: World) -> list[Any]:
    """Return the content of a store as several kinds of readers see it."""
    graph = world.graph if world.dataset is None else world.dataset
    seen: list[Any] = [len(graph), set(graph), len(list(world.store.triples((None, None, None))))]
    if world.dataset is not None:
        names = "SELECT ?g (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } } GROUP BY ?g"
        seen += [{context.identifier for context in world.dataset.graphs()}, set(world.dataset.query(names))]
    return seen


def check_places(make_store: Callable[[], Store]) -> None:
    """Check that entries inside a batch and from a callback are part of the right commits, in order."""
    writer = Writer.over(make_store)
    deltas: list[Delta] = []

    def react(delta: Delta) -> None:
        deltas.append(delta)
        if len(deltas) < 4:
            writer.write({(term(f"c{len(deltas)} p b"), None): 1}, keep={"cursor": str(len(deltas))})

    with subscribe(writer.target, "SELECT ?s { ?s ?p ?o }", react, initial=False) as subscription:
        with batch(writer.target):
            writer.write({(term("a p b"), None): 1, (term("a p c"), None): 1}, keep={"cursor": "0"})
            if writer.kept() != {"cursor": "0"} or len(writer.target) != 2:
                raise AssertionError("an entry inside a batch must be visible at once")
            writer.write({(term("a p c"), None): -1})
        if subscription.last_error is not None:
            raise subscription.last_error
    added = [[str(solution.s) for solution in delta.added] for delta in deltas]
    if added != [[EX + name] for name in ("a", "c1", "c2", "c3")] or writer.kept() != {"cursor": "3"}:
        raise AssertionError(f"got {added}, {writer.kept()}")


def check_threads(make_store: Callable[[], Store], watch: Callable[[World], list[Any]]) -> None:
    """Check that threads that write concurrently leave data and cursors that match."""
    writer = Writer.over(make_store)
    watches = watch(writer.world)

    def write(feed: str) -> None:
        for number in range(15):
            changes: Changes = {
                (term(f"{feed} at {number}"), None): 1,
                # leaves one triple per feed, which must match its cursor
                (term(f"{feed} at {number - 1}"), None): -1,
            }
            writer.write(changes, name=feed, keep={"cursor": str(number)})

    threads = [threading.Thread(target=write, args=(feed,)) for feed in "wxyz"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    held = {str(s)[-1]: str(o) for s, _, o in writer.target.triples((None, None, None))}
    kept = {feed: writer.kept(feed)["cursor"] for feed in "wxyz"}
    if held != kept or set(kept.values()) != {"14"}:
        raise AssertionError(f"the data are at {held}, but the cursors at {kept}")
    for one in watches:
        one.check(None)
        one.close()
