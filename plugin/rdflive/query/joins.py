"""The order of joins in a group: linked parts first, property paths from a bound end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Final, TypeAlias

from rdflive.query import algebra
from rdflive.query.algebra import Basic, Condition
from rdflive.query.bgp import TriplePattern, Variable
from rdflive.query.scope import Merge, Offered, Scope

__all__ = ["OpenPath", "Part", "basic", "filtered", "join", "linked_patterns"]

LONGEST: Final = 20
"""Most patterns in one segment. A walk nests one loop per variable, and CPython allows 20 nested blocks;
planning time grows with the cube.
"""


@dataclass(frozen=True, eq=False)
class OpenPath:
    """A path of any number of steps between two variables, to be joined when one end is bound."""

    start: Variable
    end: Variable
    close: Callable[[algebra.Node | None, Scope], algebra.Node]
    """Makes the node, from the rows that the path is joined with."""


Part: TypeAlias = TriplePattern | Condition | OpenPath | algebra.Node
"""A part of a group. A condition filters the triple patterns beside it."""


def join(parts: Sequence[Part], scope: Scope, offered: Offered) -> algebra.Node:
    """Join the parts of a group, linked ones first. Filters run as soon as their variables are bound.

    A basic graph pattern stays whole if nothing else is joined. Otherwise it is split into its connected
    components, so that no Cartesian product is built that another part would link. Example: in `{ ?a :p ?b .
    ?c :q ?d . ?b :r* ?c }` the two patterns share no variable, but the path links them.

    `offered` are filters from above; the filters used here are removed from it.
    """
    patterns = [part for part in parts if isinstance(part, TriplePattern)]
    nodes = [part for part in parts if isinstance(part, algebra.Node)]
    paths = [part for part in parts if isinstance(part, OpenPath)]
    conditions = [part for part in parts if not isinstance(part, TriplePattern | algebra.Node | OpenPath)]
    # a basic graph pattern in its own braces is joined with the others as one, so that a walk crosses both
    for node in [node for node in nodes if isinstance(node, Basic) and node.graph == scope.graph]:
        # a repeated pattern matches the same triples both times
        nodes.remove(node)
        patterns.extend(pattern for pattern in node.patterns if pattern not in patterns)
        conditions.extend(condition for condition in node.conditions if condition not in conditions)
    if scope.outer is not None:
        nodes.insert(0, scope.outer)
    ends = {end for path in paths for end in (path.start, path.end)}
    # for `FILTER(?x = <iri>)` the row <iri> is joined in, so that a path may start there; the filter stays
    fixed = [scope.query.fixed.get(condition.text) for condition in offered]
    own = ends.union(scope.asked)
    nodes += [rows for rows in fixed if rows and ends & rows.certain and own.issuperset(rows.columns)]
    parameters = {v.name for v in scope.asked}
    variables = {v.name for pattern in patterns for v in pattern.variables if v.readable} | parameters
    # a filter without variables, such as FILTER(1 > 2), belongs to no component and is applied above
    taken = [
        c for c in offered if variables.issuperset(c.variables) and not parameters.issuperset(c.variables)
    ]
    _take(offered, taken)
    # a filter inside the pattern ends walks early instead of dropping their rows above
    conditions += taken
    if not nodes and not paths and len(patterns) <= LONGEST:
        return basic(patterns, scope, conditions) if patterns else scope.seed or algebra.Values()
    pool: list[algebra.Node] = []
    # the relation of a family is joined with the first piece that reads it, so that the piece keeps no more
    asked = False
    for component, filters in _components(patterns, conditions):
        pieces = list(_pieces(component))
        names = [
            {v.name for pattern in piece for v in pattern.variables if v.readable} | parameters
            for piece in pieces
        ]
        for piece, have in zip(pieces, names, strict=True):
            mine = [c for c in filters if have.issuperset(c.variables)]
            read = scope.read(piece, mine)
            pool.append(basic(piece, scope, mine, read if asked else scope.asked if read else ()))
            asked = asked or bool(read)
        # a filter over two pieces waits until they are joined
        offered += [c for c in filters if not any(have.issuperset(c.variables) for have in names)]
    if scope.parameters is not None and not asked:
        nodes.insert(0, scope.parameters)
    return _link([*pool, *nodes], paths, scope, offered)


def basic(
    patterns: Iterable[TriplePattern],
    scope: Scope,
    conditions: Iterable[Condition] = (),
    asked: algebra.Columns | None = None,
) -> algebra.Node:
    """Match triple patterns in the graph of a scope; rows carry the parameters, or only those `asked`."""
    asked = scope.asked if asked is None else asked
    patterns, conditions = tuple(patterns), tuple(conditions)
    if asked and (scope.query.given is not None or isinstance(scope.graph, Merge)):
        names = {v.name for v in asked}
        left = [condition for condition in conditions if not names.isdisjoint(condition.variables)]
        node = basic(patterns, scope, [c for c in conditions if c not in left], ())
        return filtered(algebra.Join(scope.query.asked(asked), node), left)
    if isinstance(scope.graph, Merge):
        left = list(conditions)
        node = join([_in_merge(pattern, scope) for pattern in patterns], Scope(scope.query), left)
        return filtered(node, left)
    if isinstance(scope.graph, Variable):
        patterns = tuple(replace(pattern, graph=scope.graph) for pattern in patterns)
        if scope.query.dataset.named is not None:
            conditions += (algebra.OneOf(scope.graph.name, scope.query.dataset.named),)
    return Basic(patterns, scope.graph, conditions, asked)


def filtered(node: algebra.Node, conditions: Iterable[Condition]) -> algebra.Node:
    """Add filters above a node."""
    return reduce(algebra.Filter, conditions, node)


def linked_patterns(patterns: Sequence[TriplePattern]) -> list[list[TriplePattern]]:
    """Split patterns into groups that share variables."""
    return [component for component, _ in _components(patterns, ())]


def _in_merge(pattern: TriplePattern, scope: Scope) -> algebra.Node:
    """Match one pattern in the merge of several graphs (several FROM): each triple once, in whichever graphs
    it is.
    """
    graph = scope.query.fresh()
    quads = Basic((replace(pattern, graph=graph),), graph, (algebra.OneOf(graph.name, scope.graph.graphs),))
    return algebra.Distinct(algebra.Project(quads, pattern.variables))


def _pieces(patterns: Sequence[TriplePattern]) -> Iterator[list[TriplePattern]]:
    """Cut a component with too many patterns into connected pieces."""
    left = list(patterns)
    while left:
        piece = [left.pop(0)]
        bound = set(piece[0].variables)
        while len(piece) < LONGEST:
            found = next((p for p in left if bound.intersection(p.variables)), None)
            if found is None:
                break
            left.remove(found)
            piece.append(found)
            bound.update(found.variables)
        yield piece


def _link(pool: list[algebra.Node], paths: list[OpenPath], scope: Scope, offered: Offered) -> algebra.Node:
    """Join greedily: first parts that share a bound variable, then a path from a bound end, then any part."""
    # the outer solutions of a correlated EXISTS bound everything else, so they are first
    pool.sort(key=lambda node: node is not scope.outer and node is not scope.parameters)
    result = pool.pop(0) if pool else None
    while pool or paths:
        found = None if result is None else _linked(pool, result)
        if found is not None:
            pool.remove(found)
        elif path := _reachable(paths, result):
            paths.remove(path)
            found = path.close(result, scope.bare)
        else:
            found = pool.pop(0) if pool else _close(paths.pop(0), scope)
        result = found if result is None else algebra.Join(result, found)
        # only certain variables: a later part may bind a variable that is unbound here, and the filter must
        # see that
        bound = {v.name for v in result.certain}
        runnable = [c for c in offered if c.variables and bound.issuperset(c.variables)]
        _take(offered, runnable)
        result = filtered(result, runnable)
    assert result is not None  # noqa: S101 - the caller passes at least one part
    return result


def _close(path: OpenPath, scope: Scope) -> algebra.Node:
    """Start a path from rows that the whole group is joined with, if they bound an end; otherwise from every
    node.
    """
    context = frozenset(scope.bare.context)
    ends = {path.start, path.end}
    bounds = (rows for rows in scope.bounds if ends & rows.certain and context <= rows.certain)
    return path.close(next(bounds, None), scope.bare)


def _linked(pool: Iterable[algebra.Node], result: algebra.Node) -> algebra.Node | None:
    # a part without columns lists no pairs: it only determines whether there are rows, and how often
    linked = (n for n in pool if not n.columns or n.certain & result.certain)
    return next(linked, None)


def _reachable(paths: Iterable[OpenPath], result: algebra.Node | None) -> OpenPath | None:
    if result is None:
        return None
    return next((p for p in paths if p.start in result.certain or p.end in result.certain), None)


def _components(
    patterns: Iterable[TriplePattern], conditions: Iterable[Condition]
) -> list[tuple[list[TriplePattern], list[Condition]]]:
    """Split patterns into groups that share variables or filters."""
    components: list[tuple[set[Variable], list[TriplePattern], list[Condition]]] = []
    conditions = list(conditions)
    for pattern in patterns:
        touching = [c for c in components if c[0].intersection(pattern.variables)]
        components = [c for c in components if c not in touching]
        components.append(_merge([*touching, (set(pattern.variables), [pattern], [])]))
    for condition in conditions:
        touching = [c for c in components if {v.name for v in c[0]}.intersection(condition.variables)]
        components = [c for c in components if c not in touching]
        whole = _merge(touching)
        whole[2].append(condition)
        components.append(whole)
    # merging has mixed them: the text's order makes the plan the same in every run
    order = {pattern: i for i, pattern in enumerate(patterns)}
    split = [(sorted(c[1], key=order.__getitem__), c[2]) for c in components]
    return sorted(split, key=lambda c: order[c[0][0]])


def _merge(
    components: Sequence[tuple[set[Variable], list[TriplePattern], list[Condition]]],
) -> tuple[set[Variable], list[TriplePattern], list[Condition]]:
    return (
        {v for c in components for v in c[0]},
        [p for c in components for p in c[1]],
        [x for c in components for x in c[2]],
    )


def _take(offered: Offered, taken: Sequence[Condition]) -> None:
    offered[:] = [condition for condition in offered if condition not in taken]
