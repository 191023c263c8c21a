"""Random programs, triples and patterns, by a seed."""

from __future__ import annotations

from random import Random
from typing import Any

from rdflib import RDF, RDFS, Literal, URIRef

from rdflive.entail.rules import Comparison, Program, Rule
from rdflive.query.bgp import TriplePattern, Variable

__all__ = ["make_pattern", "make_program", "make_triple"]

TERMS = [URIRef(f"urn:{letter}") for letter in "abcd"]
PREDICATES = [*(URIRef(f"urn:{letter}") for letter in "pqr"), RDF.type, RDFS.subClassOf]
OPERATORS: tuple[Any, ...] = ("is", "is not", "is not", "<", "!=", "=")


def make_program(random: Random) -> Program:
    """Make up to five rules: recursive or not, joining a pattern with itself, with any term in any place."""
    return Program(tuple(_rule(random, number) for number in range(random.randint(1, 5))))


def make_triple(random: Random) -> tuple[Any, Any, Any]:
    """Make a triple, at times about a predicate or with a literal."""
    subjects = TERMS if random.random() < 0.8 else TERMS + PREDICATES
    objects = TERMS if random.random() < 0.8 else [*TERMS, *PREDICATES, Literal("1"), Literal(2)]
    return random.choice(subjects), random.choice(PREDICATES), random.choice(objects)


def make_pattern(random: Random) -> tuple[Any, Any, Any]:
    """Draw a random triple pattern; None is a wildcard."""
    return (
        random.choice(TERMS) if random.random() < 0.2 else None,
        random.choice(PREDICATES) if random.random() < 0.6 else None,
        random.choice(TERMS) if random.random() < 0.3 else None,
    )


def _rule(random: Random, number: int) -> Rule:
    variables = [Variable(letter) for letter in "xyzw"[: random.randint(1, 4)]]

    def node() -> Any:
        return random.choice(variables if random.random() < 0.8 else TERMS)

    def predicate() -> Any:
        return random.choice(variables if random.random() < 0.3 else PREDICATES)

    def end() -> Any:
        return node() if random.random() < 0.92 else random.choice([*PREDICATES, Literal("1")])

    size = random.choice([0, 1, 1, 2, 2, 2, 3, 3])
    body = tuple(dict.fromkeys(TriplePattern(node(), predicate(), end()) for _ in range(size)))
    bound = [v for pattern in body for v in pattern.variables]

    def safe(term: Any, constants: list[Any]) -> Any:
        """Replace a variable that the body does not bind."""
        if not isinstance(term, Variable) or term in bound:
            return term
        return random.choice(bound if bound and random.random() < 0.8 else constants)

    heads = [
        TriplePattern(safe(node(), TERMS), safe(predicate(), PREDICATES), safe(end(), TERMS))
        for _ in range(random.choice([1, 1, 1, 2]))
    ]
    if random.random() < 0.2:  # a second head that differs in a repeated variable only
        heads.append(TriplePattern(heads[0].subject, heads[0].predicate, heads[0].subject))
    conditions = []
    if bound and random.random() < 0.3:
        side = random.choice([*bound, *TERMS, Literal("1")])
        conditions.append(Comparison(random.choice(OPERATORS), random.choice(bound), side))
    return Rule(f"rule {number}", body, tuple(dict.fromkeys(heads)), tuple(conditions))
