"""What the compiler of shapes hands on: nodes of the algebra with the columns that matter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from rdflib import Literal, URIRef
from rdflib.term import Node

from rdflive.query import algebra
from rdflive.query.bgp import Variable

__all__ = ["Found", "FoundRows", "Pairs", "ResultSource"]


class FoundRows(NamedTuple):
    """Distinct nodes that a shape is asked of: focus nodes, or value nodes of an outer shape."""

    node: algebra.Node
    column: Variable


class Pairs(NamedTuple):
    """Focus nodes with their value nodes, each pair once; of a node shape both are one column."""

    node: algebra.Node
    focus: Variable
    value: Variable


@dataclass(frozen=True, slots=True)
class ResultSource:
    """What all results of one constraint have in common."""

    component: URIRef
    shape: Node
    severity: Node
    path: Node | None
    messages: tuple[Literal, ...]
    constraint: Node | None = None


class Found(NamedTuple):
    """The results of a constraint: the columns of focus node, value, path and message, where it has them."""

    node: algebra.Node
    focus: Variable
    source: ResultSource
    value: Variable | None = None
    path: Variable | None = None
    message: Variable | None = None
