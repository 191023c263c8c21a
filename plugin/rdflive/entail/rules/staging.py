"""Chooses the patterns of a rule that are matched first, so that the rest of the rule names its
predicates.
"""

from __future__ import annotations

from typing import Any, Final

from rdflib.namespace import OWL, RDF, RDFS
from rdflib.term import URIRef

from rdflive.entail.rules.program import AUXILIARY, Rule
from rdflive.query.bgp import TriplePattern, Variable

__all__ = ["guides"]

_VOCABULARIES: Final = (str(RDF), str(RDFS), str(OWL), AUXILIARY)
_INSTANCE_OF: Final = frozenset({RDF.type, URIRef(f"{AUXILIARY}instanceOfAll")})
"""Predicates from an instance to its class, or to a list of its classes."""


def guides(rule: Rule) -> tuple[TriplePattern, ...]:
    """Choose the patterns of a body that are matched first; none if that would not help.

    `?p a owl:TransitiveProperty` is one: each of its matches leaves a rule about one property. So a triple is
    only given to rules that ask for its predicate or class, and nothing is kept for properties and classes
    that nobody asks for. A pattern is a guide if its predicate is a constant, and

    1. it is about a variable that stands for a predicate, or for a class (`?x a ?class`) if all chosen
    patterns are in the vocabularies of RDF, RDFS and OWL, of which a graph has less than of data; or

    2. its subject occurs in such a pattern; or

    3. it shares a variable with a pattern whose predicate would otherwise stay unknown.
    """
    body = rule.body
    predicates = {pattern.predicate for pattern in body if isinstance(pattern.predicate, Variable)}
    names = {p.predicate for p in rule.head if isinstance(p.predicate, Variable)} | predicates
    classes = {p.object for p in (*body, *rule.head) if _names_class(p)}
    candidates = [p for p in body if isinstance(p.predicate, URIRef) and not _names_class(p)]
    chosen = _told(candidates, names | classes)
    if not names and not all(str(pattern.predicate).startswith(_VOCABULARIES) for pattern in chosen):
        return ()
    named = {v for pattern in chosen for v in pattern.variables}
    for pattern in body:
        if pattern.predicate in predicates - named:
            chosen |= {near for near in candidates if set(near.variables) & set(pattern.variables)}
    # If all patterns are guides, each match would make an instance without anything left to read.
    return () if len(chosen) == len(body) else tuple(pattern for pattern in body if pattern in chosen)


def _names_class(pattern: TriplePattern) -> bool:
    return pattern.predicate in _INSTANCE_OF and isinstance(pattern.object, Variable)


def _told(candidates: list[TriplePattern], about: set[Any]) -> set[TriplePattern]:
    """Choose the patterns about these variables, and those whose subject occurs in a chosen one."""
    chosen = {pattern for pattern in candidates if about & set(pattern.variables)}
    while True:
        named = {v for pattern in chosen for v in pattern.variables}
        more = {pattern for pattern in candidates if pattern.subject in named} - chosen
        if not more:
            return chosen
        chosen |= more
