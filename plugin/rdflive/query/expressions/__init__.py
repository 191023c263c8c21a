"""Expressions of SPARQL: what they say, and the callables that evaluate them on rows of ids."""

from rdflive.query.expressions.clock import ClockComparison, Phases, clock_parts, is_duration, read_comparison
from rdflive.query.expressions.expression import Expression, conjuncts, exists_parts, replace, volatile
from rdflive.query.expressions.rdflib_evaluation import Terms

__all__ = [
    "ClockComparison",
    "Expression",
    "Phases",
    "Terms",
    "clock_parts",
    "conjuncts",
    "exists_parts",
    "is_duration",
    "read_comparison",
    "replace",
    "volatile",
]
