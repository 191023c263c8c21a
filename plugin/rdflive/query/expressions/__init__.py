"""Expressions of SPARQL: their meaning, and the callables that evaluate them on rows of ids."""

from rdflive.query.expressions.clock import ClockComparison, clock_parts, read_comparison, why_never
from rdflive.query.expressions.expression import (
    TURNED,
    Expression,
    conjuncts,
    exists_parts,
    first_fault,
    numbered,
    replace,
    valueless,
    volatile,
)
from rdflive.query.expressions.faults import CallFault, fault_of
from rdflive.query.expressions.phases import Phases
from rdflive.query.expressions.rdflib_evaluation import RowTerms
from rdflive.query.expressions.registry import is_current, register_function, users_functions

__all__ = [
    "TURNED",
    "CallFault",
    "ClockComparison",
    "Expression",
    "Phases",
    "RowTerms",
    "clock_parts",
    "conjuncts",
    "exists_parts",
    "fault_of",
    "first_fault",
    "is_current",
    "numbered",
    "read_comparison",
    "register_function",
    "replace",
    "users_functions",
    "valueless",
    "volatile",
    "why_never",
]  # fmt: skip
