"""The set functions of SPARQL, maintained under inserts and deletes."""

from rdflive.query.aggregates.accumulators import Accumulator, SetFunction, integer, make_accumulator

__all__ = ["Accumulator", "SetFunction", "integer", "make_accumulator"]
