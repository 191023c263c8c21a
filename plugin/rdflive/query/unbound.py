"""Variables of a query that no pattern of it binds: most likely another one was meant."""

from __future__ import annotations

from collections.abc import Iterator

from rdflive.query import algebra
from rdflive.query.bgp import Variable
from rdflive.query.plan import Plan
from rdflive.syntax.diagnosis import nearest
from rdflive.syntax.tokens import tokenize

__all__ = ["unbound_notes"]


def unbound_notes(plan: Plan) -> tuple[str, ...]:
    """Say which variables a query shows, reads or is given a term for, and never binds; with the nearest.

    >>> from rdflive.query.parse import parse_query
    >>> from rdflive.query.plan import make_plan
    >>> unbound_notes(make_plan(parse_query("SELECT ?trian { ?train <urn:delay> ?minutes }")))
    ('no pattern binds ?trian; the nearest variable is ?train',)
    """
    query = plan.query
    nodes = algebra.topological(query.root)
    bound = {v.name for node in nodes for v in node.columns if v.distinguished}
    read = dict.fromkeys(name for node in nodes for name in _read(node))
    read |= dict.fromkeys(name for condition in query.order for name in condition.expression.variables)
    read |= dict.fromkeys(n for n, place in zip(query.names, plan.places, strict=True) if place is None)
    notes = [_note("no pattern binds", n, bound) for n in read if n not in bound and n not in query.preset]
    if query.preset:
        there = {token.text[1:] for token in tokenize(query.text) if token.kind == "variable"}
        notes += [_note("the query has no", n, there) for n in query.preset if n not in there]
    return tuple(notes)


def _note(what: str, name: str, known: set[str]) -> str:
    near = nearest(name, known)
    return f"{what} ?{name}" + (f"; the nearest variable is ?{near}" if near is not None else "")


def _read(node: algebra.Node) -> Iterator[str]:
    """List the variables of users that a node looks at, besides the columns that it passes on."""
    expressions = (*node.expressions, *(node.conditions if isinstance(node, algebra.Basic) else ()))
    for expression in expressions:
        yield from (name for name in expression.variables if not name.startswith(("·", "__agg_")))
    if isinstance(node, algebra.Construct):
        terms = (term for triple in node.template for term in triple)
        yield from (term.name for term in terms if isinstance(term, Variable) and term.distinguished)
