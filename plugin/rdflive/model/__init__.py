"""Values that flow: changes and batches in, solutions and deltas out."""

from rdflive.model.change import Batch, Change, Quad
from rdflive.model.delta import Delta
from rdflive.model.solution import Header, Origin, Solution, Terms

__all__ = ["Batch", "Change", "Delta", "Header", "Origin", "Quad", "Solution", "Terms"]
