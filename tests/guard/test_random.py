"""Random commits under random guards: refused are those that recomputation says would add a result."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from random import Random
from typing import Any

import pytest
import rdflib
from rdflib import RDFS, XSD, BNode, Literal, URIRef

import rdflive
from rdflive.api.target import GraphTarget
from shacl.test_differential import validates
from shacl.worlds import LINKS, LITERALS, Shapes, result, triple
from support.effort import drawn_from, rounds
from support.evaluate import answer
from support.quads import DATASETS, Store, rows_of
from support.queries import EX, GRAPHS, Quad, make_quad, make_query
from support.queries import NODES as TERMS
from support.shacl import SH, Validator
from support.solutions import folded_row, row

REGIMES: dict[str, Mapping[str, Any]] = {
    "none": {},
    "rdfs": {"entailment": "rdfs"},
    "rules": {"rules": f"@prefix : <{EX}> . {{ ?x :p ?y . ?y :p ?z }} => {{ ?x :q ?z }} ."},
}
MOST = 200
"""If of so many plays none refuses a write, none will."""
Quads = frozenset[Quad]
Rows = Callable[[Quads], "Counter[Any]"]


@dataclass
class Refusing:
    """A guard, and what it looks at: rows worked out from all quads."""

    guard: rdflive.Guard
    rows: Rows
    counts: Callable[[Any], bool] = lambda row: True
    """Tells which of its answers refuse a commit."""

    def __post_init__(self) -> None:
        """Work out the rows of a state once: what one commit leads to is where the next one begins."""
        self.rows = lru_cache(2)(self.rows)

    def added(self, before: Quads, after: Quads) -> Counter[Any]:
        """Give the rows that a commit would add."""
        return self.rows(after) - self.rows(before)


class Play:
    """A guarded graph, and guards that come and go."""

    def __init__(self, chance: Random, open_guard: Callable[[], Refusing | None]) -> None:
        self._chance, self._open = chance, open_guard
        self._guards: list[Refusing] = []
        self.refused = self.made = 0

    def turn(self) -> None:
        """Close a guard, or open one."""
        if self._guards and self._chance.random() < 0.15:
            self._guards.pop(self._chance.randrange(len(self._guards))).guard.close()
        while not self._guards or (len(self._guards) < 3 and self._chance.random() < 0.3):
            opened = self._open()
            if opened is None:
                break
            self._guards.append(opened)

    def commit(self, write: Callable[[], object], before: Quads, after: Quads) -> bool:
        """Try a commit that would lead from some quads to others; tells if it is made."""
        added = sum((each.added(before, after) for each in self._guards), Counter[Any]())
        refused: Counter[Any] = Counter()
        try:
            write()
        except rdflive.ValidationError as error:
            refused.update(map(self.comparable, error.results))
        assert refused == added
        for each in self._guards:
            found = filter(each.counts, map(self.comparable, each.guard.answers()))
            assert Counter(found) == each.rows(before if added else after)
        self.refused, self.made = self.refused + bool(added), self.made + (not added)
        return not added

    comparable: Callable[[Any], Any]

    def close(self) -> None:
        """Close the guards."""
        while self._guards:
            self._guards.pop().guard.close()


def grouped(chance: Random, graph: Any, writes: list[Callable[[], object]]) -> Callable[[], None]:
    """Make writes one commit; of several some are in a batch inside."""
    cut = chance.randint(0, len(writes))

    def run() -> None:
        with rdflive.batch(graph) if len(writes) > 1 else nullcontext():
            for write in writes[:cut]:
                write()
            with rdflive.batch(graph) if len(writes) > 1 else nullcontext():
                for write in writes[cut:]:
                    write()

    return run


def play_queries(chance: Random, kind: str, regime: str) -> Play:
    """Guard a store by random queries, also single graphs of it."""
    store, given = Store(kind), REGIMES[regime]
    graphs = kind in DATASETS

    def quad() -> Quad:
        if regime == "rdfs" and chance.random() < 0.2:
            names = [URIRef(EX + name) for name in "pq"]
            return (
                *chance.choice([(names[0], RDFS.subPropertyOf, names[1]), (names[1], RDFS.domain, TERMS[0])]),
                None,
            )
        return make_quad(chance, graphs=graphs)

    def open_guard() -> Refusing | None:
        one = chance.choice(GRAPHS) if graphs and not store.native and chance.random() < 0.3 else None
        has_graphs = graphs and one is None and not given
        query = make_query(chance, graphs=has_graphs, depth=chance.choice((1, 1, 2)))
        graph = store.graph if one is None else store.graph.get_context(one)

        def rows(quads: Quads) -> Counter[Any]:
            if one is not None:
                quads = frozenset((*each[:3], None) for each in quads if each[3] == one)
            if not given:
                found = answer(query, quads, union=store.union)
            else:
                copy = Store("graph" if one is not None else kind)
                copy.commit([(1, each) for each in quads])
                with rdflive.subscribe(copy.graph, str(query), **given) as fresh:
                    return Counter(map(play.comparable, fresh.answers()))
            if isinstance(found, bool):
                return Counter([folded_row(row([]))] if found else [])
            return Counter(rows_of(found))

        try:
            return Refusing(rdflive.guard(graph, str(query), **given), rows)
        except rdflive.UnsupportedQueryError:
            return None

    play = Play(chance, open_guard)
    play.comparable = lambda solution: folded_row(row(in_rdflib(solution.asdict()).items()))
    for _ in range(chance.choice((0, 4, 10))):
        store.write((1, quad()))
    for _ in range(rounds(30)):
        play.turn()
        before = frozenset(store.quads)
        writes = [(chance.choice((1, 1, -1)), quad()) for _ in range(chance.choice((1, 1, 2, 5)))]
        after = before
        for sign, each in writes:
            after = after | {each} if sign > 0 else after - {each}
        write = grouped(chance, store.graph, [lambda each=each: store.write(each) for each in writes])
        store.quads = set(after if play.commit(write, before, after) else before)
        assert set(map(tuple, GraphTarget(store.graph).quads())) == store.quads
    play.close()
    return play


def in_rdflib(terms: dict[str, Any]) -> dict[str, Any]:
    """Turn terms of pyoxigraph into those of rdflib."""
    from rdflive_stores.oxigraph.terms import to_rdflib

    return {
        name: term if term is None or isinstance(term, rdflib.term.Node) else to_rdflib(term)
        for name, term in terms.items()
    }


def play_all(play: Callable[[], Play], least: int) -> None:
    """Play so often, and on until writes were made and others refused."""
    made = refused = 0
    for number in count():
        played = play()
        made, refused = made + played.made, refused + played.refused
        if number + 1 >= least and made and refused:
            return
        assert number < MOST, "nothing was refused" if made else "nothing was made"


@pytest.mark.timeout(1800)
@pytest.mark.sampled(by="kind")
@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("kind", ["graph", "simple memory", "oxigraph graph", *DATASETS])
def test_queries_refuse_what_would_add_rows(kind: str, regime: str) -> None:
    """And nothing else; the error has the rows, and the store is as before or after."""
    chance = drawn_from("guard", "queries", kind, regime)
    play_all(lambda: play_queries(chance, kind, regime), rounds(80, share=20))


DATA: dict[str, Callable[[], tuple[Any, list[Any]]]] = {
    "graph": lambda: single(rdflib.Graph()),
    "oxigraph": lambda: single(rdflib.Graph("Oxigraph")),
    "named graph": lambda: several(rdflib.Dataset(), union=False),
    "named graph of oxigraph": lambda: several(rdflib.Dataset("Oxigraph"), union=False),
    "union": lambda: several(rdflib.Dataset(default_union=True), union=True),
    "union of oxigraph": lambda: several(rdflib.Dataset("Oxigraph", default_union=True), union=True),
}
"""What is guarded, and the graphs that are written."""


def single(graph: Any) -> tuple[Any, list[Any]]:
    return graph, [graph]


def several(dataset: Any, *, union: bool) -> tuple[Any, list[Any]]:
    graphs = [*(dataset.graph(name) for name in GRAPHS), dataset.default_graph]
    return (dataset if union else graphs[0]), graphs


def some_write(chance: Random, literals: list[Any]) -> Callable[[Any], object]:
    """Draw a write that is one commit on any graph."""
    s, p, o = triple(chance, literals)
    more = [each for each in (triple(chance, literals) for _ in range(3)) if not has_blank(each)]
    text = " . ".join(" ".join(term.n3() for term in each) for each in more)
    link, other = chance.choice(LINKS).n3(), chance.choice(LINKS).n3()
    change = f"DELETE {{ ?s {link} ?o }} INSERT {{ ?s {other} ?o }} WHERE {{ ?s {link} ?o }}"
    writes: list[Callable[[Any], object]] = [
        lambda graph: graph.add((s, p, o)),
        lambda graph: graph.add((s, p, o)),
        lambda graph: graph.remove((s, p, None)),
        lambda graph: graph.remove((None, p, o)),
        lambda graph: graph.addN((*each, graph) for each in more),
        lambda graph: graph.parse(data=text + " .", format="turtle") if text else None,
        lambda graph: graph.update(f"INSERT DATA {{ {text} }}"),
        lambda graph: graph.update(f"DELETE DATA {{ {text} }}"),
        lambda graph: graph.update(change),
    ]
    return chance.choice(writes)


def has_blank(terms: Any) -> bool:
    return any(isinstance(term, BNode) for term in terms)


def play_shapes(chance: Random, kind: str, regime: str) -> Play:
    """Guard a graph by random shapes; those that a validator does not take are passed over."""
    guarded, graphs = DATA[kind]()
    given = REGIMES[regime]

    def rows_by(shapes: rdflib.Graph, severities: set[Any]) -> Rows:
        def rows(quads: Quads) -> Counter[Any]:
            copy = rdflib.Graph()
            for s, p, o, name in quads:
                if guarded is not graphs[0] or name == 0:
                    copy.add((s, p, o))
            with rdflive.validate(copy, shapes, **given) as fresh:
                found = Counter(map(with_message, fresh.answers()))
            if not given:
                assert Counter(map(result, found.elements())) == Validator(copy, shapes).results()
            return Counter({each: count for each, count in found.items() if each[5] in severities})

        return rows

    def open_guard() -> Refusing | None:
        shapes = Shapes(chance, LITERALS).graph
        if not all(
            validates(rdflib.Graph(), shapes, node) for node in Validator(rdflib.Graph(), shapes).rooted()
        ):
            return None
        severity, names = chance.choice(SEVERITIES)
        made = rdflive.guard(guarded, shapes, severity=severity, **given)
        return Refusing(made, rows_by(shapes, names), lambda row: row[5] in names)

    play = Play(chance, open_guard)
    play.comparable = with_message
    for graph in graphs:
        for _ in range(chance.choice((0, 4, 12))):
            graph.add(triple(chance, LITERALS))
    for _ in range(rounds(12)):
        play.turn()
        before = held(graphs)
        # tried on an unguarded copy; the first graph of a batch is written to more
        writes = [
            (chance.randrange(len(graphs)), some_write(chance, LITERALS))
            for _ in range(chance.choice((1, 1, 1, 2, 4)))
        ]
        copies = DATA[kind]()[1]
        for s, p, o, number in before:
            copies[number].add((s, p, o))
        for number, write in writes:
            write(copies[number])
        after = held(copies)
        ours = [lambda n=n, write=write: write(graphs[n]) for n, write in writes]
        made = play.commit(grouped(chance, guarded, ours), before, after)
        assert held(graphs) == (after if made else before)
    play.close()
    return play


def with_message(row: Any) -> tuple[Any, ...]:
    """Give what of a row tells it from others: a node may break two constraints alike but for the message."""
    return (*result(row), plain(row[6]))


SEVERITIES: list[tuple[Any, set[Any]]] = [
    ("violation", {SH.Violation}),
    ("warning", {SH.Violation, SH.Warning}),
    ("info", {SH.Violation, SH.Warning, SH.Info}),
    (SH.Warning, {SH.Violation, SH.Warning}),
]


def held(graphs: list[Any]) -> Quads:
    """Give the triples of graphs with their numbers; strings as plain literals, as rdflib writes them."""
    triples = ((number, each) for number, graph in enumerate(graphs) for each in graph.triples((None,) * 3))
    return frozenset((s, p, plain(o), number) for number, (s, p, o) in triples)


def plain(term: Any) -> Any:
    return Literal(str(term)) if isinstance(term, Literal) and term.datatype == XSD.string else term


@pytest.mark.timeout(1800)
@pytest.mark.sampled(by="kind")
@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize("kind", DATA)
def test_shapes_refuse_what_would_add_results(kind: str, regime: str) -> None:
    """And nothing else, also where some are broken from the beginning; of several guards each may refuse."""
    chance = drawn_from("guard", "shapes", kind, regime)
    play_all(lambda: play_shapes(chance, kind, regime), rounds(60, share=15))
