"""Expressions of SPARQL: what they say, and the callables that evaluate them on rows of ids."""

from rdflive.query.expressions.expression import (
    TURNED,
    Expression,
    conjuncts,
    exists_parts,
    replace,
    volatile,
)
from rdflive.query.expressions.rdflib_evaluation import Terms

__all__ = ["TURNED", "Expression", "Terms", "conjuncts", "exists_parts", "replace", "volatile"]
