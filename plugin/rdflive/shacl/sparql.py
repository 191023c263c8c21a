"""Constraints and targets in SPARQL (SHACL, Sections 5 and 6; SHACL Advanced Features, Section 3.1).

A query is compiled once for all focus nodes: they are outer solutions of its pattern, as in a FILTER EXISTS.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from rdflib import Literal, URIRef
from rdflib.term import Node
from rdflib.term import Variable as RdflibVariable

from rdflive.errors import QuerySyntaxError, UnsupportedQueryError
from rdflive.query import algebra
from rdflive.query.algebra import Distinct, Exists, Extend, Project
from rdflive.query.bgp import Variable
from rdflive.query.modifiers import modified, peel
from rdflive.query.refusals import refused
from rdflive.query.scope import Dataset, Query, Scope
from rdflive.query.translate import translate
from rdflive.shacl.conditions import Found, FoundRows, Function, Pairs
from rdflive.shacl.messages import message_of
from rdflive.shacl.shapes import Shape, ShapesError, SparqlConstraint, Validator
from rdflive.syntax.algebra import algebra_of, shown_by
from rdflive.syntax.reader import read_query
from rdflive.syntax.tree import Tree, leaves, rewritten, walk

__all__ = ["broken", "select_target"]

_THIS, _VALUE, _PATH = map(Variable, ("this", "value", "path"))
_PATH_VARIABLE: Final = RdflibVariable("PATH")
_REFUSED: Final = {"MinusGraphPattern": "MINUS", "InlineData": "VALUES", "ServiceGraphPattern": "SERVICE"}
"""The clauses that SHACL forbids in queries with pre-bound variables."""
_IN_PATH: Final = re.compile(r"[!/^|]\s*[?$]PATH\b|[?$]PATH\s*(?:[/|*+]|\?(?!\w))")
"""$PATH beside an operator of property paths."""
_OPTIONAL: Final = frozenset({"currentShape", "shapesGraph"})
"""Pre-bound variables that a subquery need not return."""
_PLACES: Final = re.compile(r"\{[?$](\w+)\}")


def select_target(compiler: Any, validator: Validator, focus: Variable) -> algebra.Node:
    """Return the focus nodes that a query selects as ?this (SHACL Advanced Features 3.1)."""
    node, _ = _translated(compiler, validator, None, {})
    return Distinct(Project(node, (), ((focus, _THIS),)))


def broken(
    compiler: Any, shape: Shape, constraint: SparqlConstraint, rows: FoundRows, pairs: Pairs
) -> Iterator[Found]:
    """List the results of a constraint in SPARQL at some nodes."""
    validator = constraint.validator
    source = compiler.source(
        shape,
        constraint.component,
        message_of(constraint),
        constraint=constraint.source,
        messages=validator.messages,
    )
    bindings = {**constraint.arguments, "currentShape": shape.node}
    if validator.asks:
        renamed = ((_THIS, pairs.focus), (_VALUE, pairs.value))
        asked = Project(pairs.node, (), renamed)
        node, _ = _translated(compiler, validator, asked, bindings, path=shape.path)
        meets = Project(node, (), ((pairs.focus, _THIS), (pairs.value, _VALUE)))
        if pairs.focus == pairs.value:
            meets = Project(node, (), ((pairs.focus, _THIS),))
        found = Found(Exists(pairs.node, meets, negated=True), pairs.focus, source, pairs.value)
        yield _with_message(compiler, found, {"value": pairs.value, "this": pairs.focus}, bindings)
        return
    asked = Project(rows.node, (), ((_THIS, rows.column),))
    node, names = _translated(compiler, validator, asked, bindings, path=shape.path)
    if "failure" in names:
        raise ShapesError(f"{validator.node.n3()} selects ?failure, which is not supported", shape.node)
    columns = {v.name: v for v in node.columns if v.distinguished}
    node = Project(node, tuple(columns.values()), ((rows.column, _THIS),))
    # The columns of a result (5.3.2): the solution's ?value, or else the focus node of a node shape;
    # its ?path if that is an IRI, or else the shape's.
    value = columns.get("value") if "value" in names else None
    if shape.path is None and value is not None and value not in node.certain:
        value, read = compiler.fresh(), (value.name, rows.column.name)
        node = Extend(node, value, Function(read, f"COALESCE{read}", _first_bound))
    elif shape.path is None and value is None:
        value = rows.column
    path = columns.get("path") if "path" in names else None
    if path is not None:
        path, name = compiler.fresh(), path.name
        only = Function((name,), f"IF(isIRI(?{name}), ?{name}, ?none)", _only_iri)
        node = Extend(node, path, only)
    found = Found(node, rows.column, source, value, path)
    if "message" in names and "message" in columns:
        yield found._replace(message=columns["message"])
    else:
        yield _with_message(compiler, found, columns, bindings)


def _first_bound(one: Any, other: Any) -> Any:
    return other if one is None else one  # not `one or other`: a literal such as 0 is false


def _only_iri(term: Any) -> Any:
    return term if isinstance(term, URIRef) else None


def _with_message(
    compiler: Any, found: Found, columns: Mapping[str, Variable], bindings: Mapping[str, Node]
) -> Found:
    """Insert the values of the solution into the placeholders of the message (5.3.2)."""
    template = found.source.messages[0]
    names = [name for name in dict.fromkeys(_PLACES.findall(template)) if name in columns]
    text = _filled(str(template), {name: str(term) for name, term in bindings.items()})
    if not names and text == str(template):
        return found
    column = compiler.fresh()
    # the columns' own names, which differ from the query's for variables of the planner
    read = tuple(columns[name].name for name in names)

    def fill(*terms: Any) -> Literal:
        values = {name: str(term) for name, term in zip(names, terms, strict=True) if term is not None}
        return Literal(_filled(text, values), lang=template.language)

    return found._replace(node=Extend(found.node, column, Function(read, repr(text), fill)), message=column)


def _filled(text: str, values: Mapping[str, str]) -> str:
    return _PLACES.sub(lambda place: values.get(place[1], place[0]), text)


def _selecting(tree: Tree) -> Tree:
    """Turn an ASK query into one that selects the focus and value nodes that it holds for."""
    projection = tuple(Tree("Projection", {"var": RdflibVariable(name)}) for name in ("this", "value"))
    fields = {"modifier": "DISTINCT", "projection": projection, **tree.query.fields}
    return tree.changed(query=Tree("SelectQuery", fields, tree.query.begin, tree.query.end))


def _translated(
    compiler: Any,
    validator: Validator,
    asked: algebra.Node | None,
    bindings: Mapping[str, Node],
    *,
    path: Any = None,
) -> tuple[algebra.Node, tuple[str, ...]]:
    """Translate a SELECT query that sees the rows of `asked`; return its variables too."""
    try:
        tree = read_query(validator.text)
        _check(validator, tree)
        if validator.asks:
            tree = _selecting(tree)
        if path is not None:  # $PATH is the path of a property shape (5.3.1)
            tree = rewritten(tree, lambda part: path if part == _PATH_VARIABLE else None)
        node = algebra_of(tree)
        shared = Query(
            translate,
            partial(refused, tree=tree, text=validator.text),
            dict(bindings),
            Dataset(),
            tree.base,
            prebound=True,
            _numbers=compiler.numbers,
        )
        scope = Scope(shared, outer=asked)
        modifiers = peel(node.p)
        pattern = translate(modifiers.pattern, scope, [])
        if tree.query.projection is None:
            modifiers.projected = tuple(v.name for v in pattern.columns if v.distinguished)
        root, _ = modified(pattern, modifiers, scope)
    except (QuerySyntaxError, UnsupportedQueryError) as error:
        alone = "$PATH cannot be a part of another path: " if _IN_PATH.search(validator.text) else ""
        raise ShapesError(f"the query of {validator.node.n3()}: {alone}{error}", validator.node) from error
    return root, modifiers.projected


def _check(validator: Validator, tree: Tree) -> None:
    """Raise `ShapesError` for clauses that SHACL forbids (5.2.1, 6.2.3 and Appendix A) or a live validation
    lacks.
    """
    prebound = validator.prebound

    def refused(reason: str) -> ShapesError:
        return ShapesError(f"the query of {validator.node.n3()} {reason}", validator.node)

    form, name = ("sh:ask", "AskQuery") if validator.asks else ("sh:select", "SelectQuery")
    if tree.query.name != name:
        raise ShapesError(
            f"{form} of {validator.node.n3()} is not a query of the form {form[3:].upper()}", validator.node
        )
    if not validator.asks and _THIS.name not in map(str, shown_by(tree.query)):
        raise refused("does not select ?this, the focus node")
    terms = Counter(leaves(tree))
    if RdflibVariable("shapesGraph") in terms:
        raise refused("reads $shapesGraph, which a live validation does not support")
    used = {str(each) for each in terms if isinstance(each, RdflibVariable)}
    returned = {_THIS.name, *(used & prebound)} - _OPTIONAL
    for node in walk(tree):
        if node.name == "DatasetClause":
            raise refused("has FROM, but it must be evaluated on the validated graph")
        if not prebound:
            continue
        if node.name in _REFUSED:
            raise refused(f"has {_REFUSED[node.name]}, which SHACL forbids here")
        assigned = node.var if node.name in ("Bind", "GroupAs") else node.evar
        if assigned is not None and str(assigned) in prebound:
            raise refused(f"assigns ${assigned}, which is pre-bound")
        missing = returned.difference(map(str, shown_by(node))) if node.name == "SubSelect" else ()
        if missing:
            reason = "" if node.projection else "; * selects only variables of its own patterns"
            raise refused(f"has a subquery that does not select ${min(missing)}, as SHACL requires{reason}")
    predicates = [p for node in walk(tree) for _, p, _ in node.triples or ()]
    if prebound and terms[_PATH_VARIABLE] > predicates.count(_PATH_VARIABLE):
        raise refused("has $PATH in a position other than the predicate of a triple")
