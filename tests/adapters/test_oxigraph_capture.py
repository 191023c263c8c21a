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

from pyoxigraph import NamedNode, Quad, RdfFormat, Store, Triple

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


UPDATES: dict[str, dict[str, Any]] = {
    "INSERT DATA { e:n e:p 01, 1 } ; DELETE DATA { e:a e:p e:c }": {"prefixes": {"e": EX}},
    "DELETE { ?s <p> ?o } INSERT { ?o <p> ?s } WHERE { ?s <p> ?o }": {"base_iri": "urn:example:p"},
    "DELETE WHERE { GRAPH ?g { ?s <urn:example:q> ?o } } ; COPY DEFAULT TO <urn:example:g> ;": {},
    "INSERT { [] ?p [] } WHERE { ?s ?p ?o }": {},
    "DELETE WHERE { <urn:x> ?p ?o }": {},
    "DELETE DATA { e:a e:p e:c } ; INSERT DATA { e:a e:p e:c }": {"prefixes": {"e": EX}},
    "INSERT { <urn:x> ?p ?o } WHERE { ?s ?p ?x BIND(<urn:f>(?x) AS ?o) }": {
        "custom_functions": {NamedNode("urn:f"): lambda term: typed("01")}
    },
    "CLEAR ALL": {},
}
# name -> operation; what it changes and what it raises must be as on a native store
OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "add": lambda s: s.add(NEW),
    "add again": lambda s: s.add(OLD),
    "add in another spelling": lambda s: s.add(quad("b q 01 g")),
    "add a new literal in odd spelling": lambda s: s.add(quad("b q 007 g")),
    "add a triple term": lambda s: s.add(
        Quad(node("a"), node("p"), Triple(node("a"), node("p"), typed("01")))
    ),
    "remove": lambda s: s.remove(OLD),
    "remove from one of several graphs": lambda s: s.remove(KNOWN[0]),
    "remove what is absent": lambda s: s.remove(NEW),
    "remove in another spelling": lambda s: s.remove(quad("b q 01 g")),
    "extend": lambda s: s.extend(in_order(NEW, OLD, NEW, quad("x p 01 -"), quad("x p 1 -"))),
    "extend by nothing": lambda s: s.extend([]),
    "bulk_extend": lambda s: s.bulk_extend(in_order(NEW, OLD, quad("a p c h"), NEW)),
    "load turtle": lambda s: s.load("<urn:example:a> a 01, 1 .", RdfFormat.TURTLE),
    "load into a graph": lambda s: s.load(TRIG, RdfFormat.TRIG, to_graph=GRAPHS["h"]),
    "load bytes": lambda s: s.load(input=TRIG.encode(), format=RdfFormat.TRIG),
    "load relative": lambda s: s.load("<a> <p> <> .", RdfFormat.TURTLE, base_iri="http://e/x"),
    "load leniently": lambda s: s.load("<a b> <p> <> .", RdfFormat.TURTLE, lenient=True),
    "load an empty document": lambda s: s.load("", RdfFormat.TURTLE, to_graph=node("new")),
    "bulk_load": lambda s: s.bulk_load(io.BytesIO(TRIG.encode()), RdfFormat.TRIG, to_graph=GRAPHS["g"]),
    "clear": lambda s: s.clear(),
    "clear a graph": lambda s: s.clear_graph(GRAPHS["g"]),
    "clear an unknown graph": lambda s: s.clear_graph(node("unknown")),
    "add a graph": lambda s: s.add_graph(node("new")),
    "remove a graph": lambda s: s.remove_graph(GRAPHS["h"]),
    **{
        text: (lambda s, text=text, options=options: s.update(text, **options))
        for text, options in UPDATES.items()
    },
}

FAILURES: dict[str, Callable[[Any], Any]] = {
    "add a number": lambda s: s.add(5),
    "remove nothing": lambda s: s.remove(None),
    "look for a number": lambda s: 5 in s,
    "extend by a number": lambda s: s.extend(5),
    "extend half way": lambda s: s.extend(in_order(NEW, 5)),
    "extend until an error": lambda s: s.extend(in_order(NEW, KeyError("stop"))),
    "bulk_extend half way": lambda s: s.bulk_extend(in_order(NEW, 5)),
    "bulk_extend until an error": lambda s: s.bulk_extend(in_order(NEW, KeyError("stop"))),
    "load nothing": lambda s: s.load(),
    "load an unknown file": lambda s: s.load(path="/nowhere.ttl"),
    "load half a document": lambda s: s.load("<urn:a> a <urn:b> . <urn:c> a", RdfFormat.TURTLE),
    "load into a string": lambda s: s.load("", RdfFormat.TURTLE, to_graph="urn:g"),
    "bulk_load half a document": lambda s: s.bulk_load("<urn:a> a <urn:b> . <", RdfFormat.TURTLE),
    "clear a number": lambda s: s.clear_graph(5),
    "remove a string": lambda s: s.remove_graph("urn:g"),
    "update a number": lambda s: s.update(5),
    "update bad syntax": lambda s: s.update("DELETE WHERE { ?s ?p }"),
    "update with bad prefixes": lambda s: s.update("CLEAR ALL", prefixes={"e": 5}),
    "update whose last operation fails": lambda s: s.update("CLEAR ALL ; CREATE GRAPH <urn:example:g>"),
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
    moved, cleared = choice.choice(("COPY", "MOVE", "ADD")), choice.choice(("CLEAR", "DROP"))
    update = choice.choice(
        (
            f"INSERT DATA {{ {data} }}",
            f"DELETE DATA {{ {data} }}",
            f"DELETE WHERE {{ {template} }}",
            f"DELETE {{ {template} }} INSERT {{ {data} . ?o {p} ?s }} WHERE {{ {where} }}",
            f"WITH <{EX}g> INSERT {{ {template} }} WHERE {{ {where} }} ; DELETE DATA {{ {data} }}",
            f"{moved} {choice.choice((f'DEFAULT TO <{EX}g>', f'SILENT <{EX}g> TO DEFAULT'))}",
            f"{cleared} SILENT {choice.choice(('DEFAULT', 'NAMED', f'GRAPH <{EX}g>'))}",
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
    sequences = rounds(300, share=15)
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
