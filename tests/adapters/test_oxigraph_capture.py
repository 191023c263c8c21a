"""Every operation on a LiveStore is captured exactly, and is otherwise that of the native store."""

from __future__ import annotations

import copy
import io
import pickle
import random
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rdflive.store import UNION

pytest.importorskip("oxrdflib", reason="needs the extra rdflive[oxigraph]")

from pyoxigraph import DefaultGraph, NamedNode, Quad, RdfFormat, Store, Triple

from rdflive_stores.oxigraph import LiveStore
from support.effort import drawn_from, rounds
from support.oxigraph import EX, GRAPHS, KNOWN, NEW, OLD, followed, node, quad, typed

TRIG = "<urn:example:a> <urn:example:p> <urn:example:b>, _:x . <urn:example:g> { _:x a _:y }"


def in_order(*steps: Any) -> Iterator[Any]:
    """Yield the steps one by one, once; raise those that are errors."""
    for step in steps:
        if isinstance(step, Exception):
            raise step
        yield step


# name -> operation; what it changes and what it raises must be as on a native store
OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "add": lambda store: store.add(NEW),
    "add again": lambda store: store.add(OLD),
    "add by keyword": lambda store: store.add(quad=NEW),
    "add in another spelling": lambda store: store.add(quad("b q 01 g")),
    "add a new literal in odd spelling": lambda store: store.add(quad("b q 007 g")),
    "add a triple term": lambda store: store.add(
        Quad(node("a"), node("p"), Triple(node("a"), node("p"), typed("01")))
    ),
    "remove": lambda store: store.remove(OLD),
    "remove from one of several graphs": lambda store: store.remove(KNOWN[0]),
    "remove what is absent": lambda store: store.remove(NEW),
    "remove in another spelling": lambda store: store.remove(quad("b q 01 g")),
    "extend": lambda store: store.extend(in_order(NEW, OLD, NEW, quad("x p 01 -"), quad("x p 1 -"))),
    "extend with what is there": lambda store: store.extend(KNOWN),
    "extend by nothing": lambda store: store.extend([]),
    "bulk_extend": lambda store: store.bulk_extend(in_order(NEW, OLD, quad("a p c h"), NEW)),
    "load turtle": lambda store: store.load("<urn:example:a> a 01, 1 .", RdfFormat.TURTLE),
    "load into a graph": lambda store: store.load(TRIG, RdfFormat.TRIG, to_graph=GRAPHS["h"]),
    "load bytes": lambda store: store.load(input=TRIG.encode(), format=RdfFormat.TRIG),
    "load relative": lambda store: store.load("<a> <p> <> .", RdfFormat.TURTLE, base_iri="http://e/x"),
    "load leniently": lambda store: store.load("<a b> <p> <> .", RdfFormat.TURTLE, lenient=True),
    "load an empty document": lambda store: store.load("", RdfFormat.TURTLE, to_graph=node("new")),
    "bulk_load": lambda store: store.bulk_load(
        io.BytesIO(TRIG.encode()), RdfFormat.TRIG, to_graph=GRAPHS["g"]
    ),
    "clear": lambda store: store.clear(),
    "clear a graph": lambda store: store.clear_graph(GRAPHS["g"]),
    "clear the default graph": lambda store: store.clear_graph(DefaultGraph()),
    "clear an unknown graph": lambda store: store.clear_graph(node("unknown")),
    "add a graph": lambda store: store.add_graph(node("new")),
    "remove a graph": lambda store: store.remove_graph(GRAPHS["h"]),
    "remove the default graph": lambda store: store.remove_graph(DefaultGraph()),
    "update data": lambda store: store.update(
        "INSERT DATA { e:n e:p 01, 1 } ; DELETE DATA { e:a e:p e:c }", prefixes={"e": EX}
    ),
    "update templates": lambda store: store.update(
        "DELETE { ?s <p> ?o } INSERT { ?o <p> ?s } WHERE { ?s <p> ?o }", base_iri="urn:example:p"
    ),
    "update graphs": lambda store: store.update(
        "DELETE WHERE { GRAPH ?g { ?s <urn:example:q> ?o } } ; COPY DEFAULT TO <urn:example:g> ;"
    ),
    "update with new blank nodes": lambda store: store.update("INSERT { [] ?p [] } WHERE { ?s ?p ?o }"),
    "update that does nothing": lambda store: store.update("DELETE WHERE { <urn:x> ?p ?o }"),
    "update that undoes itself": lambda store: store.update(
        "DELETE DATA { e:a e:p e:c } ; INSERT DATA { e:a e:p e:c }", prefixes={"e": EX}
    ),
    "update with a function": lambda store: store.update(
        "INSERT { <urn:x> ?p ?o } WHERE { ?s ?p ?x BIND(<urn:f>(?x) AS ?o) }",
        custom_functions={NamedNode("urn:f"): lambda term: typed("01")},
    ),
    "clear by update": lambda store: store.update("CLEAR ALL"),
    "move by update": lambda store: store.update("MOVE SILENT <urn:example:g> TO DEFAULT"),
}

FAILURES: dict[str, Callable[[Any], Any]] = {
    "add a number": lambda store: store.add(5),
    "add a triple": lambda store: store.add(NEW.triple),
    "remove nothing": lambda store: store.remove(None),
    "look for a number": lambda store: 5 in store,
    "extend by a number": lambda store: store.extend(5),
    "extend half way": lambda store: store.extend(in_order(NEW, 5)),
    "extend until an error": lambda store: store.extend(in_order(NEW, KeyError("stop"))),
    "bulk_extend half way": lambda store: store.bulk_extend(in_order(NEW, 5)),
    "bulk_extend until an error": lambda store: store.bulk_extend(in_order(NEW, KeyError("stop"))),
    "load nothing": lambda store: store.load(),
    "load without format": lambda store: store.load(""),
    "load an unknown file": lambda store: store.load(path="/nowhere.ttl"),
    "load half a document": lambda store: store.load("<urn:a> a <urn:b> . <urn:c> a", RdfFormat.TURTLE),
    "load into a string": lambda store: store.load("", RdfFormat.TURTLE, to_graph="urn:g"),
    "bulk_load half a document": lambda store: store.bulk_load("<urn:a> a <urn:b> . <", RdfFormat.TURTLE),
    "bulk_load into a number": lambda store: store.bulk_load("", RdfFormat.TURTLE, to_graph=5),
    "clear a number": lambda store: store.clear_graph(5),
    "clear None": lambda store: store.clear_graph(None),
    "remove a string": lambda store: store.remove_graph("urn:g"),
    "update a number": lambda store: store.update(5),
    "update bad syntax": lambda store: store.update("DELETE WHERE { ?s ?p }"),
    "update a literal as subject": lambda store: store.update("INSERT DATA { 'x' a <urn:x> }"),
    "update with bad prefixes": lambda store: store.update("CLEAR ALL", prefixes={"e": 5}),
    "update whose last operation fails": lambda store: store.update(
        "CLEAR ALL ; CREATE GRAPH <urn:example:g>"
    ),
    "pickle": pickle.dumps,
    "copy": copy.copy,
}


def outcome(operation: Callable[[Any], Any], store: Any) -> Any:
    try:
        return operation(store)
    except Exception as error:  # noqa: BLE001 - whatever the native store raises
        return type(error), str(error).removeprefix("argument 'quad': ")  # pyoxigraph < 0.5.12 says more


def sizes(store: Any) -> dict[str, int]:
    return {str(g): sum(q.graph_name == g for q in store) for g in (*GRAPHS.values(), *store.named_graphs())}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_an_operation_is_one_exact_commit_or_none(operation: Callable[[Any], Any]) -> None:
    """What an operation changed arrives in one commit, also when run again; the store is as natively."""
    live, follower = followed()
    twin = Store()
    twin.extend(KNOWN)
    for _ in range(2):
        before = set(live)
        operation(live)
        assert follower.check() == (before != set(live))
        operation(twin)
        assert sizes(live) == sizes(twin)


@pytest.mark.parametrize("operation", FAILURES.values(), ids=FAILURES)
def test_a_failing_operation_raises_as_natively_and_records_nothing(operation: Callable[[Any], Any]) -> None:
    """The exception is the native one with its message, heard or unheard, and no commit is made."""
    live, follower = followed()
    unheard, twin = LiveStore(), Store()
    for store in (unheard, twin):
        store.extend(KNOWN)
    expected = outcome(operation, twin)
    assert isinstance(expected, tuple)
    assert outcome(operation, live) == outcome(operation, unheard) == expected
    assert set(live) == set(unheard) == set(twin)
    assert follower.check() == 0


def random_step(choice: random.Random) -> tuple[str, Callable[[LiveStore], Any]]:
    """Choose an operation on a small universe."""
    names = "abc"

    def one() -> Quad:
        o = choice.choice(("a", "b", "c", "1", "01"))
        return quad(f"{choice.choice(names)} {choice.choice('pq')} {o} {choice.choice('-gh')}")

    some = [one() for _ in range(choice.randint(0, 5))]
    graph = choice.choice(tuple(GRAPHS.values()))
    s, p, o = (f"<{EX}{choice.choice(names)}>" for _ in range(3))
    p = f"<{EX}{choice.choice('pq')}>"
    template = choice.choice((f"{s} {p} ?o", f"?s {p} {o}", "?s ?p ?o", f"{s} {p} {o}", f"{s} {p} 01"))
    if choice.random() < 0.4:
        template = f"GRAPH {choice.choice(('?g', f'<{EX}g>'))} {{ {template} }}"
    data = template if "?" not in template else f"{s} {p} {o}"
    where = f"?s ?p ?o . GRAPH ?g {{ ?s {p} ?x }}"
    update = choice.choice(
        (
            f"INSERT DATA {{ {data} }}",
            f"DELETE DATA {{ {data} }}",
            f"DELETE WHERE {{ {template} }}",
            f"DELETE {{ {template} }} INSERT {{ {data} . ?o {p} ?s }} WHERE {{ {where} }}",
            f"WITH <{EX}g> INSERT {{ {template} }} WHERE {{ {where} }} ; DELETE DATA {{ {data} }}",
            f"{choice.choice(('COPY', 'MOVE', 'ADD'))} DEFAULT TO <{EX}g>",
            f"{choice.choice(('COPY', 'MOVE', 'ADD'))} SILENT <{EX}g> TO DEFAULT",
            f"{choice.choice(('CLEAR', 'DROP'))} SILENT {choice.choice(('DEFAULT', 'NAMED'))}",
            f"{choice.choice(('CLEAR', 'DROP'))} SILENT GRAPH <{EX}g>",
        )
    )
    turtle = "".join(f"{q.subject} {q.predicate} {q.object} .\n" for q in some)
    return choice.choice(
        (
            ("add", lambda live: live.add(one())),
            ("add", lambda live: live.add(one())),
            ("remove", lambda live: live.remove(one())),
            (f"extend {some}", lambda live: live.extend(iter(some))),
            (f"bulk_extend {some}", lambda live: live.bulk_extend(iter(some))),
            (f"load {turtle}", lambda live: live.load(turtle, RdfFormat.TURTLE, to_graph=graph)),
            (f"clear_graph {graph}", lambda live: live.clear_graph(graph)),
            (update, lambda live: live.update(update)),
            (update, lambda live: live.update(update)),
            (update, lambda live: live.update(update)),
        )
    )


@pytest.mark.parametrize("union", [True, False])
def test_random_sequences_are_captured_exactly(union: bool) -> None:
    """Over hundreds of sequences of 25 operations, some inside batches, every commit is exact."""
    changing = 0
    sequences = rounds(300)
    for number in range(sequences):
        choice = drawn_from(union, number)
        live, follower = followed()
        if not union:
            del live.capture.listeners[UNION], follower.content[UNION]
        for _ in range(25):
            name, step = random_step(choice)
            if choice.random() < 0.1:
                with live.capture.batch():
                    step(live)
                    random_step(choice)[1](live)
            else:
                step(live)
            commits = follower.check()
            assert commits <= 1, name
            changing += commits
    assert changing > 25 * sequences / 3


def test_inserting_then_removing_in_a_batch_is_no_commit() -> None:
    """What came and went inside one batch cancels out, in graphs and in the union."""
    live, follower = followed()
    with live.capture.batch():
        live.add(NEW)
        live.update("DELETE WHERE { GRAPH <urn:example:g> { ?s <urn:example:p> <urn:example:m> } }")
    assert follower.check() == 0


def test_the_union_changes_with_the_first_and_the_last_graph() -> None:
    """A triple enters the union with its first graph and leaves it with its last."""
    live, follower = followed()
    union = live.capture.listeners[UNION]
    for step, changes in (
        (lambda: live.add(quad("n p m g")), 1),
        (lambda: live.extend([quad("n p m -"), quad("n p m h")]), 0),
        (lambda: live.remove(quad("n p m g")), 0),
        (lambda: live.clear_graph(GRAPHS["h"]), 1),  # c p d was only there
        (lambda: live.update("MOVE DEFAULT TO <urn:example:g>"), 1),  # b q 1 was only there
        (lambda: live.remove(quad("n p m g")), 1),
    ):
        before = set(union.content)
        step()
        assert len(before ^ union.content) == changes
        follower.check()


def test_nothing_is_recorded_while_nobody_listens() -> None:
    """Without a listener operations pass straight through."""
    live = LiveStore()
    for operation in OPERATIONS.values():
        operation(live)
    assert live.capture.sequence == 0


def test_threads_writing_at_once_are_captured_exactly() -> None:
    """Four threads write in all ways; afterwards listeners hold exactly what the store does."""
    live, follower = followed()

    def write(seed: int) -> None:
        choice = drawn_from("threads", seed)
        for _ in range(150):
            random_step(choice)[1](live)

    threads = [threading.Thread(target=write, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    sequences = list(dict.fromkeys(follower.commits))
    assert sequences == sorted(sequences)
    follower.check()
