"""The messages of results of shapes without sh:message."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rdflib.namespace import RDF, RDFS, XSD

from rdflive.model import TermWriter
from rdflive.shacl.shapes import (
    Closed,
    Constraint,
    Members,
    Nested,
    PropertyPair,
    Qualified,
    SparqlConstraint,
)
from rdflive.shacl.vocabulary import SH

__all__ = ["message_of"]


_term: Final[TermWriter] = TermWriter({"xsd": str(XSD), "rdf": str(RDF), "rdfs": str(RDFS), "sh": str(SH)})
"""Writes terms with standard prefixes, because messages are terms and have no prefixes of a graph."""


_FEW: Final = 10
"""Number of members of a list that are named; the others are counted."""


def message_of(constraint: Constraint) -> str:
    """Describe the requirement of a constraint in one sentence."""
    if isinstance(constraint, Closed):
        return "the shape is closed, and does not allow this predicate"
    if isinstance(constraint, Qualified):
        what = f"conforming to {_term(constraint.shape.node)}"
        if constraint.least is not None:
            return f"{_values(constraint.least)} {what} at least"
        return f"{_values(constraint.most or 0)} {what} at most"
    if isinstance(constraint, SparqlConstraint):
        return "the query of the constraint returns it"
    name = constraint.component.removeprefix(str(SH)).removesuffix("ConstraintComponent")
    if isinstance(constraint, PropertyPair):
        return _COMPARISONS[name].format(_term(constraint.other))
    if isinstance(constraint, Nested):
        return ("must not conform to {}" if name == "Not" else "must conform to {}").format(
            _term(constraint.shape.node)
        )
    if isinstance(constraint, Members):
        return _MEMBERS[name].format(", ".join(_term(shape.node) for shape in constraint.shapes))
    return _VALUES[name](constraint.value)


_COMPARISONS: Final = {
    "Equals": "must be the same values as those of {}",
    "Disjoint": "must not be a value of {}",
    "LessThan": "must be less than each value of {}",
    "LessThanOrEquals": "must be at most each value of {}",
}
_MEMBERS: Final = {
    "And": "must conform to all of {}",
    "Or": "must conform to one of {} at least",
    "Xone": "must conform to exactly one of {}",
}
_VALUES: Final[dict[str, Callable[[Any], str]]] = {
    "Class": lambda value: f"must be an instance of {_term(value)}",
    "Datatype": lambda value: f"must be a well-formed {_term(value)}",
    "NodeKind": lambda value: f"must be {_KINDS[value]}",
    "MinCount": lambda value: f"{_values(value)} at least",
    "MaxCount": lambda value: f"{_values(value)} at most",
    "MinExclusive": lambda value: f"must be greater than {_term(value)}",
    "MinInclusive": lambda value: f"must be {_term(value)} or greater",
    "MaxExclusive": lambda value: f"must be less than {_term(value)}",
    "MaxInclusive": lambda value: f"must be {_term(value)} or less",
    "MinLength": lambda value: f"must have {value} characters at least",
    "MaxLength": lambda value: f"must have {value} characters at most",
    "Pattern": lambda value: f"must match {value[0]!r}" + (f" with flags {value[1]!r}" if value[1] else ""),
    "LanguageIn": lambda value: f"must be in one of the languages {', '.join(value)}",
    "UniqueLang": lambda _: "must have one value in each language",
    "HasValue": lambda value: f"must have the value {_term(value)}",
    "In": lambda value: f"must be one of {_listed(value)}",
}
_KINDS: Final[dict[Any, str]] = {
    SH.IRI: "an IRI",
    SH.BlankNode: "a blank node",
    SH.Literal: "a literal",
    SH.BlankNodeOrIRI: "an IRI or a blank node",
    SH.BlankNodeOrLiteral: "a blank node or a literal",
    SH.IRIOrLiteral: "an IRI or a literal",
}


def _values(number: int) -> str:
    return f"{number:,} value{'s' * (number != 1)}"


def _listed(terms: tuple[Any, ...]) -> str:
    shown = ", ".join(map(_term, terms[:_FEW]))
    return shown if len(terms) <= _FEW else f"{shown} and {len(terms) - _FEW:,} more"
