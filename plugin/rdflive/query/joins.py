"""The order of joins: linked parts first, paths from ends that are bounded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeAlias

from rdflive.query import algebra
from rdflive.query.algebra import Basic, Condition
from rdflive.query.bgp import TriplePattern, Variable
from rdflive.query.paths import OpenPath

if TYPE_CHECKING:
    from rdflive.query.scope import Scope
    from rdflive.query.translate import Translator

__all__ = ["Part", "join"]

Part: TypeAlias = "TriplePattern | Condition | OpenPath | algebra.Node"
"""What a group joins; a condition filters the triple patterns beside it."""


def join(
    parts: Sequence[Part], translator: Translator, scope: Scope, offered: list[Condition]
) -> algebra.Node:
    """Join the parts of a group, linked ones first; filters run as soon as their variables are there.

    A basic graph pattern stays whole when nothing else is joined. Beside other parts it falls into its
    connected components, so that no product is built that another part would link.
    """
    patterns = [part for part in parts if isinstance(part, TriplePattern)]
    nodes = [part for part in parts if isinstance(part, algebra.Node)]
    paths = [part for part in parts if isinstance(part, OpenPath)]
    conditions = [part for part in parts if not isinstance(part, TriplePattern | algebra.Node | OpenPath)]
    for node in [node for node in nodes if isinstance(node, Basic) and node.graph == scope.graph]:
        nodes.remove(node)
        patterns.extend(pattern for pattern in node.patterns if pattern not in patterns)
        conditions.extend(condition for condition in node.conditions if condition not in conditions)
    if scope.outer is not None:
        nodes.insert(0, scope.outer)
    variables = {v.name for pattern in patterns for v in pattern.variables if v.readable}
    taken = [c for c in offered if c.variables and variables.issuperset(c.variables)]
    _take(offered, taken)
    conditions += taken
    if not nodes and not paths:
        return translator.basic(patterns, scope, conditions) if patterns else scope.seed or algebra.Values()
    components = _components(patterns, conditions)
    pool = [*(translator.basic(*component[:1], scope, component[1]) for component in components), *nodes]
    return _link(pool, paths, translator, scope, offered)


def _link(
    pool: list[algebra.Node],
    paths: list[OpenPath],
    translator: Translator,
    scope: Scope,
    offered: list[Condition],
) -> algebra.Node:
    """Join greedily: what shares a bound variable first, then a path from an end that is bound."""
    pool.sort(key=lambda node: node is not scope.outer)
    result = pool.pop(0) if pool else None
    while pool or paths:
        found = None if result is None else _linked(pool, result)
        if found is not None:
            pool.remove(found)
        elif path := _reachable(paths, result):
            paths.remove(path)
            found = path.close(translator, scope.base, result)
        else:
            found = pool.pop(0) if pool else paths.pop(0).close(translator, scope.base, None)
        result = found if result is None else algebra.Join(result, found)
        bound = {v.name for v in result.certain}
        runnable = [c for c in offered if c.variables and bound.issuperset(c.variables)]
        _take(offered, runnable)
        result = translator.filtered(result, runnable)
    assert result is not None  # noqa: S101 - the caller has seen to at least one part
    return result


def _linked(pool: Iterable[algebra.Node], result: algebra.Node) -> algebra.Node | None:
    linked = (n for n in pool if not n.columns or n.certain & result.certain)
    return next(linked, None)


def _reachable(paths: Iterable[OpenPath], result: algebra.Node | None) -> OpenPath | None:
    if result is None:
        return None
    return next((p for p in paths if p.start in result.certain or p.end in result.certain), None)


def _components(
    patterns: Iterable[TriplePattern], conditions: Iterable[Condition]
) -> list[tuple[list[TriplePattern], list[Condition]]]:
    """Split patterns into those that variables or filters link."""
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


def _take(offered: list[Condition], taken: Sequence[Condition]) -> None:
    offered[:] = [condition for condition in offered if condition not in taken]
