"""What windows hold and entail, by every strategy, against the book at every report."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from functools import lru_cache
from random import Random
from typing import Any

import pytest
from rdflib import OWL, RDF, RDFS, URIRef

import rdflive
from entail.rules.naive import entailed
from rdflive.entail.regimes import regime_of
from rdflive.entail.rules import load_program
from support.demand import NODES, PREDICATES, check_held, eager, make_text
from support.effort import drawn_from, rounds
from support.entailment import saturated
from support.expiry import labelled
from support.streams import EX, Triple, Triples, iri, spelled
from support.window_plays import make_operations, play
from support.window_runs import Entailing, Query, World

EXPIRIES = ("labels", "keep-all", "dred", "recompute")
TYPE, SC, SP = str(RDF.type), str(RDFS.subClassOf), str(RDFS.subPropertyOf)
DOMAIN, RANGE = str(RDFS.domain), str(RDFS.range)
TRANSITIVE = f"@prefix : <{EX}> . {{ ?x :isIn ?y . ?y :isIn ?z }} => {{ ?x :isIn ?z }} ."
JOINED = f"""@prefix : <{EX}> .
    {{ ?x :p ?y . ?y :q ?z }} => {{ ?x :r ?z }} .
    {{ ?x :r ?y }} => {{ ?y :p ?x }} ."""


def full(triples: Any) -> set[Any]:
    return {tuple(URIRef(spelled(name)) for name in triple) for triple in triples}


def short(triples: Any) -> Triples:
    return frozenset(tuple(str(term).removeprefix(EX) for term in triple) for triple in triples)


def by_rules(name: str, text: str) -> Entailing:
    program = load_program(text)

    def labels(held: dict[Triple, int]) -> dict[Triple, int]:
        explicit = {tuple(URIRef(spelled(name)) for name in triple): at for triple, at in held.items()}
        return {
            tuple(str(term).removeprefix(EX) for term in triple): at
            for triple, at in labelled(program, explicit).items()
        }  # type: ignore[return-value]  # triples of three

    close = lru_cache(maxsize=20_000)(lambda triples: short(entailed(program, full(triples))))
    return Entailing(name, regime_of(None, text, "auto", None), close, labels)


def by_rdfs() -> Entailing:
    close = lru_cache(maxsize=20_000)(lambda triples: short(saturated(full(triples))))
    return Entailing("rdfs", regime_of("rdfs", None, "auto", None), close)


def is_in(random: Random) -> Triple:
    return random.choice("abcde"), "isIn", random.choice("abcde")


def joined(random: Random) -> Triple:
    return random.choice("abc"), random.choice("pq"), random.choice("abc")


def classes(random: Random) -> Triple:
    if random.random() < 0.35:
        return random.choice(
            (
                (random.choice("ABC"), SC, random.choice("ABC")),
                (random.choice("pq"), SP, random.choice("pq")),
                (random.choice("pq"), random.choice((DOMAIN, RANGE)), random.choice("ABC")),
            )
        )
    if random.random() < 0.4:
        return random.choice("ab"), TYPE, random.choice("ABC")
    return random.choice("ab"), random.choice("pq"), random.choice("abc")


def ontology(random: Random) -> Triple:
    if random.random() < 0.3:
        kinds = (OWL.SymmetricProperty, OWL.TransitiveProperty, OWL.FunctionalProperty)
        return random.choice((("p", TYPE, str(random.choice(kinds))), ("p", str(OWL.inverseOf), "q")))
    return classes(random)


WORLDS: dict[str, tuple[Callable[[], Entailing], Callable[[Random], Triple], list[Query]]] = {
    "transitive": (
        lambda: by_rules("transitive", TRANSITIVE),
        is_in,
        [
            Query(f"SELECT * {{ ?x {iri('isIn')} ?y }}", (("?x", "isIn", "?y"),)),
            Query(f"SELECT * {{ {iri('a')} {iri('isIn')} ?y }}", (("a", "isIn", "?y"),)),
            Query(f"SELECT DISTINCT ?x {{ ?x {iri('isIn')} ?y . ?y {iri('isIn')} {iri('c')} }}"),
        ],
    ),
    "joined": (
        lambda: by_rules("joined", JOINED),
        joined,
        [
            Query(f"SELECT * {{ ?x {iri('r')} ?y }}", (("?x", "r", "?y"),)),
            Query(
                f"SELECT * {{ ?x {iri('p')} ?y . ?y {iri('r')} ?z }}", (("?x", "p", "?y"), ("?y", "r", "?z"))
            ),
            Query(f"SELECT * {{ ?x {iri('p')} ?y MINUS {{ ?y {iri('r')} ?x }} }}"),
        ],
    ),
    "rdfs": (
        by_rdfs,
        classes,
        [
            Query("SELECT * { ?x a ?c }"),
            Query(f"SELECT * {{ ?x {iri('q')} ?y . ?y a {iri('B')} }}"),
            Query("SELECT ?c (COUNT(?x) AS ?n) { ?x a ?c } GROUP BY ?c"),
        ],
    ),
    "owl-rl": (
        lambda: by_rules("owl-rl", "owl-rl"),
        ontology,
        [Query(f"SELECT * {{ ?x {iri('p')} ?y }}"), Query(f"SELECT * {{ ?x a {iri('B')} }}")],
    ),
}
WINDOWS = (
    rdflive.Sliding(10, 1), rdflive.Sliding(6, 2, closed="both"), rdflive.Sliding(8), rdflive.Sliding(4),
    rdflive.Tumbling(5), rdflive.Count(6, 2), rdflive.Landmark(0),
)  # fmt: skip


@pytest.fixture(autouse=True)
def alarmed(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """Fail on errors in the log, as only the log reports that a view failed and was restarted."""
    with caplog.at_level(logging.ERROR, "rdflive"):
        yield
    assert not caplog.records, caplog.text


@pytest.mark.sampled(by="seed")
@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("seed", range(4))
def test_strategies_are_equal_to_the_book(name: str, seed: int) -> None:
    """All tell the same at each report: what came, what expired, what was retracted, and when."""
    make, triple, queries = WORLDS[name]
    entailing = make()
    random = drawn_from(name, seed)
    world = World(("graph", "graph", "oxigraph graph")[seed % 3], seed % 3, 3 * (seed % 2), seed != 1)
    count = 25 if name == "owl-rl" else 45
    operations = make_operations(random, count, triple=triple)
    quiet = [operation for operation in operations if operation[0] not in ("open", "close")]
    for window in random.sample(WINDOWS, 2):
        for query in random.sample(queries, 2):
            for expiry in EXPIRIES:
                shown = bool(query.patterns) and expiry == "labels"
                world.open(query, (0, window), entailing=entailing, expiry=expiry, expires=shown)
    assert world.opened
    play(world, quiet)


@pytest.mark.parametrize("expiry", ["auto", "keep-all", "dred", "recompute"])
def test_merged_windows_entail_together(expiry: str) -> None:
    """What windows of two streams and the graph beside them hold entails as one graph."""
    make, triple, queries = WORLDS["transitive"]
    world = World("graph", streams=2)
    sources = ((0, rdflive.Sliding(5)), (0, rdflive.Sliding(8, 2)), (1, rdflive.Sliding(4, 1)))
    for query in queries:
        world.open(query, *sources, entailing=make(), expiry=expiry)
    operations = make_operations(drawn_from("merged", expiry), 60, streams=2, triple=triple)
    play(world, [operation for operation in operations if operation[0] not in ("open", "close")])
    assert world.checks


def asked(random: Random) -> Triple:
    """Make a triple that the queries that ask for little may ask for, or now and then a schema triple."""
    one, other = random.choice(PREDICATES), random.choice(PREDICATES)
    ends = (one, other) if random.random() < 0.1 else (random.choice(NODES), random.choice(NODES))
    predicate = random.choice((SC, SP, DOMAIN)) if ends == (one, other) else random.choice(PREDICATES)
    subject, predicate, target = (
        TYPE if name == "a" else name.removeprefix(":") for name in (ends[0], predicate, ends[1])
    )
    return subject, predicate, target


class Held(World):
    """Also compares what patterns hold with the windows."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.kinds: Counter[str] = Counter()

    def check(self, *, exact: bool = True) -> None:
        """Compare what is told and held."""
        super().check(exact=exact)
        for state in {each.followed.subscription._state for each in self.opened}:
            self.kinds += check_held(state)


ENTAILING: dict[str, Callable[[], Entailing | None]] = {
    "plain": lambda: None,
    "joined": WORLDS["joined"][0],
    "rdfs": by_rdfs,
}


@pytest.mark.parametrize("name", ENTAILING)
def test_demand_changes_no_report(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Patterns held by demand, whole, and now one way, now the other, tell the same; then all is gone."""
    eager(monkeypatch)
    random, kinds, entailing = drawn_from("demand", name), Counter[str](), ENTAILING[name]()
    for number in range(rounds(80, share=10)):
        # Oxigraph, which evaluates, has no empty path of a term that is not in the data
        text = f"PREFIX : <{EX}> {make_text(random).replace(':p* ?x', ':p+ ?x')}"
        texts = text, text.replace(random.choice(NODES), random.choice(NODES))
        queries = [Query(text, algorithm=way) for text in texts for way in ("demand", "whole", "auto")]
        beside, streams = number % 3 > 0, 1 + number % 2
        world = Held("graph", number % 2, beside=beside, streams=streams)
        operations = make_operations(random, 60, streams=streams, triple=asked)
        outputs = "delta", "istream", "dstream"  # when the whole is told depends on what is held
        play(world, operations, merged=beside, queries=queries, outputs=outputs, entailing=entailing)
        kinds += world.kinds
    assert kinds["by demand"]
    # over what windows entail nothing is chosen
    assert bool(kinds["whole"]) is (name == "plain")
