"""The log of a dataset's changes adds up to the dataset, within its bounds, for readers at any place."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import BNode, Literal, URIRef
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID

import rdflive
from rdflive.feeds import read_entries, to_lines
from rdflive.feeds.rdf_patch import RDF_PATCH
from rdflive.server.change_log import CommitLog
from rdflive.server.failures import Problem
from support.effort import examples

DATASETS: dict[str, Callable[[], rdflib.Dataset]] = {
    "Memory": rdflib.Dataset,
    "Oxigraph": lambda: rdflib.Dataset(store="Oxigraph"),
}
NODES = [URIRef("http://e/a"), URIRef("http://e/ö"), BNode("b0"), BNode("x.y")]
OBJECTS = [
    *NODES,
    Literal('"quoted"\n\\ and \u2028 \x85 \x0b'),
    Literal("colour", lang="en-GB"),
    Literal("07", datatype=URIRef("http://e/code")),
    Literal(7),
]
GRAPHS = [None, URIRef("http://e/g"), BNode("g")]
QUADS = [
    (s, URIRef("http://e/p"), o, g)
    for i, s in enumerate(NODES)
    for j, o in enumerate(OBJECTS)
    for k, g in enumerate(GRAPHS)
    if (i + j + k) % 4 == 0
]


@contextmanager
def logged(dataset: rdflib.Dataset, **bounds: int) -> Iterator[CommitLog]:
    log = CommitLog(dataset, **bounds)
    try:
        yield log
    finally:
        log.close()


def turn(dataset: rdflib.Dataset, numbers: Iterable[int]) -> None:
    """Add the quads that are not there, remove those that are, in one commit."""
    with rdflive.batch(dataset):
        for number in numbers:
            s, p, o, name = QUADS[number % len(QUADS)]
            graph = dataset.default_graph if name is None else dataset.graph(name)
            if (s, p, o) in graph:
                graph.remove((s, p, o))
            else:
                graph.add((s, p, o))


def state(dataset: rdflib.Dataset) -> set[Any]:
    """What the dataset holds, read without the log; the default graph is None."""
    return {(s, p, plain(o), None if g == DATASET_DEFAULT_GRAPH_ID else g) for s, p, o, g in dataset.quads()}


def plain(term: Any) -> Any:
    """Oxigraph gives strings their datatype, and rdflib takes them for others then."""
    is_typed = isinstance(term, Literal) and term.datatype == rdflib.XSD.string
    return Literal(str(term)) if is_typed else term


def apply(quads: set[Any], text: str) -> None:
    """Apply transactions to a set of quads; each change must be one."""
    for entry in read_entries(RDF_PATCH, to_lines(io.BytesIO(text.encode()), "log"), "log"):
        assert entry.error is None
        for sign, quad in entry.batch.changes:
            assert (tuple(quad) in quads) == (sign < 0)
            (quads.add if sign > 0 else quads.remove)(tuple(quad))


@pytest.mark.parametrize("kind", DATASETS)
@given(
    steps=st.lists(st.lists(st.integers(0, len(QUADS) - 1), max_size=4, unique=True), max_size=12),
    reads=st.lists(st.booleans(), min_size=12, max_size=12),
    entries=st.integers(1, 5),
    size=st.integers(1, 1500),
)
@settings(max_examples=examples(60))
def test_log_adds_up_to_the_dataset(
    kind: str, steps: list[list[int]], reads: list[bool], entries: int, size: int
) -> None:
    """A reader that reads now and then has the dataset in the end; 410 occurs exactly if commits are lost."""
    dataset = DATASETS[kind]()
    turn(dataset, range(7))
    with logged(dataset, entries=entries, size=size) as log:
        seen, place, unread = state(dataset), log.last, 0
        for step, is_read in zip(steps, reads, strict=False):
            turn(dataset, step)
            unread += bool(step)
            assert sum(commit.size for commit in log.behind(None)) <= size
            assert len(log.behind(None)) <= entries
            if not is_read:
                continue
            if unread > len(log.behind(None)):
                with pytest.raises(Problem) as caught:
                    log.place(log.id(place))
                assert caught.value.status == 410
                seen = state(dataset)
            else:
                commits = log.behind(log.place(log.id(place)))
                assert len(commits) == unread
                apply(seen, "".join(map(log.text, commits)))
            place, unread = log.last, 0
            assert seen == state(dataset)


def test_log_sees_every_writer_of_its_store_and_no_other() -> None:
    """Commits of other threads and behind closed subscriptions are there, those of other stores are not.

    Nor is what is written before the log and after its end; then the store is left alone.
    """
    dataset, other = rdflib.Dataset(), rdflib.Dataset()
    turn(dataset, [3])
    with logged(dataset) as log, logged(other) as others:
        assert log.behind(None) == []
        with rdflive.subscribe(dataset, "SELECT * { ?s ?p ?o }"):
            turn(dataset, [0])
        turn(other, [1])
        writer = threading.Thread(target=turn, args=(dataset, [2]))
        writer.start()
        writer.join()
        assert [len(one.behind(None)) for one in (log, others)] == [2, 1]
    log.close()
    turn(dataset, [2])
    assert log.behind(None) == []
    with rdflive.plugins.manager.locked(dataset.store) as adapter:
        assert adapter.capture.idle


def test_log_keeps_as_much_as_fits_whatever_it_has_dropped() -> None:
    """The room of commits that are gone is free for later ones."""
    dataset = rdflib.Dataset()
    with logged(dataset, size=2000) as log:
        for _ in range(30):
            turn(dataset, [0])
        sizes = [commit.size for commit in log.behind(None)]
        assert sum(sizes) <= 2000 < sum(sizes) + sizes[0]


def test_log_knows_no_other_ids_than_its_own() -> None:
    """An id of another run, of the future or of nothing is answered with 410 and the way out."""
    dataset = rdflib.Dataset()
    with logged(dataset) as log, logged(dataset) as other:
        assert log.last == other.last
        epoch = log.id(0).partition("-")[2]
        strange = ["", "7", "0-00000000", "x-{}", "99-{}", "-1-{}", "٣-{}", other.id(other.last)]
        for name in strange:
            with pytest.raises(Problem, match="read the dataset again") as caught:
                log.place(name.format(epoch))
            assert caught.value.status == 410


@pytest.mark.parametrize("kind", DATASETS)
def test_commit_that_no_line_can_hold_is_told_as_a_gap(kind: str) -> None:
    """A commit with an unwritable term is 410 for readers before it; later ones are written."""
    dataset = DATASETS[kind]()
    with logged(dataset) as log:
        if kind == "Memory":
            dataset.graph(URIRef("http://e/g")).add(
                (URIRef("http://e/a"), URIRef("http://e/p"), URIRef("a b"))
            )
        else:
            dataset.update("INSERT DATA { <urn:a> <urn:p> <<( <urn:b> <urn:p> <urn:c> )>> }")
        turn(dataset, [0])
        start = log.place(log.id(log.last - 2))
        with pytest.raises(Problem, match="cannot be written as RDF Patch"):
            [log.text(commit) for commit in log.behind(start)]
        with pytest.raises(Problem, match="no longer kept"):
            log.behind(start)
        assert [log.text(commit)[:5] for commit in log.behind(start + 1)] == ["TX .\n"]


def test_waiting_ends_with_a_commit_the_time_or_the_log() -> None:
    """The writing thread wakes each waiting reader once; `close` wakes all."""
    dataset = rdflib.Dataset()

    async def wait(log: CommitLog) -> list[bool]:
        assert not await log.wait(log.last, 0.001)
        assert await log.wait(log.last - 1, 60)
        many = [asyncio.create_task(log.wait(log.last, 60)) for _ in range(3)]
        await asyncio.sleep(0)
        await asyncio.to_thread(turn, dataset, [1])
        woken = await asyncio.gather(*many)
        late = asyncio.create_task(log.wait(log.last, 60))
        await asyncio.sleep(0)
        await asyncio.to_thread(log.close)
        return [*woken, await late, await log.wait(log.last, 60)]

    with logged(dataset) as log:
        turn(dataset, [0])
        assert asyncio.run(wait(log)) == [True] * 5
