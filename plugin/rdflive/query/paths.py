"""Property paths: sequences, alternatives, inverses and negated sets are rewritten; `?`, `*` and `+` become
nodes.

For an engine without an operator for `*` and `+`, they become joins: a limited number of steps, each from the
nodes that the steps before it reach. Example: with at most two steps, `:a :next+ ?x` has the matches of `:a
:next ?x`, and those of `?y :next ?x` for each of these as ?y. If a third step reaches another node, that is
an error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from rdflib.paths import AlternativePath, InvPath, MulPath, NegatedPath, Path, SequencePath
from rdflib.term import URIRef

from rdflive.errors import BudgetError
from rdflive.query import algebra
from rdflive.query.algebra import Basic, Closure, Distinct, Join, Node, Project, Union, Values
from rdflive.query.bgp import TriplePattern, Variable, to_text
from rdflive.query.expressions import Expression
from rdflive.query.joins import OpenPath, Part, basic, join
from rdflive.query.scope import Scope

__all__ = ["path_parts", "unroll"]


def path_parts(s: Any, path: Any, o: Any, scope: Scope) -> Iterator[Part]:
    """Rewrite a path between two terms into the parts of a group."""
    if not isinstance(path, Path):
        yield TriplePattern(s, path, o)
    elif isinstance(path, InvPath):
        yield from path_parts(o, path.arg, s, scope)
    elif isinstance(path, SequencePath):
        # SPARQL 1.1, 18.2.2.4: a sequence is a join over fresh variables.
        ends = [s, *(scope.query.fresh() for _ in path.args[1:]), o]
        for i, step in enumerate(path.args):
            yield from path_parts(ends[i], step, ends[i + 1], scope)
    elif isinstance(path, AlternativePath):
        open_ended = isinstance(s, Variable) and isinstance(o, Variable)
        if open_ended and scope.query.walks and _may_stay(path, scope):
            yield OpenPath(s, o, partial(_alternatives, s, path, o))  # waits for its start
        else:
            yield _alternatives(s, path, o, None, scope)
    elif isinstance(path, NegatedPath):
        yield from _negated(s, path, o, scope)
    elif isinstance(path, MulPath):
        yield from _repeated(s, path, o, scope)
    else:
        raise scope.query.refuse(type(path).__name__)


def _relation(s: Any, path: Any, o: Any, scope: Scope) -> algebra.Node:
    """Match one path and keep only its ends as columns."""
    node = join(list(path_parts(s, path, o, scope)), scope, [])
    return Project(node, _shown(s, o, scope))


def _alternatives(
    s: Any, path: AlternativePath, o: Any, bound: algebra.Node | None, scope: Scope
) -> algebra.Node:
    """Follow each of several paths, from the rows of `bound`."""
    if bound is not None:
        scope = replace(scope, bounds=(bound,))
    return algebra.Union(tuple(_relation(s, step, o, scope) for step in path.args))


def _shown(s: Any, o: Any, scope: Scope) -> algebra.Columns:
    return algebra.ordered((*scope.context, *(end for end in (s, o) if isinstance(end, Variable))))


def _negated(s: Any, path: NegatedPath, o: Any, scope: Scope) -> Iterator[Part]:
    """Match any predicate except some; the reader has split off inverse ones."""
    predicate = scope.query.fresh()
    yield TriplePattern(s, predicate, o)
    yield algebra.OneOf(predicate.name, frozenset(path.args), negated=True)


def _repeated(s: Any, path: MulPath, o: Any, scope: Scope) -> Iterator[Part]:
    """Follow a repeated path from a constant end; a path between two variables waits for the join.

    A closure over all nodes of a graph can have quadratically many pairs. Starting from the values of one end
    keeps only those that the query can use.
    """
    if isinstance(s, Variable) and isinstance(o, Variable) and s != o:
        yield OpenPath(s, o, partial(_bounded, s, path, o))
        return
    if isinstance(s, Variable) and s == o:
        # a condition reads no blank node of a query
        start, end = s if s.readable else scope.query.fresh(), scope.query.fresh()
        # zero steps lead from every node of the graph to itself, also without such an edge
        seeds = _nodes(start, scope) if path.mod in "?*" else None
        if s in scope.query.parameters.values():
            path, seeds = _from_term(path, scope), _beside(scope.query.asked((s,)), scope)
        loops = algebra.Filter(
            _from(path, seeds, start, end, True, scope), algebra.SameTerm(start.name, end.name)
        )
        shown = (scope.context, ((s, start),)) if start is not s else (_shown(s, o, scope),)
        yield Project(loops, *shown)
        return
    forward = not isinstance(s, Variable)
    constant, other = (s, o) if forward else (o, s)
    if path.mod == "?":
        # between two constants zero steps are one empty row if they are equal, and no row otherwise
        kept = ((other,), ((constant,),)) if isinstance(other, Variable) else ((), ((),) * (s == o))
        stay = _beside(Values(*kept), scope)
        yield Distinct(algebra.Union((_relation(s, path.path, o, scope), stay)))
        return
    path = _from_term(path, scope)
    # the constant becomes the only row of a column, since a closure starts from rows
    near = scope.query.fresh()
    far = other if isinstance(other, Variable) else scope.query.fresh()
    seeds = _beside(Values((near,), ((constant,),)), scope)
    node = _from(path, seeds, near, far, forward, scope)
    if far is not other:
        node = algebra.Join(node, Values((far,), ((other,),)))
    yield Project(node, _shown(s, o, scope))


def _bounded(
    start: Variable, path: MulPath, end: Variable, bound: algebra.Node | None, scope: Scope
) -> algebra.Node:
    """Follow a path between two variables from the values of one of them in `bound`.

    A path of zero steps matches only nodes of the graph. So `?` and `*` skip values that are no nodes of the
    graph.
    """
    asked = scope.query.parameters.values()
    if scope.query.walks or start in asked or end in asked:
        path = _from_term(path, scope)
    optional = path.mod in "?*"
    ways = [(start, end, True), (end, start, False)]
    # a parameter stands for a constant, which need not be a node of the graph
    for near, far, forward in ways:
        if near in asked:
            return _from(path, _beside(scope.query.asked((near,)), scope), near, far, forward, scope)
    bounded = [way for way in ways if bound is not None and way[0] in bound.certain]
    if bound is None or not bounded:
        seeds = _nodes(start, scope) if optional else None
        return _from(path, seeds, *ways[0], scope)
    if not bound.certain.issuperset(scope.context):
        # rows from elsewhere, such as those of VALUES, are in no graph: a path starts from them in each
        bound = _beside(bound, scope)
    # an end that can only be a node of the graph needs no test
    known = [way for way in bounded if _is_node(bound, way[0], scope)]
    near, far, forward = (known or bounded)[0]
    # a closure counts nothing: each start must be added once and removed once
    seeds = Distinct(Project(bound, (*scope.context, near)))
    if optional and not known and not scope.query.walks:
        seeds = algebra.Exists(seeds, _nodes(near, scope))
    return _from(path, seeds, near, far, forward, scope)


def _from_term(path: MulPath, scope: Scope) -> MulPath:
    """Return a path as it is followed from a constant, where zero steps also match a term outside the graph.

    From there `(:p?)+` is `(:p?)*`, whereas `(:p?)?` still takes at most one step.
    """
    return MulPath(path.path, "*") if path.mod == "+" and _may_stay(path.path, scope) else path


def _may_stay(path: Path | URIRef, scope: Scope) -> bool:
    """Return True if a path of zero steps matches, even at a term that is no node of the graph."""
    if isinstance(path, MulPath):
        return path.mod in "?*" or _may_stay(path.path, scope)
    if isinstance(path, AlternativePath):
        return any(_may_stay(arg, scope) for arg in path.args)
    if isinstance(path, SequencePath) and scope.query.walks:
        return all(_may_stay(arg, scope) for arg in path.args)
    return isinstance(path, InvPath) and _may_stay(path.arg, scope)


def _from(
    path: MulPath, seeds: algebra.Node | None, near: Variable, far: Variable, forward: bool, scope: Scope
) -> algebra.Node:
    """Follow a path from its near end, along the edges or against them."""
    source, target = scope.query.fresh(), scope.query.fresh()
    if path.mod == "?":
        a, b = (near, far) if forward else (far, near)
        steps = _relation(a, path.path, b, scope)
        stay = Project(seeds or Values(), (*scope.context, near), ((far, near),))
        return Distinct(algebra.Union((steps, stay)))
    ends = (source, target) if forward else (target, source)
    relation = _relation(ends[0], path.path, ends[1], scope)
    edges = Project(relation, (*scope.context, source, target))
    return Closure(
        # distinct edges too: `(:p|:q)+` may find one in two ways
        edges if _is_set(relation) else Distinct(edges),
        source, target, near, far, path.mod == "*", seeds, scope.context,
    )  # fmt: skip


def _nodes(variable: Variable, scope: Scope) -> algebra.Node:
    """List the nodes of the graph: all terms that are subject or object of a triple."""
    kept = (*scope.context, variable)
    triples = (
        TriplePattern(variable, scope.query.fresh(), scope.query.fresh()),
        TriplePattern(scope.query.fresh(), scope.query.fresh(), variable),
    )
    branches = tuple(Project(basic([triple], scope), kept) for triple in triples)
    return Distinct(algebra.Union(branches))


def _beside(node: algebra.Node, scope: Scope) -> algebra.Node:
    return node if scope.seed is None else algebra.Join(scope.seed, node)


def _is_node(node: algebra.Node, variable: Variable, scope: Scope) -> bool:
    """Return True if a column is always bound, and only to subjects and objects of the scope's graph."""
    if variable not in node.certain:
        return False
    if isinstance(node, Basic):
        places = (end for pattern in node.patterns for end in (pattern.subject, pattern.object))
        return node.graph == scope.graph and variable in places
    if isinstance(node, algebra.Join):
        return _is_node(node.left, variable, scope) or _is_node(node.right, variable, scope)
    if isinstance(node, algebra.Filter | algebra.Clocked | Distinct | algebra.Extend | Project):
        below = node.source(variable) if isinstance(node, Project) else variable
        return below is not None and _is_node(node.input, below, scope)
    if isinstance(node, Closure):
        # `*` also ends where it starts, which may be a term from elsewhere, such as one of VALUES
        near = node.seeds is not None and _is_node(node.seeds, node.start, scope)
        return variable in (node.start, node.end) and (near or node.seeds is None)
    return False


def _is_set(node: algebra.Node) -> bool:
    """Return True if the rows of a relation are distinct already, as the ends of one triple pattern."""
    if isinstance(node, Project):
        below = node.input
        return isinstance(below, Basic) and set(node.columns) == set(below.columns) and not node.renamed
    return False


def unroll(root: Node, steps: int) -> Node:
    """Return the query without closures that has the answers of `root` as long as no path is longer.

    Its evaluation raises `BudgetError` if a path has more steps.
    """
    made: dict[Node, Node] = {}
    for node in algebra.topological(root):
        new = algebra.with_inputs(node, made)
        made[node] = _unrolled(new, steps) if isinstance(new, Closure) else new
    return made[root]


def _unrolled(closure: Closure, steps: int) -> Node:
    seeds, start, source, target = closure.seeds, closure.start, closure.source, closure.target
    # rows from one constant need not carry it
    constant = seeds.rows[0][0] if isinstance(seeds, Values) and len(seeds.rows) == 1 else None
    kept = (*closure.context, start) if constant is None else ()

    def further(reached: Node) -> Node:
        here = Project(reached, kept, ((source, target),))
        return Project(Join(here, closure.edges), (*kept, target))

    if seeds is None:  # `+` between all nodes that an edge leaves
        first: Node = Project(closure.edges, (*closure.context, target), ((start, source),))
    else:
        first = Project(seeds, kept, ((target, start),))
        first = first if closure.reflexive else Distinct(further(first))
    reached = first
    for _ in range(steps if closure.reflexive else steps - 1):
        reached = Distinct(Union((first, further(reached))))
    longer = algebra.Exists(further(reached), reached, negated=True)
    # a condition can read `target`, a variable of the planner, but no blank node of a query
    found = Union((reached, algebra.Filter(longer, _Limit(steps, target.name))))
    shown = Project(found, kept, ((closure.end, target),))
    return shown if constant is None else algebra.Extend(shown, start, Expression(constant))


@dataclass(frozen=True, slots=True)
class _Limit:
    """The condition that there is no row: its test raises `BudgetError`."""

    steps: int
    end: str
    """The column of the node that a path reaches."""

    @property
    def variables(self) -> tuple[str, ...]:
        return (self.end,)

    @property
    def text(self) -> str:
        return f"no path is longer than {self.steps} steps"

    @property
    def is_plain(self) -> bool:
        return True

    def condition(self, columns: Mapping[str, int], terms: Any) -> Callable[[tuple[int, ...]], bool]:
        def test(row: tuple[int, ...]) -> bool:
            reached = to_text(terms.value(row[columns[self.end]]))
            raise BudgetError(
                f"a path of more steps than path_steps={self.steps} reaches {reached}: rebuild the state "
                "for more of them"
            )

        return test
