# pyright: strict, reportUnnecessaryTypeIgnoreComment=true
"""What type checkers know of rdflive: programs of users, which `first_contact/test_types.py` has checked.

mypy and pyright, both strict, must find the faults in the lines that are marked `type: ignore`, and no other.
What has a name that begins with `runs_` is run as well.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from io import BytesIO
from typing import Any, assert_type, cast

import pyoxigraph
import rdflib
from rdflib.term import Node

import rdflive
from rdflive.feeds import EndpointOptions, Entry, Feed, Snapshot, Target

QUERY = "SELECT ?train { ?train <http://example.org/delay> ?minutes }"
T101, DELAY, NINE = rdflib.URIRef("urn:T101"), rdflib.URIRef("http://example.org/delay"), rdflib.Literal(9)


def follow(graph: rdflive.GraphLike) -> rdflive.Subscription:
    """A function of a user's own takes whatever can be subscribed to."""
    with rdflive.batch(graph):
        return rdflive.subscribe(graph, QUERY)


def runs_with_each_kind_of_graph() -> None:
    """Graphs and datasets of rdflib, their subclasses, and the stand-in of a store of pyoxigraph."""
    for graph in (rdflib.Graph(), rdflib.Dataset(), rdflive.LiveGraph(), rdflive.LiveDataset()):
        assert_type(follow(graph), rdflive.Subscription)
    store = rdflive.LiveStore(pyoxigraph.Store())
    follow(store)
    iri = pyoxigraph.NamedNode("urn:T101")
    store.add(pyoxigraph.Quad(iri, iri, iri))
    assert_type(len(store), int)
    rdflive.explain(QUERY, graph=store)
    with rdflive.saturate(store) as saturated:
        assert_type(saturated, rdflive.SaturatedGraph)
    stream = rdflive.Stream(rdflib.Graph())
    rdflive.subscribe(stream, QUERY, window=rdflive.Sliding("10s"))
    rdflive.reformulate(QUERY, rdflib.Graph())
    rdflive.reformulate(QUERY, [(T101, DELAY, NINE)])


def refuses_what_is_no_graph(path: str, triples: set[tuple[Node, Node, Node]]) -> None:
    """A path, triples, a store of rdflib or None are faults before the program runs."""
    rdflive.subscribe(path, QUERY)  # type: ignore[arg-type]  # no graph
    rdflive.subscribe(triples, QUERY)  # type: ignore[arg-type]  # no graph
    rdflive.subscribe(rdflib.Graph().store, QUERY)  # type: ignore[arg-type]  # the graph over it is meant
    rdflive.batch(None)  # type: ignore[arg-type]  # no graph
    rdflive.saturate(path)  # type: ignore[arg-type]  # no graph
    rdflive.mirror(path, path)  # type: ignore[call-overload]  # no graph
    rdflive.explain(QUERY, graph=path)  # type: ignore[arg-type]  # no graph
    rdflive.Stream(path)  # type: ignore[arg-type]  # no graph
    rdflive.LiveStore(path)  # type: ignore[arg-type]  # a store of pyoxigraph is meant


def runs_with_rows() -> None:
    """Rows of answers and of deltas are solutions; a term is of the store's library, so of any type."""
    graph = rdflib.Graph()
    subscription = rdflive.subscribe(graph, QUERY)
    graph.add((T101, DELAY, NINE))
    assert_type(subscription.answers(), rdflive.Answers[rdflive.Solution])
    (row,) = subscription.answers()
    assert_type(row, rdflive.Solution)
    assert_type(row.train, Any)
    assert_type(row.asdict(), dict[str, Any])
    for delta in subscription.deltas():
        assert_type(delta, rdflive.Delta)
        assert_type(delta.added, rdflive.Rows[rdflive.Solution])
        assert_type([delta.removed[0] for _ in delta.removed], list[rdflive.Solution])
        assert_type(
            [(old, new) for old, new in delta.changed], list[tuple[rdflive.Solution, rdflive.Solution]]
        )
        assert_type(delta.weights(), dict[rdflive.Solution, int])
        if delta.added:
            break


def runs_with_ask_and_construct() -> None:
    """ASK is a bool of a delta; triples of CONSTRUCT unpack, may be added to a graph, and are one."""
    graph = rdflib.Graph().add((T101, DELAY, NINE))
    asked = rdflive.subscribe(graph, "ASK { ?s ?p ?o }")
    assert_type(next(asked.deltas()).answer, bool | None)
    assert_type(bool(asked.answers()), bool)
    made = rdflive.subscribe(graph, "CONSTRUCT { ?o ?p ?s } WHERE { ?s ?p ?o }")
    for triple in made.answers():
        subject, _, _ = triple
        assert subject == NINE
    for triple in next(made.deltas()).added:
        rdflib.Graph().add(triple)
    assert_type(made.graph, rdflib.Graph)
    assert_type(list(made.graph), list[tuple[Node, Node, Node]])


def runs_an_endpoint() -> None:
    """The options of an endpoint are known, also as a dictionary; those of another plugin are passed on."""
    options: EndpointOptions = {"every": None, "page": 500, "auth": ("me", "secret")}
    feed = rdflive.endpoint("http://127.0.0.1:9/sparql", **options)
    assert_type(feed, Feed)
    feed.close()
    own: Mapping[str, Any] = {"page": 20}
    rdflive.endpoint("http://127.0.0.1:9/sparql", **own).close()
    assert_type(asyncio.run(rdflive.aendpoint("http://127.0.0.1:9/sparql", **options)), Feed)


def runs_a_mirror_in_the_background() -> None:
    """The result of a mirror follows from `background`; awaited, it is that of the foreground."""
    graph = rdflib.Graph()
    assert_type(rdflive.mirror(graph, BytesIO(), "nquads"), rdflive.Mirrored)
    assert_type(asyncio.run(rdflive.amirror(graph, BytesIO(), "nquads")), rdflive.Mirrored)
    with rdflive.mirror(graph, BytesIO(), "nquads", background=True) as running:
        assert_type(running, rdflive.BackgroundMirror)
        assert_type(running.wait(timeout=60), rdflive.Mirrored)
        assert_type(running.lag, float | None)
        assert_type(running.error, BaseException | None)


def refuses_other_options(graph: rdflib.Graph, feed: Feed) -> None:
    """Names and values of options that are not there are faults before the program runs."""
    rdflive.endpoint("http://127.0.0.1:9/sparql", pages=500)  # type: ignore[call-arg]  # page is meant
    rdflive.endpoint("http://127.0.0.1:9/sparql", page="500")  # type: ignore[arg-type]  # a number is meant
    rdflive.mirror(graph, feed, on_bad="drop")  # type: ignore[call-overload]  # skip is meant
    rdflive.mirror(graph, feed, every=5)  # type: ignore[call-overload]  # an option of the endpoint


class Timetable:
    """A feed of a user's own; without `close` it would be none."""

    source = "timetable"

    def entries(self, cursor: str | None, kept: Mapping[str, str], target: Target) -> Iterator[Entry]:
        return iter(())

    def snapshot(self, target: Target) -> Snapshot | None:
        return None

    def close(self) -> None: ...


def runs_mirrors() -> None:
    """A feed is a path, an open file, or whatever has the methods of one."""
    line = BytesIO(b"+ <urn:s> <urn:p> <urn:o> .")
    assert_type(rdflive.mirror(rdflib.Graph(), line, "nquads"), rdflive.Mirrored)
    feed: Feed = Timetable()
    assert rdflive.mirror(rdflib.Dataset(), feed).entries == 0
    feed.close()


def runs_methods_of_graphs() -> None:
    """`LiveGraph` has its methods for type checkers too; what `install` adds they know behind a cast."""
    graph = rdflive.LiveGraph()
    assert_type(graph.subscribe(QUERY, print, initial=False), rdflive.Subscription)
    assert_type(graph.batch(), AbstractContextManager[object])
    rdflive.install()
    other = cast(rdflive.LiveGraph, rdflib.Graph())
    assert_type(other.subscribe(QUERY), rdflive.Subscription)


def refuses_methods() -> None:
    """Options of the methods are those of the functions, and a graph of rdflib has no such methods."""
    rdflive.LiveGraph().subscribe(QUERY, inital=False)  # type: ignore[call-arg]  # initial is meant
    rdflib.Graph().subscribe(QUERY)  # type: ignore[attr-defined]  # no checker knows what install() adds


def runs_names() -> None:
    """The version is a string, and a name that is not there is a fault."""
    assert_type(rdflive.__version__, str)


def refuses_names() -> None:
    """A name that rdflive does not have is a fault."""
    rdflive.subscribes  # type: ignore[attr-defined]  # noqa: B018 - subscribe is meant
