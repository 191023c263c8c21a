"""Probable mistakes in a query: variables that no pattern binds, and calls that never have a value."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache

from rdflive.query import algebra
from rdflive.query.bgp import Variable
from rdflive.query.plan import Plan
from rdflive.syntax.diagnosis import nearest
from rdflive.syntax.tokens import tokenize

__all__ = ["query_notes"]


def query_notes(plan: Plan) -> tuple[str, ...]:
    """List the variables that a query projects, reads or gets a term for, and never binds, each with the
    nearest. Calls that are errors in every row are first.
    >>> from rdflive.query.parse import parse_query
    >>> from rdflive.query.plan import make_plan
    >>> query_notes(make_plan(parse_query("SELECT ?trian { ?train <urn:delay> ?minutes }")))
    ('no pattern binds ?trian; the nearest variable is ?train',)
    """
    # names in patterns do not matter
    return _notes_of(plan.original or plan)


@lru_cache(maxsize=256)  # a plan serves many queries
def _notes_of(plan: Plan) -> tuple[str, ...]:
    query = plan.query
    nodes = algebra.topological(query.root)
    # SELECT may name an ungrouped variable: that is SAMPLE(?x) AS ?x
    samples = {
        (aggregate.variable.name, aggregate.expression.text)
        for node in nodes
        if isinstance(node, algebra.Group)
        for aggregate in node.aggregates
        if aggregate.name == "SAMPLE"
    }
    bound: dict[algebra.Node, frozenset[Variable]] = {}
    for node in nodes:
        bound[node] = _bound(node, bound, samples)
    anywhere = {v.name for columns in bound.values() for v in columns if _is_users(v)}
    read = dict.fromkeys(name for node in nodes for name in _read(node))
    ordered = (name for condition in query.order for name in condition.expression.variables)
    read |= dict.fromkeys(name for name in ordered if _is_written(name))
    read = {name: None for name in read if name not in anywhere}
    construct = next((node for node in nodes if isinstance(node, algebra.Construct)), None)
    shown = query.names if construct is None else _of_template(construct)
    there = {v.name for v in bound[query.root]}  # the columns of a template are bound if its input is
    read |= dict.fromkeys(name for name in shown if name not in there)
    notes = list(query.notes)
    notes += [_unbound(name, anywhere) for name in read if name not in (*query.preset, *query.bound)]
    if query.preset:
        names = {token.text[1:] for token in tokenize(query.text) if token.kind == "variable"}
        notes += [_note("the query has no", n, names) for n in query.preset if n not in names]
    return tuple(notes)


def _bound(
    node: algebra.Node,
    below: Mapping[algebra.Node, frozenset[Variable]],
    samples: Collection[tuple[str, str]],
) -> frozenset[Variable]:
    """Return the columns of a node that some pattern, BIND, VALUES or aggregate may bind."""
    bound = frozenset[Variable]().union(*(below[one] for one in node.inputs))
    if isinstance(node, algebra.Project):
        # a new column that the input lacks is one that an OPTIONAL leaves unbound in all rows
        lacking = (
            frozenset[Variable]() if node.closes else frozenset(node.columns).difference(node.input.columns)
        )
        return frozenset(v for v in node.columns if node.source(v) in bound or v in lacking)
    if isinstance(node, algebra.Extend):
        read = node.expression.variables
        is_sample = len(read) == 1 and (read[0], f"?{node.variable.name}") in samples
        return bound if is_sample and all(v.name != read[0] for v in bound) else bound | {node.variable}
    if isinstance(node, algebra.Group):
        names = {v.name for v in bound}
        made = (a for a in node.aggregates if a.name != "SAMPLE" or names.issuperset(a.expression.variables))
        return bound.intersection(node.keys).union(a.variable for a in made)
    if isinstance(node, algebra.Clocked):
        return frozenset(v for v in node.columns if v in bound or v == node.mark)
    if isinstance(node, algebra.Minus | algebra.Exists):  # the right side is only compared
        bound = below[node.left]
        return bound if isinstance(node, algebra.Minus) or node.mark is None else bound | {node.mark}
    return frozenset(node.columns) if not node.inputs or isinstance(node, algebra.Closure) else bound


def _is_users(column: Variable) -> bool:
    return column.distinguished and _is_written(column.name)


def _is_written(name: str) -> bool:
    """Return True if the name is in the text of the query, and not made by the planner."""
    return not name.startswith("·")


def _unbound(name: str, anywhere: set[str]) -> str:
    if name in anywhere:
        return f"no pattern outside MINUS, EXISTS and subqueries binds ?{name}"
    return _note("no pattern binds", name, anywhere)


def _note(what: str, name: str, known: set[str]) -> str:
    near = nearest(name, known)
    return f"{what} ?{name}" + (f"; the nearest variable is ?{near}" if near is not None else "")


def _read(node: algebra.Node) -> Iterator[str]:
    """List the user's variables that a node reads, besides the columns that it passes on."""
    expressions = (*node.expressions, *(node.conditions if isinstance(node, algebra.Basic) else ()))
    for expression in expressions:
        yield from filter(_is_written, expression.variables)
    if isinstance(node, algebra.Group):
        yield from (key.name for key in node.unbound if _is_users(key))


def _of_template(node: algebra.Construct) -> Iterator[str]:
    terms = (term for triple in node.template for term in triple.terms)
    yield from (term.name for term in terms if isinstance(term, Variable) and term.distinguished)
