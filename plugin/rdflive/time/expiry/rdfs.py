"""RDFS as rules: the DB fragment of Goasdoué et al., for labels and for DRed."""

from __future__ import annotations

from typing import Any, Final

from rdflib import RDF, RDFS

from rdflive.entail.rules import Comparison, Program, Rule
from rdflive.query.bgp import TriplePattern, Variable

__all__ = ["RDFS_RULES"]

_S, _P, _O, _Q, _R, _C, _D, _E = map(Variable, "spoqrcde")
_SCHEMA: Final = (RDFS.subClassOf, RDFS.subPropertyOf, RDFS.domain, RDFS.range)


def _rule(name: str, body: tuple[tuple[Any, Any, Any], ...], head: tuple[Any, Any, Any], *data: Any) -> Rule:
    """Make a rule; `data` are the predicates of which no schema triple may follow."""
    conditions = tuple(Comparison("is not", side, word) for side in data for word in _SCHEMA)
    return Rule(name, tuple(TriplePattern(*p) for p in body), (TriplePattern(*head),), conditions)


RDFS_RULES: Final = Program(
    (
        _rule("rdfs9", ((_C, RDFS.subClassOf, _D), (_S, RDF.type, _C)), (_S, RDF.type, _D)),
        _rule("rdfs7", ((_P, RDFS.subPropertyOf, _Q), (_S, _P, _O)), (_S, _Q, _O), _Q),
        _rule("rdfs2", ((_P, RDFS.domain, _C), (_S, _P, _O)), (_S, RDF.type, _C)),
        _rule("rdfs3", ((_P, RDFS.range, _C), (_S, _P, _O)), (_O, RDF.type, _C)),
        _rule("rdfs11", ((_C, RDFS.subClassOf, _D), (_D, RDFS.subClassOf, _E)), (_C, RDFS.subClassOf, _E)),
        _rule(
            "rdfs5",
            ((_P, RDFS.subPropertyOf, _Q), (_Q, RDFS.subPropertyOf, _R)),
            (_P, RDFS.subPropertyOf, _R), _Q, _R,
        ),
        _rule("ext1", ((_P, RDFS.domain, _C), (_C, RDFS.subClassOf, _D)), (_P, RDFS.domain, _D)),
        _rule("ext2", ((_P, RDFS.range, _C), (_C, RDFS.subClassOf, _D)), (_P, RDFS.range, _D)),
        _rule("ext3", ((_P, RDFS.subPropertyOf, _Q), (_Q, RDFS.domain, _C)), (_P, RDFS.domain, _C), _Q),
        _rule("ext4", ((_P, RDFS.subPropertyOf, _Q), (_Q, RDFS.range, _C)), (_P, RDFS.range, _C), _Q),
    )
)  # fmt: skip
"""The rules of `entailment="rdfs"`; the schema is closed, as patterns on it are answered."""
