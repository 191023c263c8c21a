"""Patterns with triple terms that have variables, such as `?r rdf:reifies <<( ?s :line ?l )>>`.

A fresh variable replaces each triple term, as in `?r rdf:reifies ?t`. Conditions compare the parts of ?t with
the constants, and `SUBJECT(?t)` and `OBJECT(?t)` become columns, by which the group joins the pattern.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rdflib.term import BNode
from rdflib.term import Variable as RdflibVariable

from rdflive.model import TripleTerm
from rdflive.query import algebra
from rdflive.query.bgp import Variable
from rdflive.query.joins import filtered, join
from rdflive.query.paths import path_parts
from rdflive.query.scope import Scope
from rdflive.syntax.tree import Tree, leaves

__all__ = ["is_open", "quoting"]


def is_open(term: Any) -> bool:
    """Return True if a term of a pattern is a triple term with variables or blank nodes."""
    return isinstance(term, TripleTerm) and any(
        isinstance(leaf, RdflibVariable | BNode) for leaf in leaves(term)
    )


def quoting(triple: tuple[Any, Any, Any], scope: Scope) -> algebra.Node:
    """Match a triple pattern with a triple term with variables as an end."""
    query = scope.query
    terms: list[Any] = []
    conditions: list[Tree] = []
    hidden: set[Variable] = set()
    places: dict[Variable, Tree] = {}
    for term in triple:
        if not is_open(term):
            terms.append(query.term(term))
            continue
        whole = query.fresh()
        hidden.add(whole)
        terms.append(whole)
        for part, place in _parts(term, RdflibVariable(whole.name)):
            if is_open(part):
                conditions.append(_call("isTRIPLE", place))
                continue
            known = query.term(part)
            if not isinstance(known, Variable):
                conditions.append(_same(known, place))
            elif known in places:
                conditions.append(_same(places[known], place))
            else:
                places[known] = place
    # conditions read no blank node of a query, so a variable both outside and inside has a fresh name too
    both = {v: query.fresh() for v in terms if isinstance(v, Variable) and v in places}
    conditions += [_same(RdflibVariable(fresh.name), places.pop(v)) for v, fresh in both.items()]
    s, p, o = (both.get(term, term) if isinstance(term, Variable) else term for term in terms)
    offered: list[algebra.Condition] = [query.expression(condition) for condition in conditions]
    # evaluated by itself: the group joins it with the outer solutions and with the other parameters
    inside = scope.base.mentioning(triple)
    node = filtered(join(list(path_parts(s, p, o, scope.bare)), inside, offered), offered)
    for variable, place in places.items():
        node = algebra.Extend(node, variable, query.expression(place))
    hidden.update(both.values())
    kept = tuple(v for v in node.columns if v not in hidden)
    return algebra.Project(node, kept, tuple(both.items()), frozenset(places))


def _parts(term: Any, place: Any) -> Iterator[tuple[Any, Any]]:
    """List a triple term and the terms in it, each with the expression for it."""
    yield term, place
    if is_open(term):
        for function, part in zip(("SUBJECT", "PREDICATE", "OBJECT"), term.parts, strict=True):
            yield from _parts(part, _call(function, place))


def _call(function: str, argument: Any) -> Tree:
    return Tree(f"Builtin_{function}", {"arg": argument})


def _same(one: Any, other: Any) -> Tree:
    return Tree("Builtin_sameTerm", {"arg1": one, "arg2": other})
