"""Long chains of patterns as joins that grow from a constant, for an engine that keeps reached rows.

Example: in `:a :p ?b . ?b :p ?c . ?c :p ?d . ?d :p ?e` the first three patterns are near the constant. They
stay one basic graph pattern, whose rows are joined with the fourth. So a change of `?d :p ?e` meets the rows
that end in its ?d. Otherwise it would list the paths back to `:a`, which double with each further pattern if
two edges lead to each node.

In `:a :p ?b OPTIONAL { ?b :q ?c . ?c :q ?d . ?d :q ?e . ?e :q ?f }` the right side grows from the left side's
values of ?b.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from functools import reduce
from itertools import count
from typing import Final, TypeAlias

from rdflib.term import URIRef

from rdflive.query import algebra
from rdflive.query.algebra import Basic, Condition, Distinct, Join, Node, Project
from rdflive.query.bgp import TriplePattern, Variable, to_text
from rdflive.query.joins import filtered

__all__ = ["anchor"]

_NEAR: Final = 3
"""Number of patterns in a row from a constant that are matched without kept rows: a change of the last one
lists the matches of the second, and the first one tests these.
"""
_Distances: TypeAlias = dict[TriplePattern, int]


def anchor(root: Node, spread: Collection[str] = (), few: Collection[Node] = ()) -> Node:
    """Return an equivalent query in which patterns far from a constant are joined one by one with the rows
    reached from it.

    Nodes with few rows, such as VALUES, act as constants for the nodes joined with them. Constants count as
    subjects or objects. `spread` are the predicates, as N-Triples, whose objects have too many subjects to
    narrow a pattern. `few` are nodes that have few rows, whatever their patterns.
    """
    nodes = algebra.topological(root)
    uses = Counter(below for node in nodes for below in node.inputs)
    anchoring = _Anchoring(spread, few, uses)
    for node in nodes:
        anchoring.take(node)
    return anchoring.made[root]


class _Anchoring:
    """Rebuilds the nodes of a query, inputs first."""

    def __init__(self, spread: Collection[str], few: Collection[Node], uses: Counter[Node]) -> None:
        self.made: dict[Node, Node] = {}
        self._spread = spread
        self._known = few
        self._uses = uses
        self._few: set[Node] = set()
        """The nodes whose rows are few, judged by constants."""
        self._shared: set[Node] = set()
        """The nodes that several others read."""

    def take(self, node: Node) -> None:
        """Rebuild one node."""
        made = algebra.with_inputs(node, self.made)
        is_few = node in self._known or self._has_few(made)
        if isinstance(made, Basic):
            made = self._from_constants(made)
        elif isinstance(made, Join | algebra.LeftJoin | algebra.Minus | algebra.Exists):
            made = self._from_rows(made)
        self.made[node] = made
        if is_few:
            self._few.add(made)
        if self._uses[node] > 1:
            self._shared.add(made)

    def _has_few(self, node: Node) -> bool:
        if isinstance(node, Basic):
            return len(_reached(node.patterns, self._ends(node))) == len(node.patterns)
        inputs = [below in self._few for below in node.inputs]
        if isinstance(node, Join):
            return any(inputs)
        if isinstance(node, algebra.Union):
            return all(inputs)
        return all(inputs[:1])  # VALUES has none

    def _ends(self, basic: Basic) -> dict[TriplePattern, int]:
        """Return the patterns with a constant, ranked by how well it narrows them: subjects 0, objects 1,
        because a resource is the object of more triples than it is the subject of.
        """
        fixed = {name for condition in basic.conditions for name in _fixed(condition)}
        found = {}
        for pattern in basic.patterns:
            subject, object_ = (
                not isinstance(end, Variable) or (end.readable and end.name in fixed)
                for end in (pattern.subject, pattern.object)
            )
            if subject or (object_ and to_text(pattern.predicate) not in self._spread):
                found[pattern] = 0 if subject else 1
        return found

    def _from_constants(self, basic: Basic) -> Node:
        """Let the parts of a basic graph pattern that are far from all constants grow from one."""
        ends = self._ends(basic)
        nearest = _reached(basic.patterns, ends)
        reached_by = {end: _reached(basic.patterns, [end]) for end in ends}
        left, waiting, trees = [*basic.patterns], [*basic.conditions], list[Node]()
        for end in sorted(ends, key=lambda end: (ends[end], max(reached_by[end].values()))):
            reached = {p: distance for p, distance in reached_by[end].items() if p in left}
            if end in reached and max(nearest[p] for p in reached) > _NEAR:
                near = [p for p in left if reached.get(p, _NEAR + 1) <= _NEAR]
                far = {p: distance for p, distance in reached.items() if distance > _NEAR}
                left = [p for p in left if p not in reached]
                if not trees:  # patterns without variables are tested in their place
                    near += (ground := [p for p in left if not p.variables])
                    left = [p for p in left if p not in ground]
                trees.append(_grown(_some(basic, near, waiting), far, basic, waiting))
        if not trees:
            return basic
        if left:
            trees.append(_some(basic, left, waiting))
        return reduce(lambda one, other: _tested(Join(one, other), waiting), trees)

    def _from_rows(self, node: Join | algebra.LeftJoin | algebra.Minus | algebra.Exists) -> Node:
        """Let one side of an operator grow from the rows of the other one, if these are few."""
        left, right = node.left, node.right
        if isinstance(node, Join) and left not in self._few:
            left, right = right, left
        if left not in self._few or right in self._few:
            return node
        if isinstance(node, Join) and isinstance(right, Basic):
            grown = self._asked(right, left)
            return node if grown is right else grown
        asked = self._asked(right, Distinct(Project(left, node.keys)))
        return node if asked is right else replace(node, left=left, right=asked)

    def _asked(self, node: Node, rows: Node) -> Node:
        """Restrict a node to some rows."""
        if node in self._shared or node in self._few:
            return node
        if isinstance(node, Basic):
            reached = _reached(node.patterns, bound=rows.certain)
            if len(reached) < len(node.patterns) or max(reached.values()) <= _NEAR:
                return node
            return _grown(rows, reached, node, [*node.conditions])
        if isinstance(node, algebra.Filter) or (
            isinstance(node, Project) and rows.certain.issubset(node.kept)
        ):
            asked = self._asked(node.input, rows)
            return node if asked is node.input else replace(node, input=asked)
        if isinstance(node, algebra.Union):
            branches = tuple(self._asked(branch, rows) for branch in node.branches)
            return node if branches == node.branches else replace(node, branches=branches)
        return node


def _reached(
    patterns: Sequence[TriplePattern],
    ends: Iterable[TriplePattern] = (),
    bound: Collection[Variable] = (),
) -> _Distances:
    """Return the distance of each pattern from a constant (in the `ends`) or from rows that bind variables,
    as a number of patterns, nearest first. Patterns that are not reached are left out.
    """
    found = dict.fromkeys(ends, 1)
    known = {*bound, *(v for pattern in found for v in pattern.variables)}
    for distance in count(2 if found else 1):
        # the predicate alone would be too wide
        new = [p for p in patterns if p not in found and not known.isdisjoint((p.subject, p.object))]
        if not new:
            break
        found.update(dict.fromkeys(new, distance))
        known.update(v for pattern in new for v in pattern.variables)
    return found


def _grown(tree: Node, far: _Distances, basic: Basic, waiting: list[Condition]) -> Node:
    """Join a tree with patterns of a basic graph pattern one by one, nearest first."""
    left = dict(far)
    while left:
        # tests first: they only drop rows
        bound = tree.certain
        pattern = min(left, key=lambda p: (left[p], sum(v not in bound for v in p.variables)))
        del left[pattern]
        tree = _tested(Join(tree, _some(basic, [pattern], waiting)), waiting)
    return tree


def _some(basic: Basic, patterns: Sequence[TriplePattern], waiting: list[Condition]) -> Basic:
    """Return some patterns of a basic graph pattern, with its filters over their variables."""
    names = _names(v for pattern in patterns for v in pattern.variables)
    conditions = tuple(c for c in basic.conditions if names.issuperset(c.variables))
    waiting[:] = [c for c in waiting if c not in conditions]
    return replace(basic, patterns=tuple(patterns), conditions=conditions)


def _tested(node: Node, waiting: list[Condition]) -> Node:
    """Add the waiting filters for which a node has all variables."""
    names = _names(node.certain)
    due = [c for c in waiting if names.issuperset(c.variables)]
    waiting[:] = [c for c in waiting if c not in due]
    return filtered(node, due)


def _fixed(condition: Condition) -> Iterable[str]:
    """Return the variable that a filter restricts to constants, as VALUES and `?x = :a` do."""
    if isinstance(condition, algebra.OneOf):
        return () if condition.negated else (condition.name,)
    left, operator, right = getattr(condition, "relation", None) or ("", "", "")
    # many literals may have one value
    is_fixed = operator == "=" and any(isinstance(side, URIRef) for side in (left, right))
    return condition.variables if is_fixed else ()


def _names(variables: Iterable[Variable]) -> set[str]:
    return {v.name for v in variables if v.readable}
