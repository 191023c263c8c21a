"""Expressions of SPARQL: what they say, and the callables that evaluate them on rows of ids."""

from rdflive.query.expressions.clock import ClockComparison, can_move, clock_parts, read_comparison
from rdflive.query.expressions.expression import Expression, conjuncts, exists_parts, replace, volatile
from rdflive.query.expressions.phases import Phases
from rdflive.query.expressions.rdflib_evaluation import Terms

__all__ = [
    "ClockComparison",
    "Expression",
    "Phases",
    "Terms",
    "can_move",
    "clock_parts",
    "conjuncts",
    "exists_parts",
    "read_comparison",
    "replace",
    "volatile",
]
