"""A reference validator after the SHACL Recommendation, which validates focus nodes one by one.

It shares no code with `rdflive.shacl`, and supports SHACL Core.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeAlias

from rdflib import OWL, RDF, RDFS, XSD, BNode, Graph, Literal, Namespace, URIRef
from rdflib.term import Node

SH = Namespace("http://www.w3.org/ns/shacl#")
Result: TypeAlias = tuple[Node, Node | None, Node | None, URIRef, Node, Node]
"""Focus node, path, value, component, shape, severity."""


class IllFormedError(ValueError):
    """A shape without a meaning in the Recommendation."""


class Validator:
    """Validates a data graph against a shapes graph."""

    def __init__(
        self,
        data: Graph,
        shapes: Graph,
        focus_nodes: Collection[Node] | None = None,
        use_shapes: Collection[Node] | None = None,
    ) -> None:
        self.data, self.shapes = data, shapes
        self.focus_nodes, self.use_shapes = focus_nodes, use_shapes
        self._open: list[Node] = []

    def results(self) -> Counter[Result]:
        """Return all results of shapes with targets; ill-formed shapes are skipped."""
        found: Counter[Result] = Counter()
        for shape in self.rooted():
            try:
                self.check(shape)
                mine = Counter(r for focus in self.focuses(shape) for r in self.validate(focus, shape))
            except IllFormedError:
                continue
            found += mine
        return found

    def rooted(self) -> list[Node]:
        """Return the shapes with targets, or those of `use_shapes`."""
        if self.use_shapes is not None:
            return list(self.use_shapes)
        found = {
            s
            for p in (SH.targetNode, SH.targetClass, SH.targetSubjectsOf, SH.targetObjectsOf)
            for s in self.shapes.subjects(p)
        }
        kinds = (SH.NodeShape, SH.PropertyShape)
        found |= {s for k in kinds for s in self.shapes.subjects(RDF.type, k) if self.is_class(s)}
        return list(found)

    def is_class(self, node: Node) -> bool:
        """Return True if a shape is a class (2.1.3.3)."""
        return any(self.instance(self.shapes, node, kind) for kind in (RDFS.Class, OWL.Class))

    def focuses(self, shape: Node) -> set[Node]:
        """Return the nodes to validate against a shape."""
        if self.focus_nodes is None:
            return self.targets(shape)
        nodes = set(self.focus_nodes)
        return nodes if self.use_shapes is not None else nodes & self.targets(shape)

    def targets(self, shape: Node) -> set[Node]:
        """Return the focus nodes of a shape."""
        found = set(self.shapes.objects(shape, SH.targetNode))
        classes = set(self.shapes.objects(shape, SH.targetClass))
        if self.is_class(shape) and any(
            (shape, RDF.type, k) in self.shapes for k in (SH.NodeShape, SH.PropertyShape)
        ):
            classes.add(shape)
        for name in classes:
            found |= {s for s in self.data.subjects(RDF.type) if self.instance(self.data, s, name)}
        for p in self.shapes.objects(shape, SH.targetSubjectsOf):
            found |= set(self.data.subjects(p))
        for p in self.shapes.objects(shape, SH.targetObjectsOf):
            found |= set(self.data.objects(None, p))
        return found

    @staticmethod
    def instance(graph: Graph, node: Node, name: Node) -> bool:
        """Return True if a node is a SHACL instance of a class."""
        return any(
            name in set(graph.transitive_objects(kind, RDFS.subClassOf))
            for kind in graph.objects(node, RDF.type)
        )

    def one(self, node: Node, p: Node) -> Node | None:
        """Return the only value of a property."""
        values = list(self.shapes.objects(node, p))
        if len(values) > 1:
            raise IllFormedError(p)
        return values[0] if values else None

    def true(self, node: Node, p: Node) -> bool:
        """Return True if a flag is set."""
        return str(self.one(node, p)) == "true"

    def check(self, shape: Node) -> None:
        """Raise IllFormedError for a shape that is, or contains, an ill-formed or recursive shape."""
        if shape in self._open or isinstance(shape, Literal):
            raise IllFormedError(shape)
        self._open.append(shape)
        try:
            path = self.one(shape, SH.path)
            if path is not None:
                self.path_check(path)
            elif (shape, RDF.type, SH.PropertyShape) in self.shapes:
                raise IllFormedError(shape)
            if self.true(shape, SH.deactivated):
                return
            for p in (SH.severity, SH.closed, SH.datatype, SH.nodeKind, SH.pattern, SH.flags,
                      SH.minCount, SH.maxCount, SH.minLength, SH.maxLength, SH.languageIn, SH.uniqueLang,
                      SH.minExclusive, SH.minInclusive, SH.maxExclusive, SH.maxInclusive, SH["in"],
                      SH.qualifiedMinCount, SH.qualifiedMaxCount, SH.qualifiedValueShapesDisjoint,
                      SH.ignoredProperties):  # fmt: skip
                self.one(shape, p)
            if path is None:
                for p in (SH.minCount, SH.maxCount, SH.lessThan, SH.lessThanOrEquals, SH.uniqueLang,
                          SH.qualifiedValueShape):  # fmt: skip
                    if (shape, p, None) in self.shapes:
                        raise IllFormedError(p)
            closing = (SH.ignoredProperties,) if self.true(shape, SH.closed) else ()
            for p in (SH["in"], SH.languageIn, *closing):
                for head in self.shapes.objects(shape, p):
                    self.list(head)
            for p in (SH["and"], SH["or"], SH.xone):
                for head in self.shapes.objects(shape, p):
                    for member in self.list(head):
                        self.check(member)
            for p in (SH.node, SH["not"], SH.property, SH.qualifiedValueShape):
                for inner in self.shapes.objects(shape, p):
                    self.check(inner)
                    if p == SH.property and self.one(inner, SH.path) is None:
                        raise IllFormedError(inner)
            if (shape, SH.qualifiedValueShape, None) in self.shapes:
                for sibling in self.siblings(shape):
                    self.check(sibling)
        finally:
            self._open.pop()

    def list(self, head: Node) -> list[Node]:
        """Read a list."""
        items, seen = [], set()
        while head != RDF.nil:
            first, rest = self.one(head, RDF.first), self.one(head, RDF.rest)
            if first is None or rest is None or head in seen:
                raise IllFormedError(head)
            seen.add(head)
            items.append(first)
            head = rest
        return items

    def path_check(self, path: Node, above: tuple[Node, ...] = ()) -> None:
        """Raise IllFormedError for an ill-formed path."""
        if isinstance(path, URIRef):
            return
        if isinstance(path, Literal) or path in above:
            raise IllFormedError(path)
        above = (*above, path)
        steps: list[Node] | None = None
        if (path, RDF.first, None) in self.shapes:
            steps = self.list(path)
            if len(steps) < 2:
                raise IllFormedError(path)
        elif (inverse := self.one(path, SH.inversePath)) is not None:
            steps = [inverse]
        elif (head := self.one(path, SH.alternativePath)) is not None:
            steps = self.list(head)
            if len(steps) < 2:
                raise IllFormedError(path)
        else:
            for p in (SH.zeroOrMorePath, SH.oneOrMorePath, SH.zeroOrOnePath):
                inner = self.one(path, p)
                if inner is not None:
                    steps = [inner]
                    break
        if steps is None:
            raise IllFormedError(path)
        for step in steps:
            self.path_check(step, above)

    def follow(self, node: Node, path: Node, *, back: bool = False) -> set[Node]:
        """Return the nodes at the end of a path."""
        if isinstance(path, URIRef):
            return set(self.data.subjects(path, node) if back else self.data.objects(node, path))
        if (path, RDF.first, None) in self.shapes:
            ends = {node}
            for step in reversed(self.list(path)) if back else self.list(path):
                ends = {e for end in ends for e in self.follow(end, step, back=back)}
            return ends
        inverse = self.shapes.value(path, SH.inversePath)
        if inverse is not None:
            return self.follow(node, inverse, back=not back)
        head = self.shapes.value(path, SH.alternativePath)
        if head is not None:
            return {e for step in self.list(head) for e in self.follow(node, step, back=back)}
        for p in (SH.zeroOrMorePath, SH.oneOrMorePath, SH.zeroOrOnePath):
            inner = self.shapes.value(path, p)
            if inner is None:
                continue
            found = self.follow(node, inner, back=back)
            waiting = [] if p == SH.zeroOrOnePath else list(found)
            while waiting:
                new = self.follow(waiting.pop(), inner, back=back) - found
                found |= new
                waiting += new
            return found if p == SH.oneOrMorePath else found | {node}
        raise IllFormedError(path)

    def conforms(self, node: Node, shape: Node) -> bool:
        """Return True if a node conforms to a shape."""
        return not any(True for _ in self.validate(node, shape))

    def validate(self, focus: Node, shape: Node) -> Iterator[Result]:
        """Yield the results of a node."""
        if self.true(shape, SH.deactivated):
            return
        path = self.one(shape, SH.path)
        values = {focus} if path is None else self.follow(focus, path)
        severity = self.one(shape, SH.severity) or SH.Violation
        for name, value, at in self.broken(focus, shape, path, values):
            yield focus, at or path, value, SH[f"{name}ConstraintComponent"], shape, severity
        for inner in self.shapes.objects(shape, SH.property):
            for value in values:
                yield from self.validate(value, inner)

    def broken(
        self, focus: Node, shape: Node, path: Node | None, values: set[Node]
    ) -> Iterator[tuple[str, Node | None, Node | None]]:
        """Yield the violations of a shape: a component, with its value and path where it has them."""
        get = lambda p: list(self.shapes.objects(shape, p))  # noqa: E731
        for name, meets in (
            ("class", lambda v, x: self.instance(self.data, v, x)),
            ("datatype", datatype),
            ("nodeKind", node_kind),
            ("minExclusive", lambda v, x: less(x, v)),
            ("minInclusive", lambda v, x: less(x, v, equal=True)),
            ("maxExclusive", lambda v, x: less(v, x)),
            ("maxInclusive", lambda v, x: less(v, x, equal=True)),
            ("minLength", lambda v, x: not isinstance(v, BNode) and len(str(v)) >= int(x)),
            ("maxLength", lambda v, x: not isinstance(v, BNode) and len(str(v)) <= int(x)),
            ("in", lambda v, x: v in self.list(x)),
            ("languageIn", lambda v, x: language(v, [str(t).lower() for t in self.list(x)])),
            ("node", self.conforms),
            ("not", lambda v, x: not self.conforms(v, x)),
            ("and", lambda v, x: all(self.conforms(v, s) for s in self.list(x))),
            ("or", lambda v, x: any(self.conforms(v, s) for s in self.list(x))),
            ("xone", lambda v, x: sum(self.conforms(v, s) for s in self.list(x)) == 1),
        ):
            for parameter in get(SH[name]):
                yield from ((name[0].upper() + name[1:], v, None) for v in values if not meets(v, parameter))
        for pattern in get(SH.pattern):
            flags = re.IGNORECASE if "i" in str(self.one(shape, SH.flags) or "") else re.NOFLAG
            for v in values:
                if isinstance(v, BNode) or not re.search(str(pattern), str(v), flags):
                    yield "Pattern", v, None
        for x in get(SH.minCount):
            if len(values) < int(x):
                yield "MinCount", None, None
        for x in get(SH.maxCount):
            if len(values) > int(x):
                yield "MaxCount", None, None
        for x in get(SH.hasValue):
            if x not in values:
                yield "HasValue", None, None
        if self.true(shape, SH.uniqueLang):
            tags = Counter(v.language.lower() for v in values if isinstance(v, Literal) and v.language)
            yield from (("UniqueLang", None, None) for count in tags.values() if count > 1)
        for p in get(SH.equals):
            yield from (("Equals", v, None) for v in values ^ set(self.data.objects(focus, p)))
        for p in get(SH.disjoint):
            yield from (("Disjoint", v, None) for v in values & set(self.data.objects(focus, p)))
        for name, equal in (("lessThan", False), ("lessThanOrEquals", True)):
            for p in get(SH[name]):
                for v in values:
                    for other in self.data.objects(focus, p):
                        if not less(v, other, equal=equal):
                            yield name[0].upper() + name[1:], v, None
        if self.true(shape, SH.closed):
            allowed = {q for s in get(SH.property) for q in self.shapes.objects(s, SH.path)}
            ignored = self.one(shape, SH.ignoredProperties)
            allowed |= set() if ignored is None else set(self.list(ignored))
            for v in values:
                if not isinstance(v, Literal):
                    yield from (
                        ("Closed", o, p) for p, o in self.data.predicate_objects(v) if p not in allowed
                    )
        for inner in get(SH.qualifiedValueShape):
            siblings = []
            if self.true(shape, SH.qualifiedValueShapesDisjoint):
                siblings = [s for s in self.siblings(shape) if s != inner]
            count = sum(
                self.conforms(v, inner) and not any(self.conforms(v, s) for s in siblings) for v in values
            )
            for x in get(SH.qualifiedMinCount):
                if count < int(x):
                    yield "QualifiedMinCount", None, None
            for x in get(SH.qualifiedMaxCount):
                if count > int(x):
                    yield "QualifiedMaxCount", None, None

    def siblings(self, shape: Node) -> set[Node]:
        """Return the qualified value shapes of a shape and its siblings."""
        return {
            q
            for parent in self.shapes.subjects(SH.property, shape)
            for sibling in self.shapes.objects(parent, SH.property)
            for q in self.shapes.objects(sibling, SH.qualifiedValueShape)
        }


_RANGES = {
    XSD.byte: (-128, 127), XSD.unsignedByte: (0, 255), XSD.nonNegativeInteger: (0, None),
    XSD.positiveInteger: (1, None), XSD.short: (-32768, 32767),
}  # fmt: skip


def datatype(value: Node, wanted: Node) -> bool:
    """Return True if a literal is well-formed and of a datatype."""
    if not isinstance(value, Literal):
        return False
    own = value.datatype or (RDF.langString if value.language else XSD.string)
    if own != wanted or value.ill_typed:
        return False
    least, most = _RANGES.get(own, (None, None))
    return (least is None or int(value) >= least) and (most is None or int(value) <= most)


def node_kind(value: Node, kind: Node) -> bool:
    """Return True if a node is of a kind."""
    own = SH.IRI if isinstance(value, URIRef) else SH.BlankNode if isinstance(value, BNode) else SH.Literal
    return str(own).rpartition("#")[2] in str(kind).rpartition("#")[2].split("Or")


def language(value: Node, ranges: list[str]) -> bool:
    """Return True if the language of a literal is in one of the ranges."""
    tag = (getattr(value, "language", None) or "").lower()
    return bool(tag) and any(tag == r or tag.startswith(f"{r}-") for r in ranges)


def less(one: Any, other: Any, *, equal: bool = False) -> bool:
    """Compare two literals by SPARQL's `<` or `<=`; False if they are not comparable."""
    if not isinstance(one, Literal) or not isinstance(other, Literal) or one.language or other.language:
        return False
    left, right = one.value, other.value
    if one.ill_typed or other.ill_typed or left is None or right is None:
        return False
    numbers = all(isinstance(x, int | float | Decimal) and not isinstance(x, bool) for x in (left, right))
    if not numbers and type(left) is not type(right):
        return False
    if isinstance(left, datetime) and (left.tzinfo is None) != (right.tzinfo is None):
        return False  # tests have only times within 14 hours
    return bool(left <= right if equal else left < right)
