"""Reformulation of basic graph patterns by the schema (Goasdoué et al., Section 6)."""

from rdflive.entail.reformulation.conjunctive import ConjunctiveQuery, parse_conjunctive
from rdflive.entail.reformulation.evaluation import TripleSource, evaluate
from rdflive.entail.reformulation.partial import Atom, Fresh, PartialQuery
from rdflive.entail.reformulation.rules import RULES, rounds
from rdflive.entail.reformulation.schema import SCHEMA_PROPERTIES, KnownSchema, Used
from rdflive.entail.reformulation.sparql import to_sparql

__all__ = [
    "RULES",
    "SCHEMA_PROPERTIES",
    "Atom",
    "ConjunctiveQuery",
    "Fresh",
    "KnownSchema",
    "PartialQuery",
    "TripleSource",
    "Used",
    "evaluate",
    "parse_conjunctive",
    "rounds",
    "to_sparql",
]
