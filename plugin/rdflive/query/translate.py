"""rdflib's algebra to ours: graph patterns, with every filter placed as deep as it may run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import count
from typing import Any, TypeAlias

from rdflib.paths import Path
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.term import BNode, Literal, Node, URIRef
from rdflib.term import Variable as RdflibVariable

from rdflive.query import algebra
from rdflive.query.algebra import Basic, Condition, Values
from rdflive.query.bgp import Term, TriplePattern, Variable
from rdflive.query.correlation import exact_copies, is_independent, seed_of
from rdflive.query.expressions import Expression, conjuncts, exists_parts, volatile
from rdflive.query.expressions import replace as replace_in
from rdflive.query.joins import Part, join, linked_patterns
from rdflive.query.modifiers import group_rows, select
from rdflive.query.paths import path_parts
from rdflive.query.scope import Dataset, Merge, Scope
from rdflive.query.shapes import branches_of, fixed_rows, is_empty_without, is_values, operands_of

__all__ = ["Refuse", "Translator"]

Refuse: TypeAlias = Callable[..., Exception]
"""Makes the error for a construct that is refused, by rdflib's name for it and the variable it assigns."""
Offered: TypeAlias = list[Condition]
"""Filters from above; whoever makes sure of all variables of one takes it out of the list."""


class Translator:
    """Translates the parts of one query; fresh variables are numbered across it."""

    def __init__(
        self, preset: Mapping[str, Node], dataset: Dataset, refuse: Refuse, base: str | None = None
    ) -> None:
        self.preset = preset
        self.dataset = dataset
        self.refuse = refuse
        self._base = base
        self._numbers = count(1)
        self._blanks: dict[BNode, Variable] = {}
        self._fixed: dict[str, algebra.Values] = {}

    def fresh(self) -> Variable:
        """Make a variable that nobody else has."""
        return Variable(f"·{next(self._numbers)}", distinguished=False)

    def term(self, node: Node) -> Any:
        """Turn a term of a pattern into a variable or a constant."""
        if isinstance(node, RdflibVariable):
            return self.preset.get(str(node), Variable(str(node)))
        if isinstance(node, BNode):
            return self._blanks.setdefault(node, Variable(f"b{len(self._blanks)}", distinguished=False))
        return node

    def expression(self, node: Any) -> Expression:
        """Make an expression, the variables that `initBindings` fixes being constants."""
        unsteady = volatile(node)
        if unsteady is not None:
            raise self.refuse(unsteady)
        return Expression(replace_in(node, self._constant), base=self._base)

    def _constant(self, node: Any) -> Any:
        return self.preset.get(str(node)) if isinstance(node, RdflibVariable) else None

    def fixed(self, condition: Condition) -> algebra.Values | None:
        """Give the only rows that a filter lets through, where it compares a variable with IRIs."""
        return self._fixed.get(condition.text)

    def group(self, node: CompValue, scope: Scope, offered: Offered | None = None) -> algebra.Node:
        """Translate a graph pattern; its rows carry the context of the scope."""
        offered = [] if offered is None else offered
        handler = getattr(self, f"_{node.name}", None)
        if handler is None:
            raise self.refuse(node.name)
        result: algebra.Node = handler(node, scope, offered)
        if scope.seed is not None and not set(scope.context) <= set(result.columns):
            result = algebra.Join(scope.seed, result)
        return result

    def basic(
        self, patterns: Iterable[TriplePattern], scope: Scope, conditions: Iterable[Condition] = ()
    ) -> algebra.Node:
        """Match triple patterns in the graph of a scope."""
        patterns, conditions = tuple(patterns), tuple(conditions)
        if isinstance(scope.graph, Merge):
            left = list(conditions)
            node = join([*map(partial_merge(self, scope.graph), patterns)], self, Scope(), left)
            return self.filtered(node, left)
        if isinstance(scope.graph, Variable):
            patterns = tuple(replace(pattern, graph=scope.graph) for pattern in patterns)
            if self.dataset.named is not None:
                conditions += (algebra.OneOf(scope.graph.name, self.dataset.named),)
        return Basic(patterns, scope.graph, conditions)

    def _BGP(self, node: CompValue, scope: Scope, offered: Offered) -> algebra.Node:  # noqa: N802
        return join(self._parts(node, scope, offered), self, scope, offered)

    def _Join(self, node: CompValue, scope: Scope, offered: Offered) -> algebra.Node:  # noqa: N802
        return join(self._parts(node, scope, offered), self, scope, offered)

    def _parts(self, node: CompValue, scope: Scope, offered: Offered) -> list[Part]:
        """List what a group joins: patterns, paths, and nodes, whose paths may start from the patterns."""
        operands = operands_of(node)
        parts = [part for bgp in operands if bgp.name == "BGP" for part in self._triples(bgp, scope)]
        values = [self._values(operand.p) for operand in operands if is_values(operand)]
        patterns = [part for part in parts if isinstance(part, TriplePattern)]
        bounds = [self.basic(linked, scope) for linked in linked_patterns(patterns)]
        inner = replace(scope, bounds=(*bounds, *values, *scope.bounds))
        for operand in operands:
            if is_values(operand):
                parts.append(values.pop(0))
            elif operand.name != "BGP":
                parts.append(self.group(operand, inner, offered))
        return parts

    def _triples(self, node: CompValue, scope: Scope) -> Iterator[Part]:
        for s, p, o in node.triples:
            ends = self.term(s), self.term(o)
            if isinstance(p, Path):
                yield from path_parts(self, ends[0], p, ends[1], scope.base)
            else:
                yield TriplePattern(ends[0], self.term(p), ends[1])

    def _Filter(self, node: CompValue, scope: Scope, offered: Offered) -> algebra.Node:  # noqa: N802
        plain = [part for part in conjuncts(node.expr) if not exists_parts(part)]
        mine: Offered = [self.expression(part) for part in plain]
        self._fixed.update(
            (c.text, values) for c, part in zip(mine, plain, strict=True) if (values := fixed_rows(part))
        )
        down = [*mine, *offered]
        result = self.group(node.p, scope, down)
        offered[:] = [condition for condition in offered if condition in down]
        result = self.filtered(result, [condition for condition in mine if condition in down])
        for part in conjuncts(node.expr):
            if exists_parts(part):
                result = self._filter_exists(result, part, scope)
        return result

    def filtered(self, node: algebra.Node, conditions: Iterable[Condition]) -> algebra.Node:
        """Put filters on top of a node."""
        for condition in conditions:
            node = algebra.Filter(node, condition)
        return node

    def _LeftJoin(self, node: CompValue, scope: Scope, offered: Offered) -> algebra.Node:  # noqa: N802
        left = self.group(node.p1, scope, offered)
        parts = [part for part in conjuncts(node.expr) if getattr(part, "name", "") != "TrueFilter"]
        inner: Offered = [self.expression(part) for part in parts if not exists_parts(part)]
        correlated = [part for part in parts if exists_parts(part)]
        right = self.group(node.p2, replace(scope, bounds=(left,)), inner)
        if not correlated:
            return algebra.LeftJoin(left, right, _conjunction(inner))
        left, keys = exact_copies(self, left, left.columns)
        matched = self.filtered(algebra.Join(left, right), inner)
        for part in correlated:
            matched = self._filter_exists(matched, part, scope)
        unmatched = algebra.Exists(left, algebra.Project(matched, keys), negated=True)
        return algebra.Union((matched, unmatched))

    def _Union(self, node: CompValue, scope: Scope, offered: Offered) -> algebra.Node:  # noqa: N802
        branches, left_over = [], []
        for branch in branches_of(node):
            down = list(offered)
            branches.append(self.group(branch, scope, down))
            left_over.append(down)
        offered[:] = [condition for condition in offered if any(condition in down for down in left_over)]
        return algebra.Union(tuple(branches))

    def _Minus(self, node: CompValue, scope: Scope, offered: Offered) -> algebra.Node:  # noqa: N802
        left = self.group(node.p1, scope, offered)
        right = self.group(node.p2, replace(scope, bounds=(left,)))
        shared = frozenset(left.columns).intersection(right.columns)
        if scope.outer is not None:  # its variables are in common only where both sides name them
            for side in (node.p1, node.p2):
                shared = shared.intersection(self.group(side, scope.base).columns)
            right = algebra.Project(
                right, tuple(v for v in right.columns if v in shared or v in scope.context)
            )
        shared = frozenset(v for v in shared if v.distinguished)
        context = tuple(v for v in scope.context if v not in shared)
        return algebra.Minus(left, right, context) if shared else left

    def _Extend(self, node: CompValue, scope: Scope, offered: Offered) -> algebra.Node:  # noqa: N802
        name = str(node.var)
        down = [condition for condition in offered if name not in condition.variables]
        result = self.group(node.p, scope, down)
        offered[:] = [c for c in offered if name in c.variables or c in down]
        expression, variable = node.expr, Variable(name)
        is_alias = isinstance(expression, RdflibVariable) and expression.startswith("__agg_")
        if is_alias and (variable in result.columns or name in self.preset):
            return result  # of a grouped variable, which is there under its own name
        if variable in result.columns:
            raise self.refuse("BoundExtend", name)
        if name in self.preset:
            raise self.refuse("PresetExtend", name)
        if not result.columns and isinstance(expression, URIRef | Literal):
            return algebra.Join(
                result, Values((variable,), ((expression,),))
            )  # what follows may start from it
        result, expression = self.marked(result, expression, scope)
        return algebra.Extend(result, variable, self.expression(expression))

    def _Graph(self, node: CompValue, scope: Scope, offered: Offered) -> algebra.Node:  # noqa: N802
        term = self.term(node.term)
        if not isinstance(term, Variable):
            if self.dataset.named is not None and term not in self.dataset.named:
                inner = self.group(node.p, Scope(term, None, scope.outer, scope.bounds), [])
                return Values(inner.columns, ())
            inner = self.group(node.p, Scope(term, None, scope.outer, scope.bounds), offered)
            return inner if is_empty_without(inner, term) else algebra.Join(self._named(term), inner)
        hidden = self.fresh()
        inner = self.group(node.p, Scope(hidden, self._names(hidden), scope.outer), offered)
        kept = tuple(v for v in inner.columns if v != hidden)
        if term not in inner.columns:
            return algebra.Project(inner, kept, ((term, hidden),))
        if term in inner.certain:
            same = algebra.Filter(inner, algebra.SameTerm(term.name, hidden.name))
            return algebra.Project(same, kept)
        named = algebra.Project(self._names(hidden), (hidden,), ((term, hidden),))
        return algebra.Project(algebra.Join(inner, named), kept)

    def _named(self, graph: Term) -> algebra.Node:
        """Give one empty row while a graph exists: while it holds a triple."""
        anything = TriplePattern(self.fresh(), self.fresh(), self.fresh())
        return algebra.Distinct(algebra.Project(self.basic([anything], Scope(graph)), ()))

    def _names(self, variable: Variable) -> algebra.Node:
        """List the named graphs: those that hold a triple."""
        anything = TriplePattern(self.fresh(), self.fresh(), self.fresh())
        return algebra.Distinct(algebra.Project(self.basic([anything], Scope(variable)), (variable,)))

    def _ToMultiSet(self, node: CompValue, scope: Scope, offered: Offered) -> algebra.Node:  # noqa: N802
        if isinstance(node.p, list):  # rdflib leaves no more than this of VALUES without rows
            return Values((), ())
        if is_values(node):
            return self._values(node.p)
        return select(self, node.p, replace(scope.base, bounds=()), offered)

    def _values(self, node: CompValue) -> algebra.Node:
        rows: list[dict[Any, Any]] = node.res
        names = list(dict.fromkeys(str(name) for row in rows for name in row))
        table = [
            {str(name): None if term == "UNDEF" and type(term) is str else term for name, term in row.items()}
            for row in rows
        ]
        fixed = {name: self.preset[name] for name in names if name in self.preset}
        table = [row for row in table if all(row.get(n) in (None, term) for n, term in fixed.items())]
        shown = [name for name in names if name not in fixed]
        return Values(
            tuple(map(Variable, shown)), tuple(tuple(row.get(name) for name in shown) for row in table)
        )

    def _AggregateJoin(self, node: CompValue, scope: Scope, offered: Offered) -> algebra.Node:  # noqa: N802, ARG002
        return group_rows(self, node, scope)

    def _filter_exists(self, node: algebra.Node, part: Any, scope: Scope) -> algebra.Node:
        """Keep the rows that meet a condition in which EXISTS occurs."""
        if isinstance(part, CompValue) and part.name in ("Builtin_EXISTS", "Builtin_NOTEXISTS"):
            return self._exists(node, part, scope, negated=part.name == "Builtin_NOTEXISTS")
        node, expression = self.marked(node, part, scope)
        return algebra.Filter(node, self.expression(expression))

    def marked(self, node: algebra.Node, expression: Any, scope: Scope) -> tuple[algebra.Node, Any]:
        """Give every row a mark per EXISTS, and the expression that reads the marks."""
        marks: dict[int, RdflibVariable] = {}
        for part in exists_parts(expression):
            mark = self.fresh()
            negated = part.name == "Builtin_NOTEXISTS"
            node = self._exists(node, part, scope, negated=negated, mark=mark)
            marks[id(part)] = RdflibVariable(mark.name)
        return node, replace_in(expression, lambda part: marks.get(id(part))) if marks else expression

    def _exists(
        self, outer: algebra.Node, part: Any, scope: Scope, *, negated: bool, mark: Variable | None = None
    ) -> algebra.Node:
        graph = part.graph
        inner = self.group(graph, replace(scope.base, bounds=(outer,)))
        if is_independent(inner, outer):
            return algebra.Exists(outer, _visible(inner, outer), negated, mark)
        outer, seed = seed_of(self, outer, inner, scope.base.context)
        inner = self.group(graph, replace(scope.base, outer=seed, bounds=()))
        return algebra.Exists(outer, _visible(inner, outer), negated, mark)


def partial_merge(translator: Translator, merge: Merge) -> Callable[[TriplePattern], algebra.Node]:
    """Make the function that matches one pattern in the merge of several graphs."""

    def match(pattern: TriplePattern) -> algebra.Node:
        graph = translator.fresh()
        quads = Basic((replace(pattern, graph=graph),), graph, (algebra.OneOf(graph.name, merge.graphs),))
        return algebra.Distinct(algebra.Project(quads, pattern.variables))

    return match


def _visible(inner: algebra.Node, outer: algebra.Node) -> algebra.Node:
    """Leave out what the outer pattern has no column for: only compatibility counts."""
    return algebra.Project(inner, tuple(v for v in inner.columns if v in outer.columns))


def _conjunction(conditions: Offered) -> Condition | None:
    if len(conditions) < 2:
        return conditions[0] if conditions else None
    return algebra.AllOf(tuple(conditions))
