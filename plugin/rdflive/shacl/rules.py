"""Rules of shapes (SHACL Advanced Features, Section 8) as a program of the rule engine.

A rule of the engine reads triples and compares terms, and creates no terms, so that it always ends. The
conditions of a shape's rule are written as such bodies: one for each way to meet them. For example, a shape
with the target class `:Train`, whose rule has the condition that `:delay` has a value, becomes for the triple
`sh:this :is :Late` the rule `?this instance :Train . ?this :delay ?·1 => ?this :is :Late`. Conditions for
something missing, such as sh:maxCount, and computed terms, such as BIND, raise `ShapesError`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, Final, NoReturn, TypeAlias

from rdflib import RDF, RDFS, BNode, Graph, Literal, URIRef
from rdflib.paths import AlternativePath, InvPath, MulPath, Path, SequencePath
from rdflib.term import Node
from rdflib.term import Variable as SparqlVariable

from rdflive.entail.rules.program import AUXILIARY, Comparison, Operator, Program, Rule
from rdflive.errors import QuerySyntaxError, UnsupportedQueryError
from rdflive.model import TripleTerm
from rdflive.query.bgp import TriplePattern, Variable
from rdflive.shacl.reading import ShapesReader
from rdflive.shacl.shapes import FocusTarget, Nested, Qualified, Shape, ShapesError, ValueConstraint
from rdflive.shacl.values import shown
from rdflive.shacl.vocabulary import SH
from rdflive.syntax.algebra import algebra_of
from rdflive.syntax.reader import read_query
from rdflive.syntax.tree import Tree

__all__ = ["rules_of"]

_THIS: Final = Variable("this")
_INSTANCE: Final = URIRef(f"{AUXILIARY}instance")
"""Instance of a class or of a subclass; a shape does not entail rdf:type itself."""
_OPERATORS: Final[dict[str, Operator]] = {each: each for each in ("=", "!=", "<", ">", "<=", ">=")}
_WORDS: Final = {
    "Extend": "BIND that computes a term",
    "LeftJoin": "OPTIONAL",
    "Minus": "MINUS",
    "ToMultiSet": "a subquery",
}
_TERMS: Final = URIRef | Literal | SparqlVariable
_BOUNDS: Final[dict[URIRef, Operator]] = {
    SH.MinInclusiveConstraintComponent: ">=",
    SH.MinExclusiveConstraintComponent: ">",
    SH.MaxInclusiveConstraintComponent: "<=",
    SH.MaxExclusiveConstraintComponent: "<",
}


def rules_of(shapes: Graph, used: Container[Node] | None = None) -> Program:
    """Return the rules that shapes declare by sh:rule, or those of the shapes in `used`, as of now.

    Raises `ShapesError` for an ill-formed rule, and for one that the rule engine cannot maintain.

    >>> graph = Graph().parse(format="turtle", data='''
    ...     @prefix sh: <http://www.w3.org/ns/shacl#> . @prefix : <urn:> .
    ...     :Late sh:targetSubjectsOf :delay ; sh:rule
    ...         [ a sh:TripleRule ; sh:subject sh:this ; sh:predicate :is ; sh:object :Late ] .''')
    >>> print(rules_of(graph))
    <urn:Late>: ?this <urn:delay> ?·1 => ?this <urn:is> <urn:Late>
    """
    compiler = _Compiler(shapes)
    shaped = sorted(
        (node for node in set(shapes.subjects(SH.rule)) if used is None or node in used), key=shown
    )
    made = [rule for node in shaped for rule in compiler.rules(node)]
    return Program.union([Program((*compiler.auxiliary, *made))])


@dataclass(frozen=True)
class _Body:
    """One way to meet the conditions of a rule: patterns, comparisons, and pairs of equal terms."""

    patterns: tuple[TriplePattern, ...] = ()
    conditions: tuple[Comparison, ...] = ()
    equal: tuple[tuple[Any, Any], ...] = ()

    def reading(self, s: Any, p: Any, o: Any) -> _Body:
        """Return the body with one more triple pattern."""
        return replace(self, patterns=(*self.patterns, TriplePattern(s, p, o)))

    def where(self, left: Any, operator: Operator, right: Any) -> _Body:
        """Return the body with one more comparison."""
        return replace(self, conditions=(*self.conditions, Comparison(operator, left, right)))

    def same(self, one: Any, other: Any) -> _Body:
        """Return the body with one more pair of equal terms."""
        return replace(self, equal=(*self.equal, (one, other)))

    def rule(self, name: str, head: Iterable[TriplePattern]) -> Rule | None:
        """Make the rule, with equal variables merged; None if two constants would have to be equal."""
        names: dict[Any, Any] = {}

        def known(term: Any) -> Any:
            while term in names:
                term = names[term]
            return term

        for one, other in self.equal:
            left, right = known(one), known(other)
            if left == right:
                continue
            if not isinstance(left, Variable):
                left, right = right, left
            if not isinstance(left, Variable):
                return None
            names[left] = right
        patterns, made = (
            tuple(TriplePattern(*map(known, each)) for each in some) for some in (self.patterns, head)
        )
        compared = tuple(replace(c, left=known(c.left), right=known(c.right)) for c in self.conditions)
        return Rule(name, tuple(dict.fromkeys(patterns)), made, tuple(dict.fromkeys(compared)))


_Ways: TypeAlias = "list[tuple[_Body, Any]]"
"""Ways to meet a condition, each with the node that it leads to."""
_EMPTY: Final = _Body()


class _Compiler:
    def __init__(self, shapes: Graph) -> None:
        self._reader = ShapesReader(shapes)
        self._values = self._reader.values
        self._count = 0
        self._node: Node = BNode()
        """The rule being read."""
        self._paths: dict[str, URIRef] = {}
        self.auxiliary: list[Rule] = []
        """Rules for auxiliary predicates, which other rules read."""

    def rules(self, node: Node) -> Iterator[Rule]:
        """Read the rules of a shape with targets."""
        self._node = node
        shape = self._reader.shape(node)
        rules = [] if shape.deactivated else sorted(self._values.objects(node, SH.rule), key=shown)
        for number, self._node in enumerate(rules, 1):
            if self._values.flag(self._node, SH.deactivated):
                continue
            self._count = 0
            bodies = [self._target(target) for target in shape.targets]
            for condition in self._values.objects(self._node, SH.condition):
                inner = self._reader.shape(condition)
                bodies = [found for body in bodies for found in self._conforming(inner, body, _THIS)]
            name = shown(self._node if isinstance(self._node, URIRef) else node)
            if len(rules) > 1 and isinstance(self._node, BNode):
                name += f" {number}"
            made = [self._rule(name, *way) for each in bodies for way in self._made(each)]
            ways = [rule for rule in made if rule is not None]
            for way, rule in enumerate(ways, 1):
                yield rule if len(ways) == 1 else replace(rule, name=f"{name}, way {way}")

    def _made(self, body: _Body) -> Iterator[tuple[_Body, tuple[TriplePattern, ...]]]:
        text = self._values.one(self._node, SH.construct)
        if text is not None:
            yield from self._constructed(body, text)
            return
        places = [self._values.one(self._node, SH[name]) for name in ("subject", "predicate", "object")]
        if None in places:
            self._fail("needs sh:subject, sh:predicate and sh:object, or sh:construct")
        for in_subject, s in self._expression(places[0], body):
            for in_predicate, p in self._expression(places[1], in_subject):
                for way, o in self._expression(places[2], in_predicate):
                    yield way, (TriplePattern(s, p, o),)

    def _target(self, target: FocusTarget) -> _Body:
        value: Any = target.value
        if target.kind == "node":
            return _EMPTY.same(_THIS, value)
        if target.kind == "class":
            return self._instance(_EMPTY, _THIS, value)
        if target.kind == "subjects":
            return _EMPTY.reading(_THIS, value, self._fresh())
        if target.kind == "objects":
            return _EMPTY.reading(self._fresh(), value, _THIS)
        return self._fail("belongs to a target in SPARQL, which is supported for validation only")

    def _instance(self, body: _Body, node: Any, of: Any) -> _Body:
        """Add the pattern that a node is an instance of a class, or of a subclass."""
        if not any(rule.name == "instances" for rule in self.auxiliary):
            x, c, d = map(Variable, "xcd")
            of_c, of_d = TriplePattern(x, _INSTANCE, c), TriplePattern(x, _INSTANCE, d)
            self.auxiliary += [
                Rule("instances", (TriplePattern(x, RDF.type, c),), (of_c,)),
                Rule("instances of superclasses", (of_c, TriplePattern(c, RDFS.subClassOf, d)), (of_d,)),
            ]
        return body.reading(node, _INSTANCE, of)

    def _fresh(self) -> Variable:
        self._count += 1
        return Variable(f"·{self._count}")  # SPARQL has no such name

    def _fail(self, reason: str) -> NoReturn:
        raise ShapesError(f"the rule {shown(self._node)} {reason}", self._node)

    # conditions

    def _conforming(self, shape: Shape, body: _Body, node: Any) -> list[_Body]:
        """Return the ways in which a node conforms to a shape."""
        bodies = [body]
        for constraint in shape.constraints:
            meets = self._meeting if shape.path is None else partial(self._having, shape)
            bodies = [found for each in bodies for found in meets(constraint, each, node)]
        return bodies

    def _having(self, shape: Shape, constraint: Any, body: _Body, node: Any) -> list[_Body]:
        """Return the ways to meet a constraint of a property shape: a value, a given value, or one that
        conforms to a shape.
        """
        is_one = isinstance(constraint, Qualified) and (constraint.least, constraint.most) == (1, None)
        if is_one and not constraint.siblings:
            ways = self._along(shape.path, body, node)
            return [
                found for each, value in ways for found in self._conforming(constraint.shape, each, value)
            ]
        component = constraint.component if isinstance(constraint, ValueConstraint) else None
        if component == SH.MinCountConstraintComponent and constraint.value in (0, 1):
            return [each for each, _ in self._along(shape.path, body, node)] if constraint.value else [body]
        if component == SH.HasValueConstraintComponent:
            return [each.same(end, constraint.value) for each, end in self._along(shape.path, body, node)]
        return self._fail(
            f"has a condition in {shown(shape.node)} on all values of a property, or on their number; "
            "a rule can require one value: sh:minCount 1, sh:hasValue, sh:qualifiedMinCount 1"
        )

    def _meeting(self, constraint: Any, body: _Body, node: Any) -> list[_Body]:
        """Return the ways in which a node itself meets a constraint."""
        component = SH.QualifiedValueShape if isinstance(constraint, Qualified) else constraint.component
        if isinstance(constraint, Nested) and component != SH.NotConstraintComponent:
            return self._conforming(constraint.shape, body, node)
        if component == SH.AndConstraintComponent:
            bodies = [body]
            for shape in constraint.shapes:
                bodies = [found for each in bodies for found in self._conforming(shape, each, node)]
            return bodies
        if component == SH.OrConstraintComponent:
            return [found for shape in constraint.shapes for found in self._conforming(shape, body, node)]
        if component == SH.ClassConstraintComponent:
            return [self._instance(body, node, constraint.value)]
        if component == SH.HasValueConstraintComponent:
            return [body.same(node, constraint.value)]
        if component == SH.InConstraintComponent:
            return [body.same(node, value) for value in constraint.value]
        if component in _BOUNDS:
            return [body.where(node, _BOUNDS[component], constraint.value)]
        return self._fail(f"has the condition {shown(component)}, which rules do not support")

    # paths

    def _along(self, path: Any, body: _Body, start: Any) -> _Ways:
        """Return the ways along a path, each with the value at its end."""
        if isinstance(path, SequencePath):
            ways = [(body, start)]
            for step in path.args:
                ways = [found for each, at in ways for found in self._along(step, each, at)]
            return ways
        if isinstance(path, AlternativePath):
            return [found for each in path.args for found in self._along(each, body, start)]
        if isinstance(path, MulPath):
            there = [(body, start)] if path.mod in ("*", "?") else []
            onward = path.path if path.mod == "?" else self._repeated(path.path)
            return [*there, *self._along(onward, body, start)]
        end = self._fresh()
        if isinstance(path, InvPath):
            # from the other end: the nodes that have the start as a value of the path
            ways = self._along(path.arg, body, end)
            return [(each.same(value, start), end) for each, value in ways]
        if not isinstance(path, URIRef):
            self._fail(f"has the path {path}, which rules do not support")
        return [(body.reading(start, path, end), end)]

    def _repeated(self, path: Any) -> URIRef:
        """Return the auxiliary predicate of the pairs that a path connects in one or more steps."""
        text = str(path.n3() if isinstance(path, URIRef) else path)
        if text not in self._paths:
            name = self._paths[text] = URIRef(f"{AUXILIARY}path:{len(self._paths)}")
            start, middle = Variable("start"), Variable("middle")
            for body, end in self._along(path, _EMPTY, start):
                self._add(f"{text}+", body, TriplePattern(start, name, end))
            for body, end in self._along(path, _EMPTY.reading(start, name, middle), middle):
                self._add(f"{text}+ on", body, TriplePattern(start, name, end))
        return self._paths[text]

    def _add(self, name: str, body: _Body, head: TriplePattern) -> None:
        rule = self._rule(name, body, (head,))
        if rule is not None:
            self.auxiliary.append(rule)

    def _rule(self, name: str, body: _Body, head: tuple[TriplePattern, ...]) -> Rule | None:
        rule = body.rule(name, head)
        if rule is not None:
            bound = {variable for pattern in rule.body for variable in pattern.variables}
            read = [each.variables for each in rule.head] + [each.variables for each in rule.conditions]
            for variable in chain.from_iterable(read):
                if variable not in bound:
                    self._fail(f"uses {variable}, which no triple pattern binds")
        return rule

    # node expressions

    def _expression(self, node: Any, body: _Body) -> _Ways:
        """Return the nodes of a node expression (Section 6)."""
        if node == SH.this:
            return [(body, _THIS)]
        if not isinstance(node, BNode):
            return [(body, node)]
        within, path, shape, union, both = (
            self._values.one(node, SH[name])
            for name in ("nodes", "path", "filterShape", "union", "intersection")
        )
        if path is not None or (shape is not None and within is not None):
            ways = [(body, _THIS)] if within is None else self._expression(within, body)
            if path is not None:
                followed = self._reader.path(node, path)
                return [found for each, start in ways for found in self._along(followed, each, start)]
            inner: Any = shape
            kept = self._reader.shape(inner)
            return [(found, at) for each, at in ways for found in self._conforming(kept, each, at)]
        if union is not None:
            members = self._values.members(node, SH.union, union, set())
            return [found for member in members for found in self._expression(member, body)]
        if both is not None:
            first, *rest = self._values.members(node, SH.intersection, both, set())
            ways = self._expression(first, body)
            for member in rest:
                ways = [
                    (found.same(at, other), at)
                    for each, at in ways
                    for found, other in self._expression(member, each)
                ]
            return ways
        return self._fail(
            f"has an unsupported node expression at {shown(node)}; supported are sh:this, a term, sh:path, "
            "sh:filterShape, sh:union and sh:intersection"
        )

    # SPARQL

    def _constructed(self, body: _Body, text: Node) -> Iterator[tuple[_Body, tuple[TriplePattern, ...]]]:
        """Return the ways to match the pattern of a CONSTRUCT query, with its template."""
        query = self._reader.components.query(self._node, text).text
        try:
            algebra = algebra_of(read_query(query))
        except (QuerySyntaxError, UnsupportedQueryError) as error:
            raise ShapesError(f"the query of the rule {shown(self._node)}: {error}", self._node) from error
        if algebra.name != "ConstructQuery" or any(algebra.datasetClause or ()):
            self._fail("needs a CONSTRUCT query without FROM as sh:construct")
        head = tuple(TriplePattern(*map(self._term, triple)) for triple in algebra.template or ())
        for triple in algebra.template or ():
            if any(isinstance(term, BNode) for term in triple):
                self._fail("creates a blank node, but rules cannot create terms: they might never end")
        pattern = algebra.p.p if algebra.p.name == "Project" else algebra.p
        yield from ((way, head) for way in self._matching(pattern, body))

    def _term(self, term: Any) -> Any:
        if isinstance(term, TripleTerm):
            self._fail("has a triple term, but rules support only triples of RDF 1.1")
        if isinstance(term, SparqlVariable):
            return _THIS if str(term) == "this" else Variable(str(term))
        return Variable(f"·{term}") if isinstance(term, BNode) else term

    def _matching(self, node: Any, body: _Body) -> list[_Body]:
        if node.name == "BGP":
            return self._patterns(node.triples, body)
        if node.name == "Join":
            bodies = [body]
            for part in node.part:
                bodies = [found for each in bodies for found in self._matching(part, each)]
            return bodies
        if node.name == "Union":
            return [found for branch in node.part for found in self._matching(branch, body)]
        if node.name in ("Filter", "Extend"):
            # a variable that a group does not bind is unbound in it, even if an outer group binds it
            for name in _variables(node.expr) - _variables(node.p) - {"this"}:
                self._fail(f"reads ?{name} in a FILTER or BIND of a group that does not bind it")
        if node.name == "Filter":
            return [self._filtered(node.expr, each) for each in self._matching(node.p, body)]
        if node.name == "Extend" and isinstance(node.expr, URIRef | Literal | SparqlVariable):
            ways = self._matching(node.p, body)
            return [each.same(self._term(node.var), self._term(node.expr)) for each in ways]
        what = _WORDS.get(node.name, node.name)
        return self._fail(
            f"has {what}, but a rule can have only triple patterns, paths, UNION, comparisons in FILTER, and "
            "BIND of a term: it cannot create terms, so that it always ends"
        )

    def _patterns(self, triples: Iterable[Any], body: _Body) -> list[_Body]:
        bodies = [body]
        for s, p, o in triples:
            start, end = self._term(s), self._term(o)
            if isinstance(p, Path):
                ways = [found for each in bodies for found in self._along(p, each, start)]
                bodies = [each.same(at, end) for each, at in ways]
            else:
                bodies = [each.reading(start, self._term(p), end) for each in bodies]
        return bodies

    def _filtered(self, test: Any, body: _Body) -> _Body:
        name = getattr(test, "name", "")
        sides = (test.expr, test.other) if name == "RelationalExpression" else ()
        if name == "ConditionalAndExpression":
            for each in (test.expr, *test.other):
                body = self._filtered(each, body)
            return body
        if name == "Builtin_sameTerm":
            return body.where(self._term(test.arg1), "is", self._term(test.arg2))
        if sides and test.op in _OPERATORS and all(isinstance(side, _TERMS) for side in sides):
            left, right = map(self._term, sides)
            return body.where(left, _OPERATORS[test.op], right)
        return self._fail("has a FILTER that is not a comparison of terms by =, !=, <, >, <=, >= or sameTerm")


def _variables(node: Any) -> set[str]:
    """List the variables in a part of the algebra."""
    if isinstance(node, SparqlVariable):
        return {str(node)}
    if isinstance(node, Tree):
        return _variables(tuple(node.fields.values()))
    return set().union(*map(_variables, node)) if isinstance(node, list | tuple | set) else set()
