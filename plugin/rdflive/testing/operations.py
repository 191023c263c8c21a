"""The ways of changing an rdflib store, as a table for tests."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import rdflib
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, BatchAddGraph
from rdflib.store import Store

__all__ = ["DATASET_OPERATIONS", "GRAPH_OPERATIONS", "NAMES", "Operation", "World", "term"]

EX: Final = "urn:example:"  # not http: rdflib fetches what USING names
NAMES: Final = (rdflib.URIRef(EX + "g1"), rdflib.URIRef(EX + "g2"))


def term(text: str) -> Any:
    """Return a triple of three local names; a number as the object is a literal."""
    s, p, o = text.split()
    object_ = rdflib.Literal(int(o)) if o.isdigit() else rdflib.URIRef(EX + o)
    return rdflib.URIRef(EX + s), rdflib.URIRef(EX + p), object_


class World:
    """A store and the graphs over it that operations use."""

    def __init__(self, store: Store, choice: random.Random | None = None) -> None:
        self.store = store
        self.choice = choice or random.Random(7)  # noqa: S311 - a seeded test
        self.graph = rdflib.Graph(store, NAMES[0])
        # another object for the same graph, whose changes must be captured too
        self.second = rdflib.Graph(store, NAMES[0])
        self.graph_aware = bool(store.graph_aware)
        self.dataset = rdflib.Dataset(store) if self.graph_aware else None
        for graph in (self.graph, self.second, self.dataset):
            if graph is not None:
                graph.bind("", EX)

    def views(self) -> list[rdflib.Graph]:
        """Return the graphs to watch: the named ones, the default one, and the union."""
        if not self.graph_aware:
            return [self.graph]
        graphs = [rdflib.Graph(self.store, name) for name in (*NAMES, DATASET_DEFAULT_GRAPH_ID)]
        return [*graphs, rdflib.Dataset(self.store, default_union=True)]

    def prepare(self) -> None:
        """Fill the graphs: some triples in one, some in several."""
        for text in ("a p b", "a p c", "b p c", "b q 1", "c q 2"):
            self.graph.add(term(text))
        if self.dataset is not None:
            for text in ("a p b", "d p e", "d q 1"):
                self.dataset.graph(NAMES[1]).add(term(text))
            self.dataset.add(term("a p b"))
            self.dataset.add(term("x p y"))

    def triple(self) -> Any:
        """Return a random triple of a small universe."""
        choose = self.choice.choice
        return term(f"{choose('abcd')} {choose('pq')} {choose('abc12')}")

    def data(self) -> Any:
        """The dataset, for operations that need one."""
        if self.dataset is None:
            raise TypeError("the store holds one graph only")
        return self.dataset

    def update(self, text: str, *, dataset: bool = False) -> None:
        """Run a SPARQL update in which `t`, `u` and `v` in braces stand for triples of the universe."""
        triples = {name: " ".join(part.n3() for part in self.triple()) for name in ("t", "u", "v")}
        for name, triple in triples.items():
            text = text.replace("{" + name + "}", triple)
        (self.data() if dataset else self.graph).update(f"PREFIX : <{EX}> {text}")


@dataclass(frozen=True, slots=True)
class Operation:
    """One way to change a store; `one_commit` if rdflib makes one change of it."""

    name: str
    run: Callable[[World], Any]
    one_commit: bool = True


def _wildcard(world: World, *places: int) -> Any:
    triple = world.triple()
    return tuple(None if i in places else part for i, part in enumerate(triple))


def _batch_add(world: World) -> None:
    # five triples by two: three calls of `addN`, so several commits
    with BatchAddGraph(world.graph, batch_size=2) as batch:
        for _ in range(5):
            batch.add(world.triple())


def _iadd(world: World) -> None:
    world.graph += [world.triple(), world.triple()]


def _isub(world: World) -> None:
    world.graph -= [world.triple(), world.triple()]


def _twice(world: World) -> None:
    triple = world.triple()
    world.graph.add(triple)
    world.second.add(triple)


def _broken_quads(world: World) -> None:
    def quads() -> Any:
        # if the store keeps this quad, the delta must report it although the call fails
        yield (*world.triple(), world.graph)
        raise KeyError("the source of quads broke")

    world.graph.addN(quads())


def _serialised(world: World, syntax: str) -> str:
    graph = rdflib.Graph()
    for _ in range(4):
        graph.add(world.triple())
    graph.add((rdflib.BNode(), world.triple()[1], rdflib.Literal("ü", lang="de")))
    return graph.serialize(format=syntax)


def _parse(syntax: str) -> Operation:
    def run(world: World) -> None:
        world.graph.parse(data=_serialised(world, syntax), format=syntax)

    return Operation(f"parse {syntax}", run)


def _parse_dataset(syntax: str) -> Operation:
    def run(world: World) -> None:
        source = rdflib.Dataset()
        for name in NAMES:
            source.graph(name).add(world.triple())
        source.add(world.triple())
        world.data().parse(data=source.serialize(format=syntax), format=syntax)

    return Operation(f"parse {syntax} into a dataset", run)


def _update(text: str, *, dataset: bool = False) -> Operation:
    def run(world: World) -> None:
        world.update(text, dataset=dataset)

    return Operation(f"update {'dataset ' if dataset else ''}{text}", run)


def _load(world: World) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.ttl"
        path.write_text(_serialised(world, "turtle"), encoding="utf-8")
        world.data().update(f"LOAD <{path.as_uri()}> INTO GRAPH <{NAMES[1]}>")


GRAPH_OPERATIONS: Final = (
    Operation("add", lambda w: w.graph.add(w.triple())),
    Operation("add what is there", lambda w: w.graph.add(term("a p b"))),
    Operation("add through a second graph", lambda w: w.second.add(w.triple())),
    Operation("add twice", _twice, one_commit=False),
    Operation("addN", lambda w: w.graph.addN((*w.triple(), w.graph) for _ in range(3))),
    Operation("addN that fails", _broken_quads),
    Operation("+=", _iadd),
    Operation("-=", _isub, one_commit=False),
    Operation("BatchAddGraph", _batch_add, one_commit=False),
    Operation("set", lambda w: w.graph.set(w.triple()), one_commit=False),
    Operation("remove", lambda w: w.graph.remove(w.triple())),
    Operation("remove what is there", lambda w: w.graph.remove(term("a p b"))),
    Operation("remove by subject", lambda w: w.graph.remove(_wildcard(w, 1, 2))),
    Operation("remove by predicate", lambda w: w.graph.remove(_wildcard(w, 0, 2))),
    Operation("remove by object", lambda w: w.graph.remove(_wildcard(w, 0, 1))),
    Operation("remove by predicate and object", lambda w: w.graph.remove(_wildcard(w, 0))),
    Operation("remove everything", lambda w: w.graph.remove((None, None, None))),
    *map(_parse, ("turtle", "nt", "xml", "n3", "json-ld")),
    Operation(
        "parse that fails", lambda w: w.graph.parse(data="<a:a> <a:b> <a:c> . <a:d> .", format="turtle")
    ),
    _update("INSERT DATA {{t} . {u}}"),
    _update("DELETE DATA {{t} . {u}}"),
    _update("DELETE {?s :p ?o} INSERT {?o :q ?s} WHERE {?s :p ?o FILTER(isIRI(?o))}"),
    _update("INSERT {?s :r [ :q ?o ]} WHERE {?s :p ?o}"),
    _update("DELETE WHERE {?s :q ?o}"),
    _update("INSERT DATA {{t}} ; DELETE DATA {{u}} ; INSERT DATA {{v}}"),
    _update("INSERT DATA {{t}} ; DELETE DATA {{t}}"),
    _update("INSERT DATA {{t}} ; CREATE GRAPH :g1"),
    _update("INSERT DATA { broken"),
    Operation("rollback", lambda w: w.graph.rollback()),
    Operation("commit", lambda w: w.graph.commit()),
)

DATASET_OPERATIONS: Final = (
    Operation("dataset add", lambda w: w.data().add(w.triple())),
    Operation("dataset add quad", lambda w: w.data().add((*w.triple(), w.choice.choice(NAMES)))),
    Operation("dataset addN", lambda w: w.data().addN((*w.triple(), name) for name in NAMES)),
    Operation("dataset remove from all graphs", lambda w: w.data().remove((*w.triple(), None))),
    Operation("dataset remove quad", lambda w: w.data().remove((*w.triple(), w.choice.choice(NAMES)))),
    Operation("dataset remove by subject", lambda w: w.data().remove((*_wildcard(w, 1, 2), None))),
    Operation("dataset remove everything", lambda w: w.data().remove((None, None, None, None))),
    Operation("graph of a dataset", lambda w: w.data().graph(NAMES[1]).add(w.triple())),
    Operation("remove_graph", lambda w: w.data().remove_graph(w.choice.choice(NAMES))),
    Operation("remove_graph of the default graph", lambda w: w.data().remove_graph(DATASET_DEFAULT_GRAPH_ID)),
    *map(_parse_dataset, ("trig", "nquads", "json-ld", "trix")),
    *(
        _update(text, dataset=True)
        for text in (
            "INSERT DATA { GRAPH :g1 {{t}} GRAPH :g2 {{u}} }",
            "INSERT DATA { {t} GRAPH :g2 {{u} . {v}} }",
            "DELETE DATA { GRAPH :g1 {{t}} }",
            "DELETE { GRAPH ?g {?s :p ?o} } INSERT { GRAPH ?g {?s :r ?o} } WHERE { GRAPH ?g {?s :p ?o} }",
            "WITH :g1 DELETE {?s :p ?o} INSERT {?o :p ?s} WHERE {?s :p ?o FILTER(isIRI(?o))}",
            "WITH :g2 DELETE {?s ?p ?o} WHERE {?s ?p ?o}",
            "INSERT { GRAPH :g2 {?s ?p ?o} } USING :g1 WHERE {?s ?p ?o}",
            "DELETE WHERE { GRAPH :g1 {?s :q ?o} }",
            "CLEAR GRAPH :g1",
            "CLEAR DEFAULT",
            "CLEAR NAMED",
            "CLEAR ALL",
            "DROP GRAPH :g2",
            "DROP SILENT GRAPH :nowhere",
            "DROP ALL",
            "CREATE GRAPH :g3",
            "CREATE SILENT GRAPH :g1",
            "COPY :g1 TO :g2",
            "COPY DEFAULT TO :g1",
            "MOVE :g1 TO :g2",
            "ADD :g1 TO DEFAULT",
            "ADD :g2 TO :g1",
            "COPY :nowhere TO :g2",
            "LOAD <file:///nowhere.ttl> INTO GRAPH :g1",
            "LOAD SILENT <file:///nowhere.ttl> INTO GRAPH :g1",
            "INSERT DATA { GRAPH :g1 {{t}} } ; MOVE :g1 TO :g2 ; CLEAR DEFAULT",
        )
    ),
    Operation("LOAD a file", _load),
)
