"""Compiles a shape to the maintained algebra: a query whose rows are its validation results.

Example: a shape has the instances of :Train as focus nodes, and requires at least one :delay and integer
values. Its plan is, in SPARQL, the union of

    SELECT ?f    { ?f a :Train  FILTER NOT EXISTS { ?f :delay ?v } }        # implemented by counting
    SELECT ?f ?v { ?f a :Train . ?f :delay ?v  FILTER(!integer(?v)) }

The focus nodes, and the value nodes of a path, are one algebra node each, which all constraints read. A shape
within a shape is compiled for its value nodes, to the set of those that do not conform.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial, reduce
from itertools import count
from typing import Any, Final

from rdflib import RDF, RDFS, Literal, URIRef
from rdflib import Variable as RdflibVariable
from rdflib.paths import AlternativePath, InvPath, MulPath, NegatedPath, SequencePath
from rdflib.term import Node

from rdflive.query import algebra
from rdflive.query.algebra import (
    CLASSIFIED,
    Basic,
    Distinct,
    Exists,
    Filter,
    Group,
    Join,
    OneOf,
    Project,
    Union,
    Values,
)
from rdflive.query.bgp import TriplePattern, Variable
from rdflive.query.joins import join
from rdflive.query.paths import path_parts
from rdflive.query.refusals import refused
from rdflive.query.scope import Dataset, Query, Scope
from rdflive.query.translate import translate
from rdflive.regex import RegexError
from rdflive.shacl.conditions import Breaks, Constant, Fails, Found, FoundRows, Function, Pairs, ResultSource
from rdflive.shacl.messages import message_of
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
    ValueConstraint,
)
from rdflive.shacl.sparql import broken, select_target
from rdflive.shacl.value_tests import VALUE_TESTS, comparable, spellings
from rdflive.shacl.vocabulary import SH

__all__ = ["NAMES", "compile_shape", "nothing"]

NAMES: Final = ("focus", "value", "path", "message", "source")
"""The columns of a compiled shape; the last is the index of a `ResultSource`."""
_FEW: Final = 10
"""Up to this number, node targets have a pattern each."""


def compile_shape(shape: Shape, *, merges: bool = True) -> tuple[algebra.Node, tuple[ResultSource, ...]]:
    """Compile a shape with its targets to an algebra node with the columns `NAMES`, and the sources that the
    last column refers to.

    With `merges`, a path is matched on the graph in which classes also have the instances of their
    subclasses, if its answer is the same there. Raises `ShapesError` for shapes that cannot be maintained.
    """
    compiler = ShapeCompiler(merges=merges)
    branches: list[algebra.Node] = []
    sources: list[ResultSource] = []
    for found in compiler.results(shape, compiler.targets(shape)):
        number = Literal(len(sources))
        columns_of = (found.focus, found.value, found.path, found.message)
        renamed = tuple(
            (Variable(name), column) for name, column in zip(NAMES, columns_of, strict=False) if column
        )
        branch = Project(found.node, (), renamed)
        branches.append(algebra.Extend(branch, Variable(NAMES[-1]), Constant(number)))
        sources.append(found.source)
    columns = tuple(map(Variable, NAMES))
    return (Union(tuple(branches)) if branches else Values(columns, ())), tuple(sources)


def nothing() -> algebra.Node:
    """Return a query without rows that still reads the graph, for a validation in which no shape has
    targets.
    """
    never = Basic((TriplePattern(SH.ValidationReport, SH.ValidationReport, SH.ValidationReport),))
    return Join(never, Values(tuple(map(Variable, NAMES)), ()))


class ShapeCompiler:
    """Compiles one shape with its nested shapes; algebra nodes that several constraints read are built
    once.
    """

    def __init__(self, *, merges: bool) -> None:
        self._merges = merges
        self.numbers = count(1)
        self._pairs: dict[tuple[Shape, algebra.Node], Pairs] = {}
        self._values: dict[algebra.Node, algebra.Node] = {}
        self._failing: dict[tuple[Shape, algebra.Node], algebra.Node] = {}

    def fresh(self) -> Variable:
        """Return a new variable."""
        return Variable(f"·{next(self.numbers)}", distinguished=False)

    def scope(self, rows: FoundRows | None = None, graph: Any = None) -> Scope:
        """Return the scope that a path is evaluated in.

        From `rows` the path starts as from constants (2.3.1): a path of no steps exists even for a node that
        is in no triple.
        """
        asked: dict[Node, Variable] = {} if rows is None else {RdflibVariable("this"): rows.column}
        given = None if rows is None else rows.node
        query = Query(
            translate,
            partial(refused, tree=None, text=""),
            {},
            Dataset(),
            None,
            asked,
            given,
            walks=True,
            _numbers=self.numbers,
        )
        return Scope(query, graph)

    def targets(self, shape: Shape) -> FoundRows:
        """Return the focus nodes of a shape (2.1.3)."""
        focus = self.fresh()
        conditions: tuple[algebra.Condition, ...] = ()
        if shape.only is not None:
            conditions = (OneOf(focus.name, shape.only),)
        parts = [self._target(target, focus, conditions) for target in shape.targets if target.kind != "node"]
        nodes = tuple((target.value,) for target in shape.targets if target.kind == "node")
        if nodes or not parts:
            parts.append(Values((focus,), nodes))
        return FoundRows(parts[0] if len(parts) == 1 else Distinct(Union(tuple(parts))), focus)

    def _target(
        self, target: FocusTarget, focus: Variable, conditions: tuple[algebra.Condition, ...]
    ) -> algebra.Node:
        if target.kind == "class":
            return self.instances(focus, target.value, conditions)
        if target.kind == "select":
            return reduce(Filter, conditions, select_target(self, target.value, focus))
        ends = (focus, self.fresh()) if target.kind == "subjects" else (self.fresh(), focus)
        found = Basic((TriplePattern(ends[0], target.value, ends[1]),), None, conditions)
        return Distinct(Project(found, (focus,)))

    def instances(
        self, column: Variable, name: Node, conditions: tuple[algebra.Condition, ...] = ()
    ) -> algebra.Node:
        """Return the SHACL instances of a class, including those of its subclasses (1.1)."""
        return Basic((TriplePattern(column, RDF.type, name),), CLASSIFIED, conditions)

    def pairs(self, shape: Shape, rows: FoundRows) -> Pairs:
        """Return nodes with their value nodes."""
        if shape.path is None:
            return Pairs(rows.node, rows.column, rows.column)
        known = self._pairs.get((shape, rows.node))
        if known is None:
            known = self._pairs[shape, rows.node] = self.along(shape.path, rows, self.fresh())
        return known

    def along(self, path: PathLike, rows: FoundRows, value: Variable) -> Pairs:
        """Return nodes with the ends of a path."""
        if isinstance(rows.node, Values) and len(rows.node.rows) <= _FEW:
            # one pattern per node: a pattern for all nodes needs a join, which stores nodes and rows
            parts = [self._from_node(path, node, rows.column, value) for (node,) in rows.node.rows]
            found = parts[0] if len(parts) == 1 else Union(tuple(parts))
            return Pairs(found, rows.column, value)
        is_classified = isinstance(rows.node, Basic) and rows.node.graph is CLASSIFIED
        graph = CLASSIFIED if self._merges and is_classified and _is_plain(path) else None
        scope = self.scope(rows, graph)
        node = join([rows.node, *path_parts(rows.column, path, value, scope)], scope, [])
        kept = Project(node, (rows.column, value))
        return Pairs(kept if _is_one_step(path) else Distinct(kept), rows.column, value)

    def _from_node(self, path: PathLike, node: Any, focus: Variable, value: Variable) -> algebra.Node:
        scope = self.scope()
        ends = Project(join([*path_parts(node, path, value, scope)], scope, []), (value,))
        kept = ends if _is_one_step(path) else Distinct(ends)
        return algebra.Extend(kept, focus, Constant(node))

    def values(self, pairs: Pairs) -> FoundRows:
        """Return the distinct value nodes."""
        if pairs.value == pairs.focus:
            return FoundRows(pairs.node, pairs.value)
        node = self._values.get(pairs.node)
        if node is None:
            node = self._values[pairs.node] = Distinct(Project(pairs.node, (pairs.value,)))
        return FoundRows(node, pairs.value)

    def results(self, shape: Shape, rows: FoundRows) -> Iterator[Found]:
        """Return the results of a shape at some nodes, and those of its property shapes at their focus
        nodes.
        """
        for constraint in shape.constraints:
            if not isinstance(constraint, Nested) or constraint.component != SH.PropertyConstraintComponent:
                yield from self.breaks(shape, constraint, rows)
                continue
            pairs = self.pairs(shape, rows)
            for found in self.results(constraint.shape, self.values(pairs)):
                if shape.path is None:
                    yield found
                else:  # one result per path to its focus node
                    yield found._replace(node=Join(pairs.node, found.node))

    def failing(self, shape: Shape, rows: FoundRows) -> algebra.Node:
        """Return the distinct nodes that do not conform to a shape (3.4.3), in the same column."""
        known = self._failing.get((shape, rows.node))
        if known is None:
            parts = [
                Project(found.node, (rows.column,))
                for constraint in shape.constraints
                for found in self.breaks(shape, constraint, rows)
            ]
            known = Distinct(Union(tuple(parts))) if parts else Values((rows.column,), ())
            self._failing[shape, rows.node] = known
        return known

    def breaks(self, shape: Shape, constraint: Constraint, rows: FoundRows) -> Iterator[Found]:
        """Return the violations of one constraint of a shape; the column of focus nodes is that of `rows`."""
        pairs = self.pairs(shape, rows)
        if isinstance(constraint, SparqlConstraint):
            yield from broken(self, shape, constraint, rows, pairs)
            return
        component = SH.QualifiedValueShapeConstraintComponent
        if isinstance(constraint, Closed):
            component = SH.ClosedConstraintComponent
        elif not isinstance(constraint, Qualified):
            component = constraint.component
        source = self.source(shape, component, message_of(constraint))
        if isinstance(constraint, ValueConstraint):
            yield from self._by_value(constraint, shape, rows, pairs, source)
        elif isinstance(constraint, PropertyPair):
            yield from self._compared(constraint, rows, pairs, source)
        elif isinstance(constraint, Closed):
            predicate, other = self.fresh(), self.fresh()
            allowed = OneOf(predicate.name, constraint.allowed, negated=True)
            triples = Basic((TriplePattern(pairs.value, predicate, other),), None, (allowed,))
            yield Found(Join(pairs.node, triples), pairs.focus, source, other, predicate)
        elif isinstance(constraint, Qualified):
            yield from self._qualified(constraint, rows, pairs, shape)
        else:
            node = self._nested(constraint, pairs)
            yield Found(node, pairs.focus, source, pairs.value)

    def source(
        self,
        shape: Shape,
        component: URIRef,
        message: str,
        *,
        constraint: Node | None = None,
        messages: tuple[Literal, ...] = (),
    ) -> ResultSource:
        """Return the common parts of the results of a constraint."""
        messages = messages or shape.messages or (Literal(message),)
        return ResultSource(component, shape.node, shape.severity, shape.path_node, messages, constraint)

    def _by_value(
        self, constraint: ValueConstraint, shape: Shape, rows: FoundRows, pairs: Pairs, source: ResultSource
    ) -> Iterator[Found]:
        component, value = constraint.component, constraint.value
        make = VALUE_TESTS.get(component)
        if make is not None:
            try:
                test = make(value)
            except RegexError as error:  # in sh:pattern or sh:flags
                raise ShapesError(
                    f"sh:pattern {value[0]!r} cannot be matched: {error}", shape.node
                ) from error
            text = f"!{component.rpartition('#')[2].removesuffix('ConstraintComponent')}(?{pairs.value.name})"
            broken = Breaks(pairs.value.name, f"{text} {value}", test)
            yield Found(Filter(pairs.node, broken), pairs.focus, source, pairs.value)
        elif component == SH.ClassConstraintComponent:
            instances = self.instances(pairs.value, value)
            yield Found(Exists(pairs.node, instances, negated=True), pairs.focus, source, pairs.value)
        elif component in (SH.MinCountConstraintComponent, SH.MaxCountConstraintComponent):
            is_least = component == SH.MinCountConstraintComponent
            if value > 0 or not is_least:
                limits = (value, None) if is_least else (None, value)
                counted = self._counted(pairs, rows, seeded=is_least)
                yield Found(self._outside(*counted, *limits), pairs.focus, source)
        elif component == SH.UniqueLangConstraintComponent:
            if value:
                yield Found(self._same_language(pairs), pairs.focus, source)
        elif component == SH.HasValueConstraintComponent:
            wanted = Breaks(pairs.value.name, f"?{pairs.value.name} = {value.n3()}", partial(_differs, value))
            having = Project(Filter(pairs.node, wanted), (pairs.focus,))
            yield Found(Exists(rows.node, having, negated=True), pairs.focus, source)
        else:
            raise ShapesError(f"the constraint component {component} is unknown", shape.node)

    def _counted(self, pairs: Pairs, rows: FoundRows, *, seeded: bool) -> tuple[algebra.Node, Variable]:
        """Count the value nodes of each focus node.

        With `seeded`, focus nodes without value nodes count 0.
        """
        number = self.fresh()
        counts = (algebra.Aggregate("COUNT", number, None, distinct=False),)
        return Group(pairs.node, (pairs.focus,), counts, rows.node if seeded else None), number

    def _outside(
        self, counted: algebra.Node, number: Variable, least: int | None, most: int | None
    ) -> algebra.Node:
        """Keep the rows whose count is outside the limits."""
        text = f"?{number.name} < {least}" if most is None else f"?{number.name} > {most}"
        return Filter(counted, Breaks(number.name, text, partial(_between, least or 0, most)))

    def _same_language(self, pairs: Pairs) -> algebra.Node:
        """Return a row for each language that several value nodes have (4.4.5)."""
        tag = self.fresh()
        tagged = algebra.Extend(
            pairs.node, tag, Function((pairs.value.name,), f"LANG(?{pairs.value.name})", _language)
        )
        bound = Filter(tagged, Breaks(tag.name, f"BOUND(?{tag.name})", lambda _: lambda term: term is None))
        number = self.fresh()
        counts = (algebra.Aggregate("COUNT", number, None, distinct=False),)
        return self._outside(Group(bound, (pairs.focus, tag), counts), number, None, 1)

    def _compared(
        self, constraint: PropertyPair, rows: FoundRows, pairs: Pairs, source: ResultSource
    ) -> Iterator[Found]:
        component, value = constraint.component, pairs.value
        if value == pairs.focus:  # of a node shape: a second column, to compare the node with its values
            value = self.fresh()
            pairs = Pairs(Project(pairs.node, (pairs.focus,), ((value, pairs.focus),)), pairs.focus, value)
        if component in (SH.LessThanConstraintComponent, SH.LessThanOrEqualsConstraintComponent):
            operator = "<" if component == SH.LessThanConstraintComponent else "<="
            other = self.along(constraint.other, rows, self.fresh())
            text = f"!(?{value.name} {operator} ?{other.value.name})"
            failed = Fails(value.name, other.value.name, text, partial(comparable, operator))
            yield Found(Filter(Join(pairs.node, other.node), failed), pairs.focus, source, value)
            return
        other = self.along(constraint.other, rows, value)
        if component == SH.DisjointConstraintComponent:
            yield Found(Join(pairs.node, other.node), pairs.focus, source, value)
        else:
            for one, two in ((pairs, other), (other, pairs)):
                yield Found(Exists(one.node, two.node, negated=True), pairs.focus, source, value)

    def _nested(self, constraint: Nested | Members, pairs: Pairs) -> algebra.Node:
        """Return the pairs whose value nodes break a constraint of shapes (4.6, 4.7.1 and 4.7.2)."""
        rows = self.values(pairs)
        if isinstance(constraint, Nested):
            failing = self.failing(constraint.shape, rows)
            if constraint.component == SH.NotConstraintComponent:
                return Exists(pairs.node, failing, negated=True)
            return self._those(pairs, failing)
        sets = [self.failing(shape, rows) for shape in constraint.shapes]
        if constraint.component == SH.AndConstraintComponent:
            return self._those(pairs, Distinct(Union(tuple(sets)))) if sets else Values((pairs.focus,), ())
        if constraint.component == SH.OrConstraintComponent:
            return self._those(pairs, _joined(sets)) if sets else pairs.node
        if not sets:
            return pairs.node
        number = self.fresh()
        counts = (algebra.Aggregate("COUNT", number, None, distinct=False),)
        counted = Group(Union(tuple(sets)), (pairs.value,), counts, rows.node)
        but_one = len(sets) - 1
        text = f"?{number.name} != {but_one}"
        other = Filter(counted, Breaks(number.name, text, partial(_between, but_one, but_one)))
        return self._those(pairs, Project(other, (pairs.value,)))

    def _those(self, pairs: Pairs, values: algebra.Node) -> algebra.Node:
        return values if pairs.value == pairs.focus else Join(pairs.node, values)

    def _qualified(
        self, constraint: Qualified, rows: FoundRows, pairs: Pairs, shape: Shape
    ) -> Iterator[Found]:
        """Count the value nodes that conform; if disjoint, only those that conform to no sibling shape
        (4.7.3).
        """
        values = self.values(pairs)
        node: algebra.Node = Exists(pairs.node, self.failing(constraint.shape, values), negated=True)
        for sibling in constraint.siblings:
            node = Join(node, self.failing(sibling, values))
        counted = self._counted(
            Pairs(node, pairs.focus, pairs.value), rows, seeded=constraint.least is not None
        )
        for least, most, name in ((constraint.least, None, "Min"), (None, constraint.most, "Max")):
            if least is not None or most is not None:
                component = SH[f"Qualified{name}CountConstraintComponent"]
                limited = replace_limits(constraint, least, most)
                source = self.source(shape, component, message_of(limited))
                yield Found(self._outside(*counted, least, most), pairs.focus, source)


def replace_limits(constraint: Qualified, least: int | None, most: int | None) -> Qualified:
    """Return a qualified constraint with one of its limits."""
    return replace(constraint, least=least, most=most)


def _joined(nodes: list[algebra.Node]) -> algebra.Node:
    """Join nodes as a balanced tree, so that many nodes are not nested deeply."""
    while len(nodes) > 1:
        nodes = [reduce(Join, nodes[at : at + 2]) for at in range(0, len(nodes), 2)]
    return nodes[0]


def _differs(value: Node, constant: Any) -> Any:
    spelled = spellings(constant(value))
    return lambda term: term not in spelled


def _between(least: int, most: int | None, _: Any) -> Any:
    return lambda number: least <= number.value and (most is None or number.value <= most)


def _language(term: Any) -> Literal | None:
    language = getattr(term, "language", None)
    return Literal(language.lower()) if language else None


def _is_one_step(path: PathLike) -> bool:
    """Return True if a path never returns the same pair twice."""
    return isinstance(path, URIRef) or (isinstance(path, InvPath) and isinstance(path.arg, URIRef))


def _is_plain(path: Any) -> bool:
    """Return True if a path has the same answer on the graph in which superclasses have the instances of
    subclasses.
    """
    if isinstance(path, URIRef):
        return path not in (RDF.type, RDFS.subClassOf)
    if isinstance(path, InvPath):
        return _is_plain(path.arg)
    if isinstance(path, SequencePath | AlternativePath):
        return all(map(_is_plain, path.args))
    # a path of no steps returns all nodes, which may include classes that are only inferred
    return (
        isinstance(path, MulPath)
        and path.mod == "+"
        and _is_plain(path.path)
        and not isinstance(path, NegatedPath)
    )
