"""Tests of the constraints on single value nodes (SHACL, Sections 4.1 to 4.4 and 4.8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rdflib import BNode, Literal, URIRef
from rdflib.namespace import RDF, XSD

from rdflive.query.expressions.errors import no_value
from rdflive.regex import compiled
from rdflive.shacl.conditions import Test
from rdflive.shacl.shapes import ValueConstraint
from rdflive.shacl.vocabulary import SH
from rdflive.values import compare, is_well_formed

__all__ = ["VALUE_TESTS", "comparable", "meets", "spellings"]

Make = Callable[[Any], Test]


def _datatype(datatype: Any) -> Make:
    def meets(term: Any) -> bool:
        if not isinstance(term, Literal):
            return False
        found = term.datatype or (RDF.langString if term.language else XSD.string)
        return found == datatype and is_well_formed(term)

    return lambda _: meets


_KINDS: Final[dict[URIRef, tuple[type, ...]]] = {
    SH.IRI: (URIRef,),
    SH.BlankNode: (BNode,),
    SH.Literal: (Literal,),
    SH.BlankNodeOrIRI: (BNode, URIRef),
    SH.BlankNodeOrLiteral: (BNode, Literal),
    SH.IRIOrLiteral: (URIRef, Literal),
}


def _node_kind(kind: Any) -> Make:
    kinds = _KINDS[kind]
    return lambda _: lambda term: isinstance(term, kinds)


def comparable(operator: str, one: Any, other: Any) -> bool | None:
    """Compare by `<`, `<=`, `>` or `>=` as SPARQL 1.1 does (17.3).

    Returns None for terms without an order, such as strings with a language.
    """
    if getattr(one, "language", None) or getattr(other, "language", None):
        return None
    return compare(operator, one, other)


def spellings(term: Any) -> tuple[Any, ...]:
    """Return the forms that rdflib may give a term: a plain literal is also an xsd:string, which rdflib
    distinguishes.
    """
    if isinstance(term, Literal) and not term.language and term.datatype in (None, XSD.string):
        return Literal(str(term)), Literal(str(term), datatype=XSD.string)
    return (term,)


def _limit(operator: str) -> Callable[[Any], Make]:
    def made(limit: Any) -> Make:
        def make(constant: Callable[[Any], Any]) -> Test:
            spelled = constant(limit)
            return lambda term: comparable(operator, term, spelled) is True

        return make

    return made


def _min_length(least: int) -> Make:
    return lambda _: lambda term: not isinstance(term, BNode) and len(term) >= least


def _max_length(most: int) -> Make:
    return lambda _: lambda term: not isinstance(term, BNode) and len(term) <= most


def _pattern(given: tuple[str, str]) -> Make:
    pattern = compiled(*given)
    return lambda _: lambda term: not isinstance(term, BNode) and pattern.search(str(term)) is not None


def _language_in(tags: tuple[str, ...]) -> Make:
    ranges = [tag.lower() for tag in tags]

    def meets(term: Any) -> bool:
        language = (getattr(term, "language", None) or "").lower()
        return bool(language) and any(
            wanted == "*" or language == wanted or language.startswith(f"{wanted}-") for wanted in ranges
        )

    return lambda _: meets


def _in(terms: tuple[Any, ...]) -> Make:
    def make(constant: Callable[[Any], Any]) -> Test:
        return frozenset(each for term in terms for each in spellings(constant(term))).__contains__

    return make


VALUE_TESTS: Final[dict[URIRef, Callable[[Any], Make]]] = {
    SH.DatatypeConstraintComponent: _datatype,
    SH.NodeKindConstraintComponent: _node_kind,
    SH.MinExclusiveConstraintComponent: _limit(">"),
    SH.MinInclusiveConstraintComponent: _limit(">="),
    SH.MaxExclusiveConstraintComponent: _limit("<"),
    SH.MaxInclusiveConstraintComponent: _limit("<="),
    SH.MinLengthConstraintComponent: _min_length,
    SH.MaxLengthConstraintComponent: _max_length,
    SH.PatternConstraintComponent: _pattern,
    SH.LanguageInConstraintComponent: _language_in,
    SH.InConstraintComponent: _in,
}
"""Per component, a function from the value of the parameter to a maker of the test of a value node."""


def meets(constraint: ValueConstraint, term: Any) -> bool:
    """Return True if a term meets a constraint. Constraints that need more than the term always pass."""
    make = VALUE_TESTS.get(constraint.component)
    try:
        return make is None or make(constraint.value)(lambda constant: constant)(term)
    except Exception as error:  # noqa: BLE001 - a term that the constraint does not apply to
        return no_value(error, False)
