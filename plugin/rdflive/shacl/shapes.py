"""The content of a shapes graph as values: shapes, their targets and their constraints (SHACL, Section 2)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from rdflib import Literal, URIRef
from rdflib.paths import Path
from rdflib.term import Node

from rdflive.errors import RdfliveError
from rdflive.shacl.vocabulary import SH

__all__ = [
    "Closed",
    "Component",
    "Constraint",
    "FocusTarget",
    "Members",
    "Nested",
    "Parameter",
    "PropertyPair",
    "Qualified",
    "Shape",
    "ShapesError",
    "SparqlConstraint",
    "Validator",
    "ValueConstraint",
]


class ShapesError(RdfliveError, ValueError):
    """The shapes graph is ill-formed, recursive, or cannot be maintained; `shape` is the shape at fault."""

    def __init__(self, message: str, shape: Node | None = None) -> None:
        super().__init__(message)
        self.shape = shape


PathLike: TypeAlias = URIRef | Path


@dataclass(frozen=True, slots=True)
class FocusTarget:
    """A declaration of focus nodes (Section 2.1.3).

    `kind` is "node", "class", "subjects", "objects" or "select". `value` is the term, or the query.
    """

    kind: str
    value: Any


@dataclass(frozen=True, slots=True, eq=False)
class ValueConstraint:
    """A constraint on each value node or on all of them, whose parameter is not a shape.

    These are: class, datatype, nodeKind, counts, ranges, lengths, pattern, languages, hasValue, in.
    """

    component: URIRef
    value: Any
    """The value of the parameter; for sh:pattern a pair with the flags, for lists a tuple."""


@dataclass(frozen=True, slots=True, eq=False)
class PropertyPair:
    """A constraint that compares value nodes with those of another property: equals, disjoint,
    lessThan(OrEquals).
    """

    component: URIRef
    other: URIRef


@dataclass(frozen=True, slots=True, eq=False)
class Nested:
    """sh:node, sh:not or sh:property: one shape that value nodes are validated against."""

    component: URIRef
    shape: Shape


@dataclass(frozen=True, slots=True, eq=False)
class Members:
    """sh:and, sh:or or sh:xone: several shapes that value nodes are validated against."""

    component: URIRef
    shapes: tuple[Shape, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Qualified:
    """sh:qualifiedValueShape with its counts, and the shapes of its siblings if it is disjoint."""

    shape: Shape
    least: int | None
    most: int | None
    siblings: tuple[Shape, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Closed:
    """sh:closed, with the allowed predicates."""

    allowed: frozenset[Node]


@dataclass(frozen=True, slots=True)
class Validator:
    """A query of SHACL-SPARQL, with its prefixes written out."""

    node: Node
    text: str
    asks: bool
    messages: tuple[Literal, ...]
    prebound: frozenset[str] = frozenset()
    """The variables that are potentially pre-bound (Appendix A); none in a target."""


@dataclass(frozen=True, slots=True, eq=False)
class SparqlConstraint:
    """sh:sparql, or a constraint of a component with a validator in SPARQL (Sections 5 and 6)."""

    component: URIRef
    validator: Validator
    arguments: dict[str, Node]
    """The terms of the component's parameters, by the names of variables."""
    source: Node | None
    """The value of sh:sourceConstraint in results; None for a component."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a constraint component."""

    path: URIRef
    name: str
    optional: bool
    constraints: tuple[ValueConstraint, ...]
    """The constraints that its declaration sets for its values (6.2.1)."""


@dataclass(frozen=True, slots=True)
class Component:
    """A SPARQL-based constraint component (Section 6)."""

    node: URIRef
    parameters: tuple[Parameter, ...]
    of_nodes: Validator | None
    of_properties: Validator | None
    of_both: Validator | None

    def validator(self, *, has_path: bool) -> Validator | None:
        """Return the SPARQL query that validates property shapes or node shapes, if there is one (6.2.3)."""
        own = self.of_properties if has_path else self.of_nodes
        return self.of_both if own is None else own


Constraint: TypeAlias = (
    ValueConstraint | PropertyPair | Nested | Members | Qualified | Closed | SparqlConstraint
)


@dataclass(slots=True, eq=False)
class Shape:
    """A node shape, or with a path a property shape."""

    node: Node
    path: PathLike | None = None
    path_node: Node | None = None
    """The value of sh:resultPath in results."""
    targets: tuple[FocusTarget, ...] = ()
    only: frozenset[Node] | None = None
    """The focus nodes to validate; None for all."""
    constraints: tuple[Constraint, ...] = ()
    severity: Node = SH.Violation
    messages: tuple[Literal, ...] = ()
    deactivated: bool = False
    read_from: set[Node] = field(default_factory=set)
    """The subjects of the shapes graph that define it and its nested shapes."""

    def within(self, component: Node) -> tuple[Shape, ...]:
        """Return the shapes that values must conform to by the constraints of a component."""
        found: list[Shape] = []
        for constraint in self.constraints:
            if isinstance(constraint, Nested | Members) and constraint.component == component:
                found += constraint.shapes if isinstance(constraint, Members) else (constraint.shape,)
        return () if component == SH.NotConstraintComponent else tuple(found)
