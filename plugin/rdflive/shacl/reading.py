"""Reads the shapes of a shapes graph, and raises for ill-formed ones (SHACL, Sections 2 to 6)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from dataclasses import replace
from typing import Final

from rdflib import RDF, RDFS, BNode, Graph, Literal, URIRef
from rdflib.namespace import OWL
from rdflib.paths import AlternativePath, InvPath, MulPath, SequencePath
from rdflib.term import Node

from rdflive.shacl.components import PREBOUND, Components
from rdflive.shacl.shapes import (
    Closed,
    Constraint,
    FocusTarget,
    Members,
    Nested,
    PathLike,
    PropertyPair,
    Qualified,
    Shape,
    ShapesError,
    SparqlConstraint,
)
from rdflive.shacl.values import READERS, NodeValues, component_of, name_of, shown, value_constraints
from rdflive.shacl.vocabulary import PATHS, REPEATED, SH

__all__ = ["ABOUT_SHAPES", "ShapesReader"]

TARGETS: Final = {
    SH.targetNode: "node",
    SH.targetClass: "class",
    SH.targetSubjectsOf: "subjects",
    SH.targetObjectsOf: "objects",
}
_OF_COMPONENTS: Final = (
    SH.parameter, SH.nodeValidator, SH.propertyValidator, SH.validator, SH.ask, SH.optional, SH.prefixes,
    SH.declare, SH.prefix, SH.namespace, OWL.imports, RDFS.subClassOf, SH.entailment,
)  # fmt: skip
_UNSUPPORTED: Final = frozenset(
    SH[name]
    for name in (
        *("expression", "js", "nodeByExpression", "targetWhere", "memberShape", "minListLength"),
        *("maxListLength", "uniqueMembers", "reifierShape", "reificationRequired", "rootClass", "singleLine"),
        *("someValue", "subsetOf"),
    )
)
"""Parameters and targets of SHACL Advanced Features, SHACL JavaScript and SHACL 1.2.

A shape read without them would require less than it states.
"""
_MEMBERS: Final = {SH["and"]: "And", SH["or"]: "Or", SH.xone: "Xone"}
_COMPARISONS: Final = (SH.equals, SH.disjoint, SH.lessThan, SH.lessThanOrEquals)
_OF_PROPERTIES: Final = frozenset({
    SH.minCount, SH.maxCount, SH.lessThan, SH.lessThanOrEquals, SH.uniqueLang, SH.qualifiedValueShape,
})  # fmt: skip
"""Parameters that a node shape must not have."""
_SHAPES: Final = (SH.node, SH.property, SH["not"], SH.qualifiedValueShape)
"""Parameters whose values are shapes."""


class ShapesReader:
    """Reads the shapes of a graph. A shape that several others refer to is read once.

    Raises `ShapesError` for shapes that are ill-formed, recursive, or cannot be maintained.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._known: dict[Node, Shape] = {}
        self._open: list[Node] = []
        """The shapes and paths being read, outermost first."""
        self.values = NodeValues(graph)
        known = self._read_classes()
        self._classes, self._kinds, self._component_kinds, self._named, self.entailments = known
        self._metas = self._classes | self._kinds | self._component_kinds
        self.components = Components(graph, self.values, self._named)

    def _read_classes(self) -> tuple[set[Node], ...]:
        """Return the classes of classes, of shapes and of constraint components, all constraint components,
        and the values of sh:entailment (2.4).
        """
        component_kinds = self._below(SH.ConstraintComponent)
        return (
            self._below(RDFS.Class) | self._below(OWL.Class),
            self._below(SH.NodeShape) | self._below(SH.PropertyShape),
            component_kinds,
            {node for kind in component_kinds for node in self._graph.subjects(RDF.type, kind)},
            set(self._graph.objects(None, SH.entailment)),
        )

    def concerned(self, triples: Iterable[tuple[Node, Node, Node]]) -> set[Node]:
        """Return the nodes whose shapes may have changed with these triples."""
        found = set()
        for s, p, o in triples:
            # in a graph with other data, most types and subclasses do not define shapes
            if p in (RDF.type, RDFS.subClassOf) and o not in self._metas:
                continue
            found.add(s)
            if p == SH.property:
                found.add(o)  # its siblings changed
        return found

    def is_outdated(self, changed: Set[Node]) -> bool:
        """Return True if all shapes must be read again because triples with these subjects changed."""
        known = self._classes, self._kinds, self._component_kinds, self._named, self.entailments
        return not self.components.read_from.isdisjoint(changed) or self._read_classes() != known

    def roots(self) -> Iterator[Node]:
        """List the distinct nodes with targets."""
        found: dict[Node, None] = {}
        for predicate in (*TARGETS, SH.target):
            found |= dict.fromkeys(self._graph.subjects(predicate))
        for kind in self._kinds:
            found |= dict.fromkeys(
                node for node in self._graph.subjects(RDF.type, kind) if self._is_class(node)
            )
        yield from found

    def is_shape(self, node: Node) -> bool:
        """Return True if the graph declares a node a shape (2.1)."""
        said = self.values.predicates(node)
        return self._is_shape(node) or any(
            predicate in _SAYING_SHAPES or predicate in self.components.parameters for predicate in said
        )

    def is_root(self, node: Node) -> bool:
        """Return True if a node has targets."""
        has_target = any(self.values.objects(node, predicate) for predicate in (*TARGETS, SH.target))
        return has_target or (self._is_shape(node) and self._is_class(node))

    def shape(self, node: Node) -> Shape:
        """Read a shape with all shapes that it refers to."""
        known = self._known.get(node)
        if known is not None:
            return known
        if node in self._open:
            cycle = [*self._open[self._open.index(node) :], node]
            raise ShapesError(
                f"the shapes {' -> '.join(map(shown, cycle))} refer to themselves, and SHACL does not define "
                "recursive shapes",
                node,
            )
        self._open.append(node)
        try:
            shape = self._read(node)
        finally:
            self._open.pop()
            if not self._open:  # so that the cache does not grow with the graph
                self.values.forget()
        self._known[node] = shape
        return shape

    def read(self) -> Iterable[Shape]:
        """List the shapes that were read, including nested ones."""
        return self._known.values()

    def forget(self, changed: Set[Node]) -> None:
        """Discard the shapes that some changed subjects define, so that they are read again on demand."""
        self.values.forget()
        self._known = {node: shape for node, shape in self._known.items() if not shape.read_from & changed}

    def _read(self, node: Node) -> Shape:
        shape = Shape(node)
        shape.read_from.add(node)
        path = self.values.one(node, SH.path)
        if path is not None:
            shape.path, shape.path_node = self._read_path(node, path, shape.read_from), path
        elif (node, RDF.type, SH.PropertyShape) in self._graph:
            raise ShapesError(f"{shown(node)} is a property shape without sh:path", node)
        severity = self.values.one(node, SH.severity)
        if isinstance(severity, Literal | BNode):
            raise ShapesError(f"sh:severity of {shown(node)} must be an IRI, got {shown(severity)}", node)
        shape.severity = SH.Violation if severity is None else severity
        shape.messages = self.values.messages(node)
        shape.deactivated = self.values.flag(node, SH.deactivated)
        unsupported = _UNSUPPORTED.difference(self.components.parameters).intersection(
            self.values.predicates(node)
        )
        if unsupported and not shape.deactivated:
            said = f"{name_of(min(unsupported))} of {shown(node)} is not supported"
            raise ShapesError(f"{said}: it is in neither SHACL Core nor SHACL-SPARQL", node)
        shape.targets = tuple(self._targets(node, shape.read_from))
        shape.constraints = () if shape.deactivated else tuple(self._constraints(shape))
        for constraint in shape.constraints:
            for within in _within(constraint):
                shape.read_from |= within.read_from
        return shape

    def _targets(self, node: Node, read_from: set[Node]) -> Iterator[FocusTarget]:
        for predicate, kind in TARGETS.items():
            for value in self.values.objects(node, predicate):
                if kind != "node" and not isinstance(value, URIRef):
                    raise self.values.expected(node, predicate, "an IRI", value)
                if isinstance(value, BNode):
                    raise self.values.expected(node, predicate, "an IRI or a literal", value)
                yield FocusTarget(kind, value)
        for value in self.values.objects(node, SH.target):
            read_from.add(value)
            select = self.values.one(value, SH.select)
            if select is None:
                raise ShapesError(
                    f"sh:target of {shown(node)} needs sh:select: beyond SHACL Core, only targets in SPARQL "
                    "are supported",
                    node,
                )
            yield FocusTarget("select", self.components.query(value, select))
        if self._is_class(node) and self._is_shape(node):
            yield FocusTarget("class", node)  # 2.1.3.3, implicit class targets

    def _is_class(self, node: Node) -> bool:
        return any(kind in self._classes for kind in self.values.objects(node, RDF.type))

    def _is_shape(self, node: Node) -> bool:
        return any(kind in self._kinds for kind in self.values.objects(node, RDF.type))

    def _below(self, name: Node) -> set[Node]:
        return {each for each in self._graph.transitive_subjects(RDFS.subClassOf, name) if each is not None}

    def _constraints(self, shape: Shape) -> Iterator[Constraint]:
        node = shape.node
        if shape.path is None:
            for predicate in _OF_PROPERTIES:
                if self.values.objects(node, predicate):
                    raise ShapesError(
                        f"{name_of(predicate)} needs a property shape: {shown(node)} has no sh:path", node
                    )
        yield from value_constraints(self.values, node, shape.read_from)
        for predicate in _COMPARISONS:
            for value in sorted(self.values.objects(node, predicate), key=shown):
                if not isinstance(value, URIRef):
                    raise self.values.expected(node, predicate, "an IRI", value)
                yield PropertyPair(component_of(predicate), value)
        yield from self._nested(shape)
        if self.values.flag(node, SH.closed):
            yield self._closed(shape)
        for value in sorted(self.values.objects(node, SH.sparql), key=shown):
            shape.read_from.add(value)
            if not self.values.flag(value, SH.deactivated):
                select = self.values.one(value, SH.select)
                if select is None:
                    raise ShapesError(f"sh:sparql of {shown(node)} needs one sh:select", node)
                query = replace(self.components.query(value, select), prebound=PREBOUND)
                yield SparqlConstraint(SH.SPARQLConstraintComponent, query, {}, value)
        yield from self.components.constraints(shape)

    def _nested(self, shape: Shape) -> Iterator[Constraint]:
        node = shape.node
        for predicate, name in ((SH.node, "Node"), (SH["not"], "Not"), (SH.property, "Property")):
            for value in sorted(self.values.objects(node, predicate), key=shown):
                inner = self._inner(node, predicate, value)
                if predicate == SH.property and inner.path is None:
                    raise ShapesError(
                        f"sh:property of {shown(node)} is {shown(value)}, which has no sh:path", node
                    )
                yield Nested(SH[f"{name}ConstraintComponent"], inner)
        for predicate, name in _MEMBERS.items():
            for value in sorted(self.values.objects(node, predicate), key=shown):
                members = self.values.members(node, predicate, value, shape.read_from)
                inners = tuple(self._inner(node, predicate, member) for member in members)
                yield Members(SH[f"{name}ConstraintComponent"], inners)
        for value in sorted(self.values.objects(node, SH.qualifiedValueShape), key=shown):
            inner = self._inner(node, SH.qualifiedValueShape, value)
            least, most = (self.values.count(node, p) for p in (SH.qualifiedMinCount, SH.qualifiedMaxCount))
            siblings: tuple[Shape, ...] = ()
            if self.values.flag(node, SH.qualifiedValueShapesDisjoint):
                siblings = tuple(self._siblings(node, value, shape.read_from))
            yield Qualified(inner, least, most, siblings)

    def _siblings(self, node: Node, value: Node, read_from: set[Node]) -> Iterator[Shape]:
        """Read the sibling shapes of a qualified value shape (4.7.3)."""
        found: dict[Node, None] = {}
        for parent in self._graph.subjects(SH.property, node):
            read_from.add(parent)
            for sibling in self.values.objects(parent, SH.property):
                read_from.add(sibling)
                found |= dict.fromkeys(self.values.objects(sibling, SH.qualifiedValueShape))
        found.pop(value, None)
        for each in sorted(found, key=shown):
            yield self._inner(node, SH.qualifiedValueShape, each)

    def _inner(self, node: Node, predicate: URIRef, value: Node) -> Shape:
        if isinstance(value, Literal):
            raise self.values.expected(node, predicate, "a shape", value)
        return self.shape(value)

    def _closed(self, shape: Shape) -> Closed:
        allowed: set[Node] = set()
        for value in self.values.objects(shape.node, SH.property):
            path = self.values.one(value, SH.path)
            if isinstance(path, URIRef):
                allowed.add(path)
        ignored = self.values.one(shape.node, SH.ignoredProperties)
        if ignored is not None:
            members = self.values.members(shape.node, SH.ignoredProperties, ignored, shape.read_from)
            for member in members:
                if not isinstance(member, URIRef):
                    raise self.values.expected(shape.node, SH.ignoredProperties, "a list of IRIs", member)
            allowed.update(members)
        return Closed(frozenset(allowed))

    def path(self, node: Node, path: Node) -> PathLike:
        """Read a property path of a node."""
        return self._read_path(node, path, set())

    def _read_path(self, node: Node, path: Node, read_from: set[Node]) -> PathLike:
        """Read a property path (2.3.1)."""
        if isinstance(path, URIRef) and path != RDF.nil:
            return path
        if isinstance(path, Literal | URIRef) or path in self._open:
            raise self.values.expected(node, SH.path, "a property path", path)
        read_from.add(path)
        self._open.append(path)  # detects a path that contains itself
        try:
            if self.values.objects(path, RDF.first):
                steps = [
                    self._read_path(node, step, read_from)
                    for step in self.values.members(node, SH.path, path, read_from)
                ]
                if len(steps) < 2:
                    raise self.values.expected(node, SH.path, "a list of at least two steps", path)
                return SequencePath(*steps)
            inverse = self.values.one(path, SH.inversePath)
            if inverse is not None:
                return InvPath(self._read_path(node, inverse, read_from))
            alternative = self.values.one(path, SH.alternativePath)
            if alternative is not None:
                members = self.values.members(node, SH.alternativePath, alternative, read_from)
                if len(members) < 2:
                    raise self.values.expected(
                        node, SH.alternativePath, "a list of at least two paths", alternative
                    )
                return AlternativePath(*(self._read_path(node, member, read_from) for member in members))
            for predicate, mark in REPEATED.items():
                repeated = self.values.one(path, predicate)
                if repeated is not None:
                    return MulPath(self._read_path(node, repeated, read_from), mark)
        finally:
            self._open.pop()
        raise self.values.expected(node, SH.path, "a property path", path)


def _within(constraint: Constraint) -> tuple[Shape, ...]:
    """Return the shapes that a constraint refers to."""
    if isinstance(constraint, Nested):
        return (constraint.shape,)
    if isinstance(constraint, Members):
        return constraint.shapes
    if isinstance(constraint, Qualified):
        return (constraint.shape, *constraint.siblings)
    return ()


_SAYING_SHAPES: Final = frozenset({
    *TARGETS, *_UNSUPPORTED, *READERS, *_COMPARISONS, *_MEMBERS, *_SHAPES, SH.target, SH.path, SH.closed,
    SH.ignoredProperties, SH.pattern, SH.flags, SH.qualifiedMinCount, SH.qualifiedMaxCount,
    SH.qualifiedValueShapesDisjoint, SH.sparql,
})  # fmt: skip
"""The predicates of targets and constraints, whose subjects are shapes."""
ABOUT_SHAPES: Final = tuple(sorted({
    *_SAYING_SHAPES, *_OF_COMPONENTS, *PATHS, SH.severity, SH.message, SH.deactivated, SH.select, RDF.type,
    RDF.first, RDF.rest,
}))  # fmt: skip
"""The predicates of triples that may change shapes, except parameters of components."""
