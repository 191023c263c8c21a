"""Resumed subscriptions: what a restart tells, and a kill at any step of a delivery."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import rdflib
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rdflib import RDF, XSD, BNode, Literal

import rdflive
from support.effort import examples
from support.garbage import only_new_garbage
from support.resume import POINTS, TRAIN, Ledger, add, killed_at, names, node, resumed
from support.resume_world import QUERIES, STEPS, World


def test_without_initial_the_answers_are_recorded_and_not_told(graph: rdflib.Graph, path: Path) -> None:
    """With initial=False nothing is told at first, and a restart tells only what changed since."""
    ledger = Ledger()
    resumed(graph, path, ledger, initial=False).close()
    assert ledger.calls == []
    add(graph, "ic2")
    with resumed(graph, path, ledger, initial=False):
        graph.remove((node("ic1"), None, None))
    assert [(names(d.added), names(d.removed), d.initial) for d in ledger.told.values()] == [
        (["ic2"], [], False),
        ([], ["ic1"], False),
    ]


@pytest.mark.parametrize("point", POINTS)
@pytest.mark.parametrize("when", ["at first", "at a write", "at a restart"])
def test_killed_at_any_step_nothing_is_lost(graph: rdflib.Graph, path: Path, point: str, when: str) -> None:
    """A delta whose delivery was killed comes again with its number and content; then what was missed."""
    ledger = Ledger()
    if when != "at first":
        subscription = resumed(graph, path, ledger)
        if when == "at a restart":
            subscription.close()
        with killed_at(point, ledger):
            add(graph, "ic2")
            if when == "at a restart":
                resumed(graph, path, ledger)
        subscription.close()
    else:
        with killed_at(point, ledger):
            resumed(graph, path, ledger)
    graph.remove((node("ic1"), None, None))
    add(graph, "ic3")
    with resumed(graph, path, ledger) as subscription:
        assert ledger.state() == Counter(subscription.answers())
        assert ledger.calls.count(len(ledger.told) - (point != "before writing")) == 1 + (point == "taken")


def test_a_program_that_exits_in_its_callback_gets_the_delta_again(path: Path, tmp_path: Path) -> None:
    """A process that ends without any clean-up inside the callback is told the same again."""
    program = """if True:
        import os, sys, rdflib, rdflive
        graph = rdflib.Graph().parse(data="<urn:a> a <urn:T> .")
        def told(delta):
            print(delta.sequence, delta.initial, len(delta.added), flush=True)
            if sys.argv[2] == "die":
                os._exit(3)
        rdflive.subscribe(graph, "SELECT ?t { ?t a <urn:T> }", told, name="n", resume=sys.argv[1])
    """
    runs = [
        subprocess.run([sys.executable, "-c", program, str(path), word], capture_output=True, text=True)
        for word in ("die", "live")
    ]
    assert [run.returncode for run in runs] == [3, 0], runs
    assert [run.stdout.split() for run in runs] == [["1", "True", "1"]] * 2


def test_resync_tells_the_difference(graph: rdflib.Graph, path: Path) -> None:
    """resync gives a resumed subscription what changed unseen, and no second initial delta."""
    ledger = Ledger()
    with resumed(graph, path, ledger) as subscription:
        store: Any = graph.store
        type(store).__bases__[0].add(store, (node("ic2"), RDF.type, TRAIN), graph)
        subscription.resync()
        subscription.resync()
        assert (ledger.calls, names(ledger.told[2].added), ledger.told[2].initial) == ([1, 2], ["ic2"], False)
        assert ledger.state() == Counter(subscription.answers())
        assert subscription.stats.deltas == 2


FORMS = {
    "duplicates": "SELECT ?c { ?t a ?c }",
    "unbound": "SELECT ?t ?l { ?t a ?c OPTIONAL { ?t <urn:example:line> ?l } }",
    "ordered": "SELECT ?t ?l { ?t <urn:example:line> ?l } ORDER BY DESC(?l) LIMIT 2",
    "distinct": "SELECT DISTINCT ?c { ?t a ?c }",
    "counted": "SELECT (COUNT(*) AS ?n) { ?t a ?c }",
    "ask": "ASK { ?t <urn:example:line> ?l }",
    "construct": "CONSTRUCT { ?l <urn:example:of> ?t } { ?t <urn:example:line> ?l }",
    "none": "SELECT * { <urn:example:ic1> a <urn:example:Train> }",
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_query_is_resumed(graph: rdflib.Graph, path: Path, form: str) -> None:
    """Multisets, unbound variables, slices, ASK and CONSTRUCT survive restarts exactly."""
    query, ledger = FORMS[form], Ledger()
    line = node("line")
    steps: list[Any] = [
        lambda: add(graph, "ic2", "ic3"),
        lambda: graph.add((node("ic2"), line, BNode("b"))),
        lambda: graph.add((node("ic3"), line, Literal("S1", lang="DE"))),
        lambda: graph.add((node("ic3"), line, Literal("01", datatype=XSD.integer, normalize=False))),
        lambda: graph.remove((node("ic2"), None, None)),
        lambda: graph.remove((None, None, None)),
    ]
    for step in steps:
        with resumed(graph, path, ledger, query=query):
            pass
        step()
        with resumed(graph, path, ledger, query=query) as subscription:
            assert ledger.state() == Counter(subscription.answers())
    assert [n for n in ledger.calls if ledger.calls.count(n) > 1] == []


def test_a_graph_of_construct_is_whole_after_a_restart(graph: rdflib.Graph, path: Path) -> None:
    """`subscription.graph` holds all triples, not only those since the restart."""
    query = "CONSTRUCT { ?t <urn:is> ?c } { ?t a ?c }"
    resumed(graph, path, Ledger(), query=query).close()
    with resumed(graph, path, Ledger(), query=query) as subscription:
        add(graph, "ic2")
        assert len(subscription.graph) == 2


def test_writers_in_threads_and_a_close_lose_nothing(graph: rdflib.Graph, path: Path) -> None:
    """While threads write, subscriptions open and close at any moment; the deltas add up."""
    ledger = Ledger()
    done = threading.Event()

    def write(part: int) -> None:
        for i in range(15):
            add(graph, f"t{part}-{i}")

    threads = [threading.Thread(target=write, args=(part,)) for part in range(3)]
    for thread in threads:
        thread.start()
    while not done.is_set():
        if not any(thread.is_alive() for thread in threads):
            done.set()
        resumed(graph, path, ledger).close()
    with resumed(graph, path, ledger) as subscription:
        assert ledger.state() == Counter(subscription.answers())
    assert len(graph) == 46


def test_a_live_store_is_resumed(path: Path) -> None:
    """A LiveStore's own terms, triple terms among them, survive a restart and a kill."""
    ox = pytest.importorskip("pyoxigraph", reason="needs the extra rdflive[oxigraph]")
    live, ledger = rdflive.LiveStore(), Ledger()
    query = "SELECT ?s ?o { ?s <urn:p> ?o }"
    predicate = ox.NamedNode("urn:p")
    triple = ox.Triple(
        ox.BlankNode("b"), predicate, ox.Literal("x", language="en", direction=ox.BaseDirection.LTR)
    )
    live.add(ox.Quad(ox.BlankNode("b"), predicate, triple))
    with killed_at("taken", ledger):
        resumed(live, path, ledger, query=query)
    live.add(
        ox.Quad(ox.NamedNode("urn:a"), predicate, ox.Literal("01", datatype=ox.NamedNode(str(XSD.integer))))
    )
    with resumed(live, path, ledger, query=query) as subscription:
        assert ledger.calls == [1, 1, 2]
        assert ledger.state() == Counter(subscription.answers())
        live.remove(ox.Quad(ox.BlankNode("b"), predicate, triple))
        assert ledger.told[3].removed[0].o == triple


@pytest.mark.parametrize("by", ["callback", "iterator"])
@pytest.mark.parametrize("kind", ["Memory", "Oxigraph"])
def test_deltas_of_any_history_with_restarts_and_kills_add_up(
    kind: str, by: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever is written, missed or killed where, numbers have no gap and the deltas make the answers."""
    if kind == "Oxigraph":
        pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")

    count = examples(40) if kind == "Memory" else examples(10, sample=True)

    @given(QUERIES, st.lists(STEPS, max_size=7))
    @settings(max_examples=count, suppress_health_check=list(HealthCheck))
    def run(query: str, steps: list[Any]) -> None:
        world = World(kind, tmp_path_factory.mktemp("world"), query, by)
        try:
            for step in steps:
                world.run(step)
                if world.subscription is not None:
                    assert world.ledger.state() == Counter(world.subscription.answers())
            world.restart()
            world.subscribe()
            assert world.ledger.state() == Counter(world.subscription.answers())
        finally:
            world.close()

    with only_new_garbage():  # it is collected at every step
        run()


@pytest.mark.parametrize("template", ["[] :p ?t . [ :p ?t ] :q []", "?t :p (?t 1)", "_:a :p ?t . ?t :q _:b"])
def test_blank_nodes_of_a_template_are_the_same_after_a_restart(
    graph: rdflib.Graph, path: Path, template: str
) -> None:
    """What CONSTRUCT made of the same solutions is no news, whatever it is made of."""
    query = f"PREFIX : <urn:> CONSTRUCT {{ {template} }} WHERE {{ ?t a <{TRAIN}> }}"
    ledger = Ledger()
    for _ in range(3):
        resumed(graph, path, ledger, query=query).close()
    assert ledger.calls == [1]
