"""A cache of plans: a text that differs from an earlier one only in constants is not parsed again.

Example: a text has `?t :line :S1`, and `:S1` is a parameter. The plan is cached under the tokens of the text
with holes for its constants, the constants of the holes that are no parameters, and the mapping of holes to
parameters. A later text with `?t :line :S2` finds the plan, with `:S2` as its own term. A text with `?t :stop
:S2` finds it too, and uses it with another name.

Names can differ too: the plan of `?t :line ?l . ?t :delay ?m` also fits `?t :stop ?l . ?t :fault ?m`. An IRI
may be renamed if it occurs only in triple patterns, because nothing else of a plan depends on it. But
triples are ordered by their predicates (`syntax.algebra`), so names in another order are planned separately:
a renamed plan equals the plan of its own text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import lt
from typing import Any, Final, TypeAlias

from rdflib.term import Node, URIRef

from rdflive.query import algebra
from rdflive.query.bgp import TriplePattern, Variable
from rdflive.query.expressions import is_current
from rdflive.query.given import check_bindings
from rdflive.query.parse import parse_query
from rdflive.query.plan import Plan, Step, make_plan
from rdflive.query.segment import Algorithm
from rdflive.syntax.skeleton import Skeleton, skeleton_of

__all__ = ["KnownQuery", "find_plan", "predicates_of", "renamed"]

_PLAIN: Final = (
    algebra.Basic, algebra.Distinct, algebra.Extend, algebra.Filter, algebra.Group, algebra.Join,
    algebra.LeftJoin, algebra.Minus, algebra.Parameters, algebra.Project, algebra.Slice, algebra.Union,
    algebra.Values,
)  # fmt: skip
"""Operators that read triples only through their inputs: their expressions contain no pattern."""


def predicates_of(plan: Plan) -> tuple[URIRef, ...] | None:
    """List the predicates of a plan in their order; None if no name in it may be replaced."""
    nodes = algebra.topological(plan.query.root)
    if not all(isinstance(node, _PLAIN) for node in (*nodes, *(step.node for step in plan.steps))):
        return None
    basics = (node for node in nodes if isinstance(node, algebra.Basic))
    found = {pattern.predicate for basic in basics for pattern in basic.patterns}
    return tuple(sorted((term for term in found if isinstance(term, URIRef)), key=str))


def renamed(plan: Plan, names: Mapping[Any, Any], text: str, parameters: Mapping[Variable, Node]) -> Plan:
    """Return a plan with other names in its patterns, for another text with its own terms."""
    made: dict[algebra.Node, algebra.Node] = {}
    terms: dict[TriplePattern, TriplePattern] = {}

    def pattern_of(pattern: TriplePattern) -> TriplePattern:
        found = terms.get(pattern)
        if found is None:
            s, p, o = pattern.subject, pattern.predicate, pattern.object
            found = TriplePattern(names.get(s, s), names.get(p, p), names.get(o, o), pattern.graph)
            terms[pattern] = found
        return found

    def patterns_of(patterns: tuple[TriplePattern, ...]) -> tuple[TriplePattern, ...]:
        return tuple([pattern_of(pattern) for pattern in patterns])

    def node_of(root: algebra.Node) -> algebra.Node:
        for node in algebra.topological(root) if root not in made else ():
            if node not in made:
                made[node] = (
                    algebra.Basic(patterns_of(node.patterns), node.graph, node.conditions, node.asked)
                    if isinstance(node, algebra.Basic)
                    else algebra.with_inputs(node, made)
                )
        return made[root]

    def step_of(step: Step) -> Step:
        basic = step.basic
        if basic is not None:
            segments = [replace(part, patterns=patterns_of(part.patterns)) for part in basic.segments]
            basic = replace(basic, segments=tuple(segments))
        return Step(node_of(step.node), step.inputs, step.columns, basic)

    query = plan.query
    shape = query.shape and (query.shape[0], tuple([names.get(name, name) for name in query.shape[1]]))
    return replace(
        plan,
        query=replace(query, text=text, root=node_of(query.root), shape=shape, parameters=parameters),
        steps=tuple(map(step_of, plan.steps)),
        original=plan.original or plan,
    )


_MOST: Final = 1024
"""Most plans in the cache, and most renamed plans; the oldest is removed first."""
_ORDERS: Final = 23
"""Most plans that differ in the order of their names; four names have 24 orders."""
_Holes: TypeAlias = tuple[int | None, ...]
"""For each hole, the number of its parameter, or -1, -2, ... for names; None if different constants need
different plans.
"""
_Fixed: TypeAlias = tuple[tuple[Node, str | None], ...]
"""The constants of the holes that are no parameters, each with its language tag as written."""
_Key: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class KnownQuery:
    """The plan of a query, which others may share, with the terms of this query."""

    plan: Plan
    terms: tuple[Node, ...] = ()
    """Its own terms, one for each parameter of the plan."""


@dataclass(frozen=True, slots=True, eq=False)
class _Shape:
    """A plan, and the names in it that other texts may replace."""

    asked: KnownQuery
    names: tuple[Node, ...]
    predicates: tuple[URIRef, ...]
    """All predicates, in the order that they must keep."""

    def fits(self, names: Sequence[Node]) -> Mapping[Node, Node] | None:
        """Return the mapping to other names; None if the plan would differ."""
        new = dict(zip(self.names, names, strict=True))
        order = [str(new.get(predicate, predicate)) for predicate in self.predicates]
        return new if all(map(lt, order, order[1:])) else None


_holes: Final[dict[_Key, dict[_Holes, int]]] = {}
"""By the tokens of a text, its possible holes, and the number of shapes with each."""
_shapes: Final[dict[tuple[_Key, _Holes, _Fixed], list[_Shape]]] = {}
_renamed: Final[dict[tuple[_Shape, tuple[Node, ...]], Plan]] = {}


def find_plan(
    text: str,
    *,
    init_ns: Mapping[str, Any],
    init_bindings: Mapping[str, Node] | None = None,
    algorithm: Algorithm = "auto",
    family: bool = False,
    clock: bool = False,
) -> KnownQuery:
    """Return the plan of a query from the cache, or parse and plan it; errors are those of `parse_query`.

    With `family` the constants in which queries may differ are parameters of the plan, and so are variables
    of `init_bindings` where possible. With a `clock` times may be compared with NOW().
    """
    check_bindings(init_bindings)
    bindings = {str(name).lstrip("?$"): term for name, term in (init_bindings or {}).items()}
    found = skeleton_of(text, init_ns)
    names = tuple(sorted(bindings))
    key = found.tokens, names, algorithm, family, clock
    fills = *found.constants, *(bindings[name] for name in names)
    for holes in tuple(_holes.get(key, ())):
        filled = _filled(holes, fills, found)
        if filled is None:
            continue
        for shape in tuple(_shapes.get((key, holes, _fixed(holes, fills)), ())):
            if is_current(shape.asked.plan.query.functions):
                known = _known(shape, filled, text)
                if known is not None:
                    return known
    written: list[Node] = []
    parsed = parse_query(
        text, init_ns=init_ns, init_bindings=bindings, family=family, clock=clock, constants=written
    )
    asked = KnownQuery(make_plan(parsed, algorithm), tuple(parsed.parameters.values()))
    # for `?a -1` the skeleton has the constant -1, and the reader 1: such a text shares no plan with another
    _note(asked, key, fills, found if tuple(written) == found.constants else None, names)
    return asked


def _note(
    asked: KnownQuery, key: _Key, fills: tuple[Node, ...], found: Skeleton | None, names: Sequence[str]
) -> None:
    query = asked.plan.query
    number = {variable: at for at, variable in enumerate(query.parameters)}
    constants = {term: number[v] for v, term in query.parameters.items() if v not in query.bound.values()}
    predicates = predicates_of(asked.plan)
    own = fills[: len(fills) - len(names)]
    renamable: tuple[Node, ...] = ()
    if predicates is not None and found is not None:
        may_be_others = set(query.renamable).difference(constants, fills[len(own) :])
        renamable = tuple(n for n in dict.fromkeys(own) if n in may_be_others and found.may_change(n))
        constants |= {name: -1 - at for at, name in enumerate(renamable)}
    holes: _Holes = (
        *(constants.get(term) if found is not None and found.may_change(term) else None for term in own),
        *(number[query.bound[name]] if name in query.bound else None for name in names),
    )
    if len(_shapes) >= _MOST:
        _forget()
    at = key, holes, _fixed(holes, fills)
    shapes = _shapes.get(at)
    if shapes is None:
        shapes = _shapes[at] = []
        counts = _holes.setdefault(key, {})
        counts[holes] = counts.get(holes, 0) + 1
    # a limited number of orders of names, and of versions with replaced functions
    del shapes[_ORDERS:]
    shapes.insert(0, _Shape(asked, renamable, predicates or ()))


def _forget() -> None:
    """Remove the oldest plan."""
    for oldest in list(_shapes)[:1]:  # listed at once: other threads add plans too
        if _shapes.pop(oldest, None) is not None:
            key, holes, _ = oldest
            counts = _holes.get(key, {})
            left = counts.get(holes, 1) - 1
            if left > 0:
                counts[holes] = left
            else:
                counts.pop(holes, None)
            if not counts:
                _holes.pop(key, None)


def _known(shape: _Shape, filled: Mapping[int, Node], text: str) -> KnownQuery | None:
    """Return the plan of a shape with its holes filled; None if these names need another plan."""
    terms = list(shape.asked.terms)
    for hole, fill in filled.items():
        if hole >= 0:
            terms[hole] = fill
    names = tuple([filled[-1 - at] for at in range(len(shape.names))])
    if names == shape.names:
        return KnownQuery(shape.asked.plan, tuple(terms))
    plan = _renamed.get((shape, names))
    if plan is None:
        new = shape.fits(names)
        if new is None:
            return None
        original = shape.asked.plan
        parameters = dict(zip(original.query.parameters, terms, strict=True))
        plan = renamed(original, new, text, parameters)
        if len(_renamed) >= _MOST:
            for oldest in list(_renamed)[:1]:
                _renamed.pop(oldest, None)
        _renamed[shape, names] = plan
    return KnownQuery(plan, tuple(terms))


def _filled(holes: _Holes, fills: tuple[Node, ...], found: Skeleton) -> Mapping[int, Node] | None:
    """Return the constants of the holes that may differ, by their numbers; None if constants are equal that
    were different, or the reverse.
    """
    filled: dict[int, Node] = {}
    for hole, fill in zip(holes, fills, strict=True):
        if hole is not None and filled.setdefault(hole, fill) != fill:
            return None
    written = {hole for hole in holes[: len(found.constants)] if hole is not None}
    bound = fills[len(found.constants) :]
    own = {filled[hole] for hole in written}
    if len(own) < len(written) or not all(map(found.may_change, own)):
        return None
    names = {filled[hole] for hole in written if hole < 0}
    if not all(isinstance(name, URIRef) for name in names) or names.intersection(bound):
        return None
    others = (fill for hole, fill in zip(holes, found.constants, strict=False) if hole is None)
    return None if own.intersection(others) else filled


def _fixed(holes: _Holes, fills: tuple[Node, ...]) -> _Fixed:
    # rdflib considers "x"@en equal to "x"@EN, and LANG distinguishes them
    return tuple(
        (fill, getattr(fill, "language", None))
        for hole, fill in zip(holes, fills, strict=True)
        if hole is None
    )
