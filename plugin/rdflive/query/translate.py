"""Translates rdflib's algebra into rdflive's, with every filter as deep as it may run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from rdflib.paths import Path
from rdflib.term import Literal, URIRef
from rdflib.term import Variable as RdflibVariable

from rdflive.query import algebra
from rdflive.query.algebra import Values
from rdflive.query.bgp import TriplePattern, Variable, VarOrTerm
from rdflive.query.exists import exact_copies
from rdflive.query.expressions import conjuncts, exists_parts
from rdflive.query.joins import OpenPath, Part, basic, filtered, join, linked_patterns
from rdflive.query.marks import filter_marked, marked, needs_marks
from rdflive.query.modifiers import group_rows, modified, peel
from rdflive.query.paths import path_parts
from rdflive.query.scope import Offered, Scope, Translate
from rdflive.query.shapes import (
    allowed_by,
    bound_row,
    branches_of,
    fixed_rows,
    is_empty_without,
    is_set_of_iris,
    is_values,
    operands_of,
    unbound_variable,
    with_binds_apart,
    without_match,
)
from rdflive.query.triple_terms import is_open, quoting
from rdflive.syntax.algebra import AGGREGATE
from rdflive.syntax.tree import Tree, leaves

__all__ = ["translate"]


def translate(node: Tree, scope: Scope, offered: Offered) -> algebra.Node:
    """Translate a graph pattern; its rows carry the context of the scope."""
    if node.name not in _PATTERNS:
        raise scope.query.refuse(node.name)
    result = _PATTERNS[node.name](node, scope, offered)
    # VALUES in GRAPH ?g, for example, has no graph, so each of its rows counts for every graph
    if scope.seed is not None and not set(scope.context) <= set(result.columns):
        result = algebra.Join(scope.seed, result)
    return result


def _join(node: Tree, scope: Scope, offered: Offered) -> algebra.Node:
    """Translate a group. Paths inside its nodes may start from its triple patterns, and its constants are
    offered as filters: `{ ?t :line ?l VALUES ?t { :T101 } }` keeps only the triples of :T101.
    """
    operands = with_binds_apart(operands_of(node))
    parts = [part for bgp in operands if bgp.name == "BGP" for part in _triples(bgp, scope)]
    tables = [_table(operand, scope) for operand in operands]
    rows = [table for table in tables if table is not None]
    patterns = [part for part in parts if isinstance(part, TriplePattern)]
    # a path inside an OPTIONAL or UNION of the group may start from these
    bounds = [basic(linked, scope, asked=scope.read(linked)) for linked in linked_patterns(patterns)]
    inner = replace(scope, bounds=(*bounds, *rows, *scope.bounds))
    allowed = [condition for table in rows for condition in allowed_by(table)]
    named = {v.name for pattern in patterns for v in pattern.variables if v.readable}
    own = [condition for condition in allowed if condition.name in named]
    met = set(own)
    for operand, table in zip(operands, tables, strict=True):
        if operand.name != "BGP" and table is None:
            down = [*offered, *allowed]
            parts.append(translate(operand, inner, down))
            offered[:] = [condition for condition in offered if condition in down]
            met.update(condition for condition in allowed if condition not in down)
    ends = {end for part in parts if isinstance(part, OpenPath) for end in (part.start, part.end)}
    for table in rows:
        # a join with rows of single IRIs is a filter, which was applied; but a path starts from them
        is_met = is_set_of_iris(table) and met.issuperset(allowed_by(table))
        if not is_met or not ends.isdisjoint(table.columns):
            parts.append(table)
    down = [*offered, *own]
    result = join(parts, scope, down)
    offered[:] = [condition for condition in offered if condition in down]
    return result


def _table(node: Tree, scope: Scope) -> Values | None:
    """Read an operand as rows of constants, if it is VALUES or such a BIND."""
    if is_values(node):
        return _values(node.p, scope)
    row = bound_row(node)
    # if `initBindings` has a term for the variable, BIND is refused
    return None if row is None or scope.query.is_bound(row.columns[0].name) else row


def _triples(node: Tree, scope: Scope) -> Iterator[Part]:
    for triple in node.triples:
        s, p, o = triple
        if is_open(s) or is_open(o):
            yield quoting(triple, scope)
            continue
        ends = scope.query.term(s), scope.query.term(o)
        if isinstance(p, Path):
            # `join` adds the outer solutions once for the whole group
            yield from path_parts(ends[0], p, ends[1], scope.bare)
        else:
            yield TriplePattern(ends[0], scope.query.term(p), ends[1])


def _filter(node: Tree, scope: Scope, offered: Offered) -> algebra.Node:
    """Offer the filters downwards, and apply those that no operator used."""
    parts = conjuncts(node.expr)
    plain = [part for part in parts if not needs_marks(part)]
    mine: Offered = [scope.query.expression(part) for part in plain]
    # `join` may start a path from the rows of such a filter
    for condition, part in zip(mine, plain, strict=True):
        if rows := fixed_rows(part):
            scope.query.fix(condition, rows)
    down = [*mine, *offered]
    result = translate(node.p, scope, down)
    # in place: the caller applies the filters left in the list
    offered[:] = [condition for condition in offered if condition in down]
    for condition, part in zip(mine, plain, strict=True):
        if condition in down:
            absent = unbound_variable(part)
            found = None if absent is None else without_match(result, absent)
            result = algebra.Filter(result, condition) if found is None else found
    for part in sorted(filter(needs_marks, parts), key=_is_correlated):
        result = filter_marked(result, part, scope)
    return result


def _left_join(node: Tree, scope: Scope, offered: Offered) -> algebra.Node:
    """Translate OPTIONAL. A condition with EXISTS or NOW() cannot be tested on a merged row, so it becomes a
    union of the matched and the unmatched left rows.
    """
    # Filters from above go to the left only. `{ ?t a :Train OPTIONAL { ?t :delay ?d } FILTER(?d > 5) }` drops
    # a train with delay 3; on the right the filter would make it a train without a delay.
    left = translate(node.p1, scope, offered)
    parts = [part for part in conjuncts(node.expr) if getattr(part, "name", "") != "TrueFilter"]
    inner: Offered = [scope.query.expression(part) for part in parts if not needs_marks(part)]
    marking = [part for part in parts if needs_marks(part)]
    # those over the right side alone may run there: a row that fails one matches nothing anyway
    right = translate(node.p2, replace(scope.mentioning(node.p2, parts), bounds=(left,)), inner)
    bound = {v.name for v in right.certain if v.readable}
    for part in [part for part in marking if not exists_parts(part) and bound.issuperset(_names(part))]:
        right = filter_marked(right, part, scope)
        marking.remove(part)
    if not marking:
        return algebra.LeftJoin(left, right, algebra.conjunction(inner))
    left, keys = exact_copies(left, left.columns, scope)
    matched = filtered(algebra.Join(left, right), inner)
    for part in marking:
        matched = filter_marked(matched, part, scope)
    unmatched = algebra.Exists(left, algebra.Project(matched, keys), negated=True)
    return algebra.Union((matched, unmatched))


def _is_correlated(part: Any) -> bool:
    return bool(exists_parts(part))


def _names(part: Any) -> set[str]:
    """List the variables of an expression."""
    return {str(leaf) for leaf in leaves(part) if isinstance(leaf, RdflibVariable)}


def _union(node: Tree, scope: Scope, offered: Offered) -> algebra.Node:
    """Offer filters to each branch; a filter that some branch did not use must run above too."""
    branches, left_over = [], []
    for branch in branches_of(node):
        down = list(offered)
        branches.append(translate(branch, scope, down))
        left_over.append(down)
    # a filter that only some branches applied is applied again above, which does no harm
    offered[:] = [condition for condition in offered if any(condition in down for down in left_over)]
    return algebra.Union(tuple(branches))


def _minus(node: Tree, scope: Scope, offered: Offered) -> algebra.Node:
    """Translate MINUS, which removes nothing if the two sides share no variable."""
    left = translate(node.p1, scope, offered)
    # no filters from above: they would keep rows from removing others
    right = translate(node.p2, replace(scope.mentioning(node.p2), bounds=(left,)), [])
    shared = frozenset(left.columns).intersection(right.columns)
    if scope.outer is not None:  # both sides carry outer columns, but share one only if both name it
        for side in (node.p1, node.p2):
            shared = shared.intersection(translate(side, scope.bare, []).columns)
        right = algebra.Project(right, tuple(v for v in right.columns if v in shared or v in scope.context))
    # blank nodes and the planner's columns are no variables that both sides could name
    shared = frozenset(v for v in shared if v.distinguished and v not in scope.asked)
    context = tuple(v for v in scope.context if v not in shared)
    return algebra.Minus(left, right, context) if shared else left


def _extend(node: Tree, scope: Scope, offered: Offered) -> algebra.Node:
    """Translate BIND and the assignments of SELECT."""
    name = str(node.var)
    # the variable does not exist below
    down = [condition for condition in offered if name not in condition.variables]
    result = translate(node.p, scope, down)
    offered[:] = [c for c in offered if name in c.variables or c in down]
    expression, variable = node.expr, Variable(name)
    is_alias = isinstance(expression, RdflibVariable) and expression.startswith(AGGREGATE)
    if is_alias and (variable in result.columns or scope.query.is_bound(name)):
        return result  # the algebra assigns a grouped variable to itself, through SAMPLE
    if scope.query.is_bound(name):
        raise scope.query.refuse("PresetExtend", name)
    if not result.columns and isinstance(expression, URIRef | Literal):
        return algebra.Join(
            result, Values((variable,), ((expression,),))
        )  # a row of VALUES, from which a path may start
    result, expression = marked(result, expression, scope)
    return algebra.Extend(result, variable, scope.query.expression(expression))


def _graph(node: Tree, scope: Scope, offered: Offered) -> algebra.Node:
    """Translate GRAPH. The graph of a variable is carried in a hidden column until the pattern is
    complete.
    """
    term, named = scope.query.term(node.term), scope.query.dataset.named
    if not isinstance(term, Variable):
        inside = replace(scope, graph=term, graphs=None)
        # FROM NAMED hides this graph: no rows, with the columns that are expected above
        if named is not None and term not in named:
            return Values(translate(node.p, inside, []).columns, ())
        inner = translate(node.p, inside, offered)
        # `GRAPH <g> { }` has a solution only while the graph exists, which it does while it has a triple
        return inner if is_empty_without(inner, term) else algebra.Join(_graphs(term, scope), inner)
    # the pattern may bind ?g itself, even to another value, so the graph has a column of its own
    hidden = scope.query.fresh()
    # rows from outside lack the hidden column, so no path could start from them
    inside = replace(scope, graph=hidden, graphs=_graphs(hidden, scope), bounds=())
    inner = translate(node.p, inside, offered)
    kept = tuple(v for v in inner.columns if v != hidden)
    if term not in inner.columns:
        return algebra.Project(inner, kept, ((term, hidden),))
    if term in inner.certain:
        same = algebra.Filter(inner, algebra.SameTerm(term.name, hidden.name))
        return algebra.Project(same, kept)
    # joined and not compared: if the pattern leaves ?g unbound, it becomes the graph
    renamed = algebra.Project(_graphs(hidden, scope), (hidden,), ((term, hidden),))
    return algebra.Project(algebra.Join(inner, renamed), kept)


def _graphs(graph: VarOrTerm, scope: Scope) -> algebra.Node:
    """List the graphs that contain a triple, as rows of a variable; for a named graph, the empty row if it
    has one.
    """
    anything = TriplePattern(scope.query.fresh(), scope.query.fresh(), scope.query.fresh())
    shown = (graph,) if isinstance(graph, Variable) else ()
    return algebra.Distinct(algebra.Project(basic([anything], Scope(scope.query, graph)), shown))


def _multiset(node: Tree, scope: Scope, offered: Offered) -> algebra.Node:
    if is_values(node):
        return _values(node.p, scope)
    # evaluated by itself: a subquery sees neither outer solutions nor the rows beside it
    inside = scope if scope.query.prebound else scope.base
    return _subquery(node.p, replace(inside.mentioning(node.p), bounds=()), offered)


def _subquery(node: Tree, scope: Scope, offered: Offered) -> algebra.Node:
    """Translate a subquery. Only its projected columns are visible outside."""
    modifiers = peel(node.p if node.name == "SelectQuery" else node)
    # a filter below LIMIT would let other rows into the slice
    down = [] if modifiers.slices else [c for c in offered if set(c.variables) <= set(modifiers.projected)]
    kept_back = [c for c in offered if c not in down]
    pattern = translate(modifiers.pattern, scope, down)
    offered[:] = [c for c in offered if c in kept_back or c in down]
    return modified(pattern, modifiers, scope)[0]


def _values(node: Tree, scope: Scope) -> Values:
    preset = scope.query.preset
    names = list(map(str, node.var))
    table = [dict(zip(names, row, strict=True)) for row in node.row]
    fixed = {name: preset[name] for name in names if name in preset}
    table = [row for row in table if all(row.get(n) in (None, term) for n, term in fixed.items())]
    shown = [name for name in names if name not in fixed]
    return Values(tuple(map(Variable, shown)), tuple(tuple(row.get(name) for name in shown) for row in table))


def _aggregate_join(node: Tree, scope: Scope, offered: Offered) -> algebra.Node:  # noqa: ARG001 - filters wait for the groups
    return group_rows(translate(node.p.p, scope, []), node, scope)


_PATTERNS: Final[Mapping[str, Translate]] = {
    "AggregateJoin": _aggregate_join,
    "BGP": _join,
    "Extend": _extend,
    "Filter": _filter,
    "Graph": _graph,
    "Join": _join,
    "LeftJoin": _left_join,
    "Minus": _minus,
    "ToMultiSet": _multiset,
    "Union": _union,
}
"""The translation of each graph pattern, by rdflib's name for it."""
