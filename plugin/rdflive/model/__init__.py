"""Values that flow: changes and batches in, solutions and deltas out."""

from rdflive.model.change import Batch, Change, Quad
from rdflive.model.delta import Delta
from rdflive.model.solution import Header, Origin, Solution, Terms
from rdflive.model.terms import DirectionalString, Foreign, TripleTerm

__all__ = [
    "Batch",
    "Change",
    "Delta",
    "DirectionalString",
    "Foreign",
    "Header",
    "Origin",
    "Quad",
    "Solution",
    "Terms",
    "TripleTerm",
]
