"""The set functions of SPARQL, kept under inserts and deletes."""

from rdflive.query.aggregates.accumulators import Accumulator, SetFunction, make_accumulator

__all__ = ["Accumulator", "SetFunction", "make_accumulator"]
