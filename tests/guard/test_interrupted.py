"""Ctrl-C at any line of a guarded write: the guard knows what there is, and refuses as before."""

from __future__ import annotations

import gc
import io
import linecache
import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import rdflib
from rdflib import RDF, Literal, Namespace

import rdflive
from interrupts.lines import lines_of, raising_at
from shacl.worlds import result
from support.effort import drawn_from, rounds
from support.shacl import Validator

EX = Namespace("http://e/")
SHAPES = rdflib.Graph().parse(
    data="""
@prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <http://e/> .
:S sh:targetClass :Train ; sh:property [ sh:path :line ; sh:minCount 1 ; sh:maxCount 1 ] .
""",
    format="turtle",
)
TRAINS = "SELECT ?s ?o { ?s <http://e/line> ?o }"
NEVER = "SELECT ?s { ?s <http://e/never> ?o }"


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


class World:
    """A guarded graph of trains, of which one has no line from the beginning, and a subscription."""

    def __init__(self, store: str) -> None:
        self.dataset = rdflib.Dataset(store)
        self.graph = self.dataset.default_graph
        self.graph.add((EX.broken, RDF.type, EX.Train))
        for name in "abc":
            self.graph.add((EX[name], EX.line, EX[f"S{name}"]))
            self.graph.add((EX[name], RDF.type, EX.Train))
        self.told: Counter[Any] = Counter()
        self.guard = rdflive.guard(self.graph, SHAPES)
        self.subscription = rdflive.subscribe(self.graph, TRAINS, self._take)

    def _take(self, delta: rdflive.Delta) -> None:
        if delta.initial:
            self.told.clear()
        self.told.update(delta.added)
        self.told.subtract(delta.removed)

    def results(self) -> Counter[Any]:
        """Validate a copy of the graph."""
        copy = rdflib.Graph()
        for each in self.graph:
            copy.add(each)
        return Validator(copy, SHAPES).results()

    def wrong(self) -> str:
        """Say what is wrong behind writes of another thread and of this one."""
        if not self.refuses(lambda: self.graph.add((EX.y, RDF.type, EX.Train))):
            return "an add that breaks the guard is not refused"
        other = threading.Thread(
            target=self.graph.addN, args=([(EX.z, p, o, self.graph) for p, o in PERMITTED],), daemon=True
        )
        other.start()
        other.join(30)
        if other.is_alive():
            return "another thread cannot write"
        if not self.refuses(lambda: self.graph.remove((EX.z, EX.line, None))):
            return "a removal that breaks the guard is not refused"
        if Counter(map(result, self.guard.answers())) != self.results():
            return "what the guard has"
        rows = Counter((s, o) for s, o in self.graph.subject_objects(EX.line))
        if Counter((each.s, each.o) for each in self.subscription.answers()) != rows:
            return "the answers"
        if Counter({(each.s, each.o): count for each, count in self.told.items() if count}) != rows:
            return "what was told"
        return ""

    @staticmethod
    def refuses(write: Callable[[], object]) -> bool:
        """Tell whether the guard refuses a write."""
        try:
            write()
        except rdflive.ValidationError:
            return True
        return False

    def close(self) -> None:
        """End the guard and the subscription."""
        self.guard.close()
        self.subscription.close()


PERMITTED = ((EX.line, EX.S9), (RDF.type, EX.Train))


def batch(made: World) -> None:
    with rdflive.batch(made.graph):
        made.graph.add((EX.d, RDF.type, EX.Train))
        made.graph.remove((EX.a, EX.line, None))
        made.graph.add((EX.d, EX.line, EX.S2))
        made.graph.add((EX.a, EX.line, EX.S2))


def preview(made: World) -> None:
    with rdflive.preview(made.graph):
        made.graph.add((EX.a, EX.line, EX.S2))


def entry(made: World) -> None:
    lines = (f"A <{EX.e}> <{EX.line}> <{EX.S2}> .", f"D <{EX.c}> <{RDF.type}> <{EX.Train}> .")
    text = "TX .\n" + "\n".join(lines) + "\nTC .\n"
    rdflive.mirror(made.dataset, io.BytesIO(text.encode()), "rdf-patch")


SINGLE: dict[str, Callable[[World], object]] = {
    "an add": lambda made: made.graph.add((EX.d, EX.line, EX.S2)),
    "an add that no shape reads": lambda made: made.graph.add((EX.d, EX.name, Literal("d"))),
    "a removal": lambda made: made.graph.remove((EX.a, RDF.type, None)),
    "a refused add": lambda made: refused(made, lambda: made.graph.add((EX.a, EX.line, EX.S2))),
    "a refused removal": lambda made: refused(made, lambda: made.graph.remove((EX.a, EX.line, None))),
}
"""Writes that are permitted or refused before the store is changed."""
SEVERAL: dict[str, Callable[[World], object]] = {
    "a batch": batch,
    "a refused batch": lambda made: refused(made, lambda: part_of_batch(made)),
    "an update": lambda made: made.dataset.update(
        "DELETE { ?s <http://e/line> ?o } INSERT { ?s <http://e/line> <http://e/new> } "
        "WHERE { ?s <http://e/line> ?o }"
    ),
    "an entry of a feed": entry,
    "a preview": preview,
    "a guard that begins and ends": lambda made: rdflive.guard(made.graph, NEVER).close(),
}
OPERATIONS = SINGLE | SEVERAL
WHOLE = ("self.on_batch, self.deliveries.aside = on_batch, None", "capture.judge = judge")
"""Assignments of a `finally` block: no signal comes between its beginning and them."""


def part_of_batch(made: World) -> None:
    with rdflive.batch(made.graph):
        made.graph.add((EX.a, EX.name, Literal("a")))
        made.graph.add((EX.d, RDF.type, EX.Train))


def refused(made: World, write: Callable[[], object]) -> None:
    with pytest.raises(rdflive.ValidationError):
        write()


@pytest.mark.timeout(1800)
@pytest.mark.sampled(4)
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
@pytest.mark.parametrize("store", ["default", "Oxigraph"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_guarded_write_is_interrupted(operation: str, store: str, error: type[BaseException]) -> None:
    """Others can write, guard and subscribers know what there is, and a single write has broken nothing."""
    if store == "Oxigraph":
        pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")
    act = OPERATIONS[operation]
    # of oxrdflib a removal is several writes
    is_single = operation in SINGLE and (store == "default" or "removal" not in operation)
    first = World(store)
    before = first.results()
    places = lines_of(lambda: act(first))
    first.close()
    draw = drawn_from("guard", operation, store, error.__name__)
    places = [place for place in places if linecache.getline(*place[:2]).strip() not in WHOLE]
    places = draw.sample(places, min(len(places), rounds(40, share=10)))
    wrong = {}
    for place in places:
        made = World(store)
        try:
            came = raising_at(place, error, lambda made=made: act(made))  # type: ignore[misc]
        except BaseException as raised:  # noqa: BLE001 - told below
            wrong[place] = repr(raised)
            continue
        if came and is_single and made.results() - before:
            wrong[place] = "a result has come"
        elif found := made.wrong():
            wrong[place] = found
        made.close()
    gc.collect()
    assert wrong == {}


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", [rdflive.guard, rdflive.validate], ids=["guard", "validation"])
@pytest.mark.parametrize("store", ["default", "Oxigraph"])
def test_what_is_interrupted_while_it_closes_fails_no_write(
    store: str, kind: Callable[[rdflib.Graph, rdflib.Graph], rdflive.Guard | rdflive.LiveValidation]
) -> None:
    """Writes pass, or are refused as long as the guard is on; closed again, it is off."""
    if store == "Oxigraph":
        pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")

    def opened() -> tuple[rdflib.Graph, rdflive.Guard | rdflive.LiveValidation]:
        graph = rdflib.Graph(store)
        graph.add((EX.a, RDF.type, EX.Train))
        return graph, kind(graph, SHAPES)

    places = lines_of(opened()[1].close)
    for place in drawn_from("closing", store, kind.__name__).sample(
        places, min(len(places), rounds(400, share=40))
    ):
        graph, live = opened()
        if not raising_at(place, KeyboardInterrupt, live.close):
            continue
        try:
            graph.add((EX.b, RDF.type, EX.Train))
        except rdflive.ValidationError:
            assert not live.closed, place
        live.close()
        graph.add((EX.c, RDF.type, EX.Train))
        assert live.closed, place
        assert (EX.c, RDF.type, EX.Train) in graph, place
