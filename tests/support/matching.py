"""Patterns, events, and their matches by trying every assignment, without the matcher's code."""

from __future__ import annotations

from collections import Counter
from itertools import product
from random import Random
from typing import Any

from hypothesis import strategies as st
from rdflib import Literal, URIRef

from rdflive.matching.libraries import pyoxigraph
from rdflive.values import compare

__all__ = [
    "NODES",
    "PREDICATES",
    "VALUES",
    "Triple",
    "brute",
    "counted",
    "events",
    "from_oxigraph",
    "matched_events",
    "parsed",
    "pattern_queries",
    "text_of",
    "to_oxigraph",
]

EX = "urn:example:"
OPERATORS = ("<", "<=", ">", ">=", "!=", "=")

Triple = tuple[Any, Any, Any]

NODES = [URIRef(EX + name) for name in "abcd"]
PREDICATES = [URIRef(EX + name) for name in "pqr"]
VALUES = [Literal(n) for n in (1, 2, 3)] + [Literal(2.5), Literal("x"), Literal("b", lang="en"), Literal("y")]


def brute(
    patterns: list[tuple[Any, ...]], filters: list[tuple[Any, str, Any]], triples: set[Triple]
) -> Counter[Any]:
    """Try every combination of triples, one per pattern."""
    found: Counter[Any] = Counter()
    for chosen in product(triples, repeat=len(patterns)):
        row: dict[str, Any] = {}
        fits = all(
            row.setdefault(part, term) == term if isinstance(part, str) and part[0] == "?" else part == term
            for pattern, triple in zip(patterns, chosen, strict=True)
            for part, term in zip(pattern, triple, strict=True)
        )
        if fits and all(holds(row, *condition) for condition in filters):
            found[tuple(sorted(row.items()))] += 1
    return found


def holds(row: dict[str, Any], left: Any, operator: str, right: Any) -> bool:
    one, other = (row.get(part) if type(part) is str else part for part in (left, right))
    return one is not None and other is not None and compare(operator, one, other) is True


def text_of(patterns: list[tuple[Any, ...]], filters: list[tuple[Any, str, Any]]) -> str:
    """Write a query."""

    def term(part: Any) -> str:
        return part if isinstance(part, str) and part[0] == "?" else part.n3()

    lines = [" ".join(map(term, pattern)) + " ." for pattern in patterns]
    lines += [f"FILTER({term(left)} {operator} {term(right)})" for left, operator, right in filters]
    return f"SELECT * {{ {' '.join(lines)} }}"


@st.composite
def pattern_queries(draw: st.DrawFn) -> tuple[list[tuple[Any, ...]], list[tuple[Any, str, Any]]]:
    """Draw stars, chains, cycles and other patterns over few variables, some with filters between patterns.

    A few filters read a variable of no pattern, or only constants.
    """
    random: Random = draw(st.randoms(use_true_random=False))
    variables = [f"?v{i}" for i in range(random.choice((2, 3, 4, 5)))]
    patterns = []
    for _ in range(random.choice((1, 2, 2, 3, 3))):
        subject = random.choice(NODES) if random.random() < 0.1 else random.choice(variables)
        predicate = random.choice(variables) if random.random() < 0.1 else random.choice(PREDICATES)
        value = random.choice(NODES + VALUES) if random.random() < 0.15 else random.choice(variables)
        patterns.append((subject, predicate, value))
    used = sorted(
        {part for pattern in patterns for part in pattern if isinstance(part, str) and part[0] == "?"}
    )
    filters: list[tuple[Any, str, Any]] = []
    if random.random() < 0.1:
        left, right = (random.choice(["?unbound", *VALUES[:3]]) for _ in "lr")
        filters.append((left, random.choice(OPERATORS), right))
    for _ in range(random.choice((0, 1, 1, 2))):
        if used:
            right = random.choice(used) if random.random() < 0.75 else random.choice(VALUES)
            filters.append((random.choice(used), random.choice(OPERATORS), right))
    return list(dict.fromkeys(patterns)), filters


@st.composite
def events(draw: st.DrawFn, *, least: int = 0, most: int = 8, nodes: int = 3) -> list[Triple]:
    """Draw a few triples, some of them twice."""
    random: Random = draw(st.randoms(use_true_random=False))
    subjects = [*NODES[:3], *(URIRef(f"{EX}n{i}") for i in range(nodes - 3))]
    objects = [*subjects, NODES[3], *VALUES]
    return [
        (random.choice(subjects), random.choice(PREDICATES), random.choice(objects))
        for _ in range(random.randint(least, most))
    ]


@st.composite
def matched_events(draw: st.DrawFn, patterns: list[tuple[Any, ...]]) -> list[Triple]:
    """Draw an event, in random order, that the patterns match about once or twice; triples may repeat."""
    random: Random = draw(st.randoms(use_true_random=False))
    event = draw(events(most=3))
    for _ in range(random.choice((1, 1, 2))):
        roles = {part: role for role in (2, 0, 1) for pattern in patterns for part in (pattern[role],)}
        choices = (NODES, PREDICATES, [*NODES, *VALUES])
        # one term per variable, of its most restricted role
        terms = {
            part: random.choice(choices[role]) if part[:1] == "?" else part for part, role in roles.items()
        }
        event += [tuple(terms[part] for part in pattern) for pattern in patterns]
    event += random.choices(event, k=random.choice((0, 0, 1, 2)))
    random.shuffle(event)
    return event


def parsed(triples: list[Triple]) -> list[Triple]:
    """Copy each term into its own object, as parsers do."""

    def copy(term: Any) -> Any:
        if isinstance(term, Literal):
            return Literal(str(term), term.language, term.datatype)
        return type(term)(str(term))

    return [tuple(map(copy, triple)) for triple in triples]


def counted(found: Any, *, removed: bool = False) -> Counter[Any]:
    """Count the solutions of a match."""
    solutions = found.removed if removed else found.solutions
    return Counter(tuple(sorted((f"?{name}", term) for name, term in s.asdict().items())) for s in solutions)


def to_oxigraph(triples: list[Triple], *, parts: bool = True) -> list[Any]:
    """Convert triples to pyoxigraph's terms, in its own triples or in tuples."""
    library = pyoxigraph(parts=parts)
    spelled = [tuple(map(library.to_native, triple)) for triple in triples]
    return [library.triples[0](*triple) for triple in spelled] if parts else spelled


def from_oxigraph(rows: Counter[Any]) -> Counter[Any]:
    """Convert counted solutions to rdflib's terms."""
    convert = pyoxigraph(parts=True).to_rdflib
    assert convert is not None
    return Counter({tuple((name, convert(term)) for name, term in row): n for row, n in rows.items()})
