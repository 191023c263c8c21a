"""The ten rules, what is made of them, and what `rules="rdfs"` has more."""

from __future__ import annotations

from collections import Counter
from itertools import product
from random import Random
from typing import Any

import rdflib
from hypothesis import given, settings
from hypothesis import strategies as st
from rdflib import RDF, RDFS, BNode, Literal, URIRef

from entail.rules import naive
from rdflive.entail.rdfs_rules import JOINS, RDFS_RULES, STEPS
from rdflive.entail.rules import Program, load_program
from rdflive.entail.schema import RdfsTerms, Schema
from rdflive.entail.templates import Kind, KindTemplates
from support.effort import examples
from support.entailment import SCHEMA, Triple, make_instance, make_schema, saturated, world
from support.entailment import Vocabulary as Words

EXTENSIONS = Program(tuple(rule for rule in RDFS_RULES.rules if rule.name.startswith("ext")))
SEEDS = st.integers(0, 10**9)


def make_triples(random: Random, words: Words, *, cyclic: bool = True, meta: bool) -> set[Triple]:
    """Make a small graph with its schema."""
    schema = [make_schema(random, words, cyclic=cyclic, meta=meta) for _ in range(random.randint(0, 9))]
    return {*schema, *(make_instance(random, words, meta=meta) for _ in range(random.randint(0, 9)))}


def schema_of(triples: set[Triple]) -> Schema:
    schema = Schema(RdfsTerms())
    for triple in triples:
        if triple[1] in SCHEMA:
            schema.change(1, triple)
    return schema


def test_every_rule_is_a_step_or_a_join() -> None:
    """The ten rules are all read, each as one of the two."""
    assert [*(s.rule for s in STEPS), *(j.rule for j in JOINS)] == [rule.name for rule in RDFS_RULES.rules]


@settings(max_examples=examples(200), deadline=None)
@given(SEEDS, st.booleans())
def test_the_rules_entail_what_the_book_says(seed: int, meta: bool) -> None:
    """The fixpoint of the rules is what the tests' own oracle gives, which closes the schema first."""
    triples = make_triples(Random(seed), world(), meta=meta)
    assert naive.entailed(RDFS_RULES, triples) == saturated(triples)


@settings(max_examples=examples(200), deadline=None)
@given(SEEDS, st.booleans())
def test_the_closed_schema_is_the_fixpoint_of_its_rules(seed: int, meta: bool) -> None:
    """Read by any pattern, from either end, and after deletes, the closed schema is that of the rules."""
    random, words = Random(seed), world()
    triples = make_triples(random, words, meta=meta)
    schema = schema_of(triples)
    for _ in range(2):
        closed = {
            t for t in naive.entailed(RDFS_RULES, (t for t in triples if t[1] in SCHEMA)) if t[1] in SCHEMA
        }
        places = [
            {None, *random.sample(sorted(found, key=repr), min(4, len(found)))} for found in _columns(closed)
        ]
        for s, p, o in product(*places):
            found = list(schema.entailed((s, p, o)))
            assert len(found) == len(set(found))
            assert set(found) == {
                t for t in closed if s in (None, t[0]) and p in (None, t[1]) and o in (None, t[2])
            }
        for triple in closed:
            check_proof(schema, triple, triples)
        gone = {t for t in triples if t[1] in SCHEMA and random.random() < 0.5}
        for triple in gone:
            schema.change(-1, triple)
        triples -= gone


def _columns(triples: set[Triple]) -> list[set[Any]]:
    return [{triple[i] for triple in triples} for i in range(3)]


def check_proof(schema: Schema, triple: Triple, explicit: set[Triple]) -> None:
    """Apply the rules that are named to the premises, from explicit triples to the goal."""
    known = set(explicit)
    for name, premises, conclusion in schema.proof(triple):
        assert known.issuperset(premises)
        rule = next(rule for rule in RDFS_RULES.rules if rule.name == name)
        assert conclusion in {head for _, head in naive.derivations(rule, naive.Index(premises))}
        known.add(conclusion)
    assert triple in known


def templates_of(schema: Schema, *, paths: bool) -> KindTemplates:
    """Make templates for which everything counts as used."""
    return KindTemplates(
        schema,
        is_iri=lambda term: isinstance(term, URIRef),
        is_literal=lambda term: isinstance(term, Literal),
        is_used=lambda _: True,
        paths=paths,
    )


@settings(max_examples=examples(300), deadline=None)
@given(SEEDS, st.booleans())
def test_templates_are_the_same_ahead_and_back(seed: int, paths: bool) -> None:
    """The atoms of a kind are the same from its sources and from itself, with paths too."""
    random, words = Random(seed), world()
    cyclic = not paths and bool(seed % 2)
    schema = schema_of(set())
    ahead, back = (templates_of(schema, paths=paths) for _ in range(2))
    kinds: list[Kind] = [(RDF.type, c) for c in words.classes] + [(p, None) for p in words.properties]
    asked = random.sample(kinds, random.randint(1, len(kinds)))
    ahead.refresh((), (), everything=True)
    back.refresh((), asked, everything=False)
    present: set[Triple] = set()
    for _ in range(8):
        changed = {
            make_schema(random, words, cyclic=cyclic, meta=False) for _ in range(random.choice((1, 1, 3)))
        }
        for triple in changed:
            schema.change(-1 if triple in present else 1, triple)
        present ^= changed
        ahead.refresh(changed, (), everything=True)
        back.refresh(changed, asked, everything=False)
        assert not back.goes_ahead
        for kind in asked:
            assert ahead.atoms_of(kind) == back.atoms_of(kind)
    assert {**ahead.cycles, **back.cycles} == {}


RDF_WORDS = (str(RDF), str(RDFS))
MORE = {
    "about RDF's own words": lambda s, p, o: str(s).startswith(RDF_WORDS) and not isinstance(s, BNode),
    "everything is a resource": lambda s, p, o: (p, o) == (RDF.type, RDFS.Resource),
    "properties are properties": lambda s, p, o: (p, o) == (RDF.type, RDF.Property),
    "classes are classes": lambda s, p, o: (p, o) == (RDF.type, RDFS.Class),
    "classes are below themselves": lambda s, p, o: p == RDFS.subClassOf and s == o,
    "classes are below rdfs:Resource": lambda s, p, o: (p, o) == (RDFS.subClassOf, RDFS.Resource),
    "properties are below themselves": lambda s, p, o: p == RDFS.subPropertyOf and s == o,
}
"""What `rules="rdfs"` entails more where a graph says nothing of RDF's own words."""


def test_rules_have_more_than_the_fragment_by_a_list() -> None:
    """What `rules="rdfs"` has more is of one of the kinds that its page lists, and each of them occurs."""
    seen: Counter[str] = Counter()
    for seed in range(examples(40)):
        triples = make_triples(Random(f"more {seed}"), world(), meta=False)
        more = naive.entailed(load_program("rdfs"), triples) - naive.entailed(RDFS_RULES, triples)
        for triple in more:
            reasons = [name for name, matches in MORE.items() if matches(*triple)]
            assert reasons, triple
            seen.update(reasons[:1])
    assert seen.keys() == MORE.keys()


@settings(max_examples=examples(40), deadline=None)
@given(SEEDS)
def test_rules_entail_what_the_fragment_does(seed: int) -> None:
    """All but the domains and ranges of ext1 to ext4; with these rules everything."""
    random = Random(seed)
    triples = make_triples(random, world(blanks=False), meta=False)
    missing = naive.entailed(RDFS_RULES, triples) - naive.entailed(load_program("rdfs"), triples)
    assert {p for _, p, _ in missing} <= {RDFS.domain, RDFS.range}
    triples = make_triples(random, world(), meta=True)
    both = Program.union([load_program("rdfs"), EXTENSIONS])
    assert naive.entailed(both, triples) >= naive.entailed(RDFS_RULES, triples)


def test_what_rules_lack_of_the_fragment() -> None:
    """Domains of properties and classes above, and what follows by way of a blank node."""
    text = """@prefix : <urn:> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
        :p rdfs:subPropertyOf :q . :q rdfs:domain :C . :C rdfs:subClassOf :D .
        :r rdfs:subPropertyOf _:b . _:b rdfs:range :D . :x :r :y ; :p :y ."""
    triples = set(rdflib.Graph().parse(data=text))
    missing = naive.entailed(RDFS_RULES, triples) - naive.entailed(load_program("rdfs"), triples)
    p, q, r, c, d, y = map(URIRef, ("urn:p", "urn:q", "urn:r", "urn:C", "urn:D", "urn:y"))
    assert missing == {
        *((s, RDFS.domain, o) for s, o in ((p, c), (p, d), (q, d))), (r, RDFS.range, d), (y, RDF.type, d),
    }  # fmt: skip
