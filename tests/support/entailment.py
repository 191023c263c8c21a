"""The triples that a graph entails: the fixpoint of the ten rules of Goasdoué et al., Figures 6 and 7.

Every rule is tried on every pair, so graphs must be small. No triple with a literal subject or a
predicate other than an IRI is derived. The schema is closed first (Figure 6), also through blank nodes:
`p subPropertyOf _:b` and `_:b subPropertyOf q` entail `p subPropertyOf q`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Any, Final, TypeAlias

from rdflib import RDF, RDFS, BNode, Literal, URIRef

__all__ = [
    "SCHEMA", "Triple", "Vocabulary", "Write", "closed_schema", "instances", "make_commits", "make_schema",
    "paths", "saturated", "supports", "world",
]  # fmt: skip

Triple: TypeAlias = tuple[Any, Any, Any]
Write: TypeAlias = tuple[int, Triple]
"""+1 to add a triple, -1 to remove it; either may change nothing."""

TYPE: Final = RDF.type
SC: Final = RDFS.subClassOf
SP: Final = RDFS.subPropertyOf
DOMAIN: Final = RDFS.domain
RANGE: Final = RDFS.range
SCHEMA: Final = (SC, SP, DOMAIN, RANGE)
EX: Final = "urn:example:"
PERIOD: Final = 16
"""Number of commits in which a random graph grows and shrinks again."""


def is_well_formed(triple: Triple) -> bool:
    """Return True if RDF allows the triple."""
    return not isinstance(triple[0], Literal) and isinstance(triple[1], URIRef)


def closed_schema(triples: Iterable[Triple]) -> set[Triple]:
    """Return the schema triples and those entailed by pairs of them (Figure 6)."""
    found = {triple for triple in triples if triple[1] in SCHEMA}
    while True:
        fresh = {new for one in found for other in found for new in _of_schema(one, other)} - found
        if not fresh:
            return found
        found |= fresh


def _of_schema(one: Triple, other: Triple) -> Iterator[Triple]:
    (s, p, middle), (start, q, o) = one, other
    if start != middle:
        return
    if p == q and p in (SC, SP):  # rdfs11, rdfs5
        yield s, p, o
    if p in (DOMAIN, RANGE) and q == SC:  # ext1, ext2
        yield s, p, o
    if p == SP and q in (DOMAIN, RANGE):  # ext3, ext4
        yield s, q, o


def _of_instance(schema: Triple, triple: Triple) -> Iterator[Triple]:
    """Apply Figure 7 to a schema triple and any triple; the results may be ill-formed."""
    (one, constraint, other), (s, p, o) = schema, triple
    if constraint == SC and p == TYPE and o == one:  # rdfs9
        yield s, TYPE, other
    if constraint == SP and p == one:  # rdfs7
        yield s, other, o
    if constraint == DOMAIN and p == one:  # rdfs2
        yield s, TYPE, other
    if constraint == RANGE and p == one:  # rdfs3
        yield o, TYPE, other


def saturated(triples: Iterable[Triple]) -> set[Triple]:
    """Return all triples that the triples entail, including themselves."""
    found = set(triples)
    schema = closed_schema(found)
    found |= schema
    fresh = found
    while fresh:
        derived = {new for rule in schema for triple in fresh for new in _of_instance(rule, triple)}
        fresh = set(filter(is_well_formed, derived)) - found
        found |= fresh
    return found


def paths(triples: Iterable[Triple]) -> Counter[Triple]:
    """Count the derivations of each instance triple by Saturate+ (Theorem 3, Figure 11).

    An explicit triple has the empty path, and each application of Figure 8 to an explicit schema triple
    extends a path. The schema must be acyclic, or the count does not end.
    """
    triples = set(triples)
    schema = [triple for triple in triples if triple[1] in SCHEMA]
    count: Counter[Triple] = Counter()
    pending = [triple for triple in triples if triple[1] not in SCHEMA]
    while pending:
        triple = pending.pop()
        count[triple] += 1
        pending += (new for rule in schema for new in _of_instance(rule, triple) if _may_go_on(new))
    return Counter({triple: n for triple, n in count.items() if is_well_formed(triple)})


def _may_go_on(triple: Triple) -> bool:
    """Return True if further rules apply: to a blank predicate (Figure 6), but not to a literal subject."""
    return not isinstance(triple[0], Literal)


def supports(triples: Iterable[Triple]) -> Counter[Triple]:
    """Count the supports of each instance triple: items of the templates of explicit triples.

    A template lists the triples that a triple of its kind entails alone, in terms of its subject and
    object. So a domain and a range of the same class are two items for `s p s`. The schema must not
    constrain rdf:type, whose entailments depend on the object too.
    """
    triples = set(triples)
    schema = closed_schema(triples)
    count: Counter[Triple] = Counter()
    for s, p, o in triples:
        if p in SCHEMA:
            continue
        places = {_SUBJECT: s, _OBJECT: o}
        start = (_SUBJECT, p, o if p == TYPE else _OBJECT)
        for item in saturated({start, *schema}) - schema:
            triple = tuple(places.get(term, term) for term in item)
            count[triple] += is_well_formed(triple)
    return +count


_SUBJECT: Final = BNode("subject of the template")
_OBJECT: Final = BNode("object of the template")


def instances(triples: Iterable[Triple]) -> set[Triple]:
    """Return the triples without those of the schema."""
    return {triple for triple in triples if triple[1] not in SCHEMA}


@dataclass(frozen=True)
class Vocabulary:
    """The terms of random graphs, with classes and properties in the order of an acyclic schema."""

    nodes: tuple[Any, ...]
    classes: tuple[Any, ...]
    properties: tuple[Any, ...]
    literals: tuple[Literal, ...]
    isa: URIRef
    """The property that may be a subproperty of rdf:type."""


def _iris(names: str) -> tuple[URIRef, ...]:
    return tuple(URIRef(EX + name) for name in names.split())


def world(*, blanks: bool = True) -> Vocabulary:
    """Make the vocabulary; `blanks` puts blank nodes among the nodes, classes and properties."""
    bnodes = tuple(BNode(name) for name in "nkl") if blanks else ()
    return Vocabulary(
        (*_iris("a b"), *bnodes[:1]),
        (*_iris("A B"), *bnodes[1:2], *_iris("C")),
        (*_iris("p q"), *bnodes[2:3], *_iris("r")),
        (Literal("x"), Literal(1)),
        URIRef(EX + "isA"),
    )


def make_schema(random: Random, words: Vocabulary, *, cyclic: bool, meta: bool) -> Triple:
    """Make a schema triple.

    `meta` allows constraints of rdf:type and of the schema's own properties, and literals as classes. No
    property becomes a subproperty of one of the schema's own.
    """
    if meta and not random.randrange(4):
        return _make_meta(random, words)
    constraint = random.choice((SC, SC, SC, SP, SP, DOMAIN, RANGE))
    if constraint in (DOMAIN, RANGE):
        return random.choice(words.properties), constraint, random.choice(words.classes)
    return _pair(random, words.classes if constraint == SC else words.properties, constraint, cyclic)


def _pair(random: Random, names: tuple[Any, ...], constraint: URIRef, cyclic: bool) -> Triple:
    if cyclic:
        return random.choice(names), constraint, random.choice(names)
    lower, upper = sorted(random.sample(range(len(names)), 2))
    return names[lower], constraint, names[upper]


def _make_meta(random: Random, words: Vocabulary) -> Triple:
    c, p = random.choice(words.classes), random.choice(words.properties)
    return random.choice(
        (
            (words.isa, SP, TYPE),
            (words.isa, SP, TYPE),
            (p, SP, words.isa),
            (words.isa, random.choice((DOMAIN, RANGE)), c),
            (TYPE, random.choice((DOMAIN, RANGE)), c),
            (TYPE, SP, p),
            (random.choice(SCHEMA), random.choice((DOMAIN, RANGE)), c),
            (random.choice(SCHEMA), SP, p),
            (p, random.choice((DOMAIN, RANGE)), Literal("class")),
            (c, SC, Literal("class")),
            (p, SP, Literal("property")),
            (p, SC, c),
        )
    )


def make_instance(random: Random, words: Vocabulary, *, meta: bool) -> Triple:
    """Make an instance triple; `meta` allows classes and properties as nodes."""
    nodes = words.nodes + (words.classes[:2] + words.properties[:1] if meta else ())
    subject = random.choice(nodes)
    if not random.randrange(3):
        classes = words.classes + (words.literals[:1] if meta else ())
        return subject, TYPE, random.choice(classes)
    if meta and not random.randrange(4):
        return subject, words.isa, random.choice((*words.classes, *words.literals))
    iris = [p for p in words.properties if isinstance(p, URIRef)]
    return subject, random.choice(iris), random.choice((*nodes, *words.literals))


def make_commits(
    random: Random, words: Vocabulary, count: int, *, cyclic: bool = True, meta: bool = True
) -> Iterator[list[Write]]:
    """Make commits of one or more writes to data and schema, some without effect.

    The graph grows and shrinks in turn, so that answers come and go. One commit in eight also reverses its
    own writes.
    """
    present: dict[Triple, None] = {}
    for number in range(count):
        share = 0.8 if number % PERIOD > PERIOD // 2 else 0.15
        writes: list[Write] = []
        for _ in range(random.choice((1, 1, 1, 2, 3, 6))):
            if random.random() < 0.35:
                fresh = make_schema(random, words, cyclic=cyclic, meta=meta)
            else:
                fresh = make_instance(random, words, meta=meta)
            delete = present and random.random() < share
            writes.append((-1, random.choice(list(present))) if delete else (1, fresh))
            if not random.randrange(12):
                writes.append((-1, fresh))
        if not random.randrange(8):
            writes += [(-sign, triple) for sign, triple in reversed(writes)]
        for sign, triple in writes:
            (present.__setitem__(triple, None) if sign > 0 else present.pop(triple, None))
        yield writes
