"""Strategies of expiry against each other and against the fixpoint, tick by tick, on random programs.

    PYTHONPATH=tests python tests/time/expiry/differential.py --ticks 20000 --seed 1

Windows of several ranges look at one closure; each also has an entailment that deletes and derives again,
one that begins anew and one that keeps all derivations. All must hold the same, and the labels must be those
of the fixpoint by the book.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from random import Random
from time import perf_counter
from typing import Any

from rdflib import OWL, RDF, RDFS, URIRef

from entail.rules.worlds import make_program, make_triple
from rdflive.entail.rdfs import Rdfs
from rdflive.entail.rules import Program, RuleRegime, load_program
from rdflive.time.expiry import program_of, regime_for
from support.entailment import make_commits, world
from support.expiry import Timeline, play, rules

Triple = tuple[Any, Any, Any]
World = tuple[Program, Any, list[Triple]]
"""Rules, the regime that they are of, and the triples that come and go."""

STEPS = 40


def any_rules(random: Random) -> World:
    """Make any rules on any triples."""
    program = make_program(random)
    return program, RuleRegime(program), [make_triple(random) for _ in range(random.choice([5, 15, 30]))]


def edges(random: Random) -> World:
    """Make a property transitive, alone or beside other rules."""
    program = rules(
        "{ ?x :in ?y . ?y :in ?z } => { ?x :in ?z } ."
        + random.choice(
            ["", "{ ?x :on ?y } => { ?x :in ?y } .", "{ ?x :in ?y . ?z :on ?y } => { ?x :by ?z } ."]
        )
    )
    nodes = [URIRef(f"urn:{number}") for number in range(random.choice([4, 7]))]
    names = [URIRef("urn:in"), URIRef("urn:in"), URIRef("urn:on")]
    pool = [(random.choice(nodes), random.choice(names), random.choice(nodes)) for _ in range(25)]
    return program, RuleRegime(program), pool


def owl(random: Random) -> World:
    """Say something of properties and classes in OWL."""
    program = load_program("rdfs-plus")
    a, b, c, p, q, r = (URIRef(f"urn:{name}") for name in "abcpqr")
    words = [
        (p, RDF.type, OWL.TransitiveProperty), (q, RDF.type, OWL.SymmetricProperty), (p, OWL.inverseOf, q),
        (q, RDFS.subPropertyOf, p), (p, RDFS.domain, a), (a, RDFS.subClassOf, b), (b, OWL.sameAs, c),
        (r, RDF.type, OWL.FunctionalProperty), (b, OWL.equivalentClass, c), (p, OWL.equivalentProperty, r),
    ]  # fmt: skip
    data = [(random.choice("abc"), random.choice("pqr"), random.choice("abc")) for _ in range(8)]
    facts = [(URIRef(f"urn:{s}"), URIRef(f"urn:{p}"), URIRef(f"urn:{o}")) for s, p, o in data]
    return program, RuleRegime(program), [*random.sample(words, 6), *facts, (a, RDF.type, b)]


def rdfs(random: Random) -> World:
    """Make schemas and data for RDFS."""
    writes = [write for commit in make_commits(random, world(), 12) for write in commit]
    return program_of(Rdfs()), Rdfs(), [triple for _, triple in writes]


FAMILIES: dict[str, Callable[[Random], World]] = {
    "any rules": any_rules,
    "edges": edges,
    "OWL": owl,
    "RDFS": rdfs,
}


def run(name: str, *, ticks: int, seed: int) -> str:
    """Play worlds of a family, and tell how many."""
    random, start, worlds = Random(f"{name} {seed}"), perf_counter(), 0
    for worlds in range(1, -(-ticks // STEPS) + 1):
        program, regime, pool = FAMILIES[name](random)
        others = [regime_for(way, regime) for way in ("keep-all", "dred", "recompute")]
        timeline = Timeline(program, random.sample([2, 3, 5, 8], 2), others, early=bool(worlds % 2))
        try:
            play(timeline, random, pool, STEPS)
        except BaseException as error:
            raise AssertionError(f"{name}, seed {seed}, world {worlds}: {error}") from error
    return f"{worlds} worlds of {STEPS} steps in {perf_counter() - start:.0f} s"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run every family, and say how much was compared."""
    parser = argparse.ArgumentParser(description="Compare the strategies of expiry.")
    parser.add_argument("--ticks", type=int, default=20_000, help="steps in all")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    for name in FAMILIES:
        print(f"{name}: {run(name, ticks=-(-options.ticks // len(FAMILIES)), seed=options.seed)}", flush=True)


if __name__ == "__main__":
    main()
