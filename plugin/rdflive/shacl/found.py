"""The results of compiling shapes: algebra nodes with their relevant columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from rdflib import Literal, URIRef
from rdflib.term import Node

from rdflive.query import algebra
from rdflive.query.bgp import Variable

__all__ = ["Found", "FoundRows", "Pairs", "ResultSource"]


class FoundRows(NamedTuple):
    """Distinct nodes to validate: focus nodes, or value nodes of an outer shape."""

    node: algebra.Node
    column: Variable


class Pairs(NamedTuple):
    """Distinct pairs of focus nodes and value nodes; for a node shape both are one column."""

    node: algebra.Node
    focus: Variable
    value: Variable


@dataclass(frozen=True, slots=True)
class ResultSource:
    """The common parts of all results of one constraint."""

    component: URIRef
    shape: Node
    severity: Node
    path: Node | None
    messages: tuple[Literal, ...]
    constraint: Node | None = None


class Found(NamedTuple):
    """The results of a constraint: the columns of focus node, value, path and message, if present."""

    node: algebra.Node
    focus: Variable
    source: ResultSource
    value: Variable | None = None
    path: Variable | None = None
    message: Variable | None = None
