"""Constraints and targets in SPARQL (SHACL, Sections 5 and 6; SHACL Advanced Features, Section 3.1).

A query is compiled once for all focus nodes: they are the outer solutions that its pattern sees, as those of
a FILTER EXISTS are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, Final

from rdflib import Literal, URIRef
from rdflib.term import Node

from rdflive.errors import QuerySyntaxError, UnsupportedQueryError
from rdflive.query import algebra
from rdflive.query.algebra import Distinct, Exists, Extend, Project
from rdflive.query.bgp import Variable
from rdflive.query.modifiers import modified, peel
from rdflive.query.rdflib_algebra import algebra_of
from rdflive.query.refusals import misplaced_aggregate, refused
from rdflive.query.scope import Dataset, Query, Scope
from rdflive.query.translate import translate
from rdflive.shacl.conditions import Function
from rdflive.shacl.found import Found, Pairs, Rows
from rdflive.shacl.messages import message_of
from rdflive.shacl.shapes import Shape, ShapesError, SparqlConstraint, Validator
from rdflive.syntax.tokens import Token, tokenize

__all__ = ["broken", "select_target"]

_THIS, _VALUE, _PATH = map(Variable, ("this", "value", "path"))
_REFUSED: Final = ("MINUS", "VALUES", "SERVICE")
"""What SHACL forbids where variables are pre-bound."""
_PLACES: Final = re.compile(r"\{[?$](\w+)\}")


def select_target(compiler: Any, validator: Validator, focus: Variable) -> algebra.Node:
    """Give the focus nodes that a query selects as ?this (SHACL Advanced Features 3.1)."""
    node, names = _translated(compiler, validator, validator.text, None, {})
    if "this" not in names:
        raise ShapesError(f"the target query of {validator.node.n3()} must select ?this", validator.node)
    return Distinct(Project(node, (), ((focus, _THIS),)))


def broken(
    compiler: Any, shape: Shape, constraint: SparqlConstraint, rows: Rows, pairs: Pairs
) -> Iterator[Found]:
    """Give the results of a constraint in SPARQL at some nodes."""
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
        text = _selecting(validator)
        node, _ = _translated(compiler, validator, text, asked, bindings, path=shape.path)
        meets = Project(node, (), ((pairs.focus, _THIS), (pairs.value, _VALUE)))
        if pairs.focus == pairs.value:
            meets = Project(node, (), ((pairs.focus, _THIS),))
        found = Found(Exists(pairs.node, meets, negated=True), pairs.focus, source, pairs.value)
        yield _with_message(compiler, found, {"value": pairs.value, "this": pairs.focus}, bindings)
        return
    asked = Project(rows.node, (), ((_THIS, rows.column),))
    node, names = _translated(compiler, validator, validator.text, asked, bindings, path=shape.path)
    if "failure" in names:
        raise ShapesError(
            f"{validator.node.n3()} selects ?failure, which a live validation cannot keep", shape.node
        )
    columns = {v.name: v for v in node.columns if v.distinguished}
    node = Project(node, tuple(columns.values()), ((rows.column, _THIS),))
    # what a result tells of a solution (5.3.2): its ?value, or else the focus node of a node shape; its ?path
    # if that is an IRI, or else the shape's
    value = columns.get("value") if "value" in names else None
    if shape.path is None and value is not None and value not in node.certain:
        value, read = compiler.fresh(), (value.name, rows.column.name)
        node = Extend(node, value, Function(read, f"COALESCE{read}", lambda one, other: one or other))
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


def _only_iri(term: Any) -> Any:
    return term if isinstance(term, URIRef) else None


def _with_message(
    compiler: Any, found: Found, columns: Mapping[str, Variable], bindings: Mapping[str, Node]
) -> Found:
    """Fill what the solution binds into the message, if it has places for that (5.3.2)."""
    template = found.source.messages[0]
    names = [name for name in dict.fromkeys(_PLACES.findall(template)) if name in columns]
    text = _filled(str(template), {name: str(term) for name, term in bindings.items()})
    if not names and text == str(template):
        return found
    column = compiler.fresh()
    # a distinguished variable is read by its name, one of the planner's by its own
    read = tuple(columns[name].name for name in names)

    def fill(*terms: Any) -> Literal:
        values = {name: str(term) for name, term in zip(names, terms, strict=True) if term is not None}
        return Literal(_filled(text, values), lang=template.language)

    return found._replace(node=Extend(found.node, column, Function(read, repr(text), fill)), message=column)


def _filled(text: str, values: Mapping[str, str]) -> str:
    return _PLACES.sub(lambda place: values.get(place[1], place[0]), text)


def _selecting(validator: Validator) -> str:
    """Write an ASK query as one that selects what it holds for."""
    for token in tokenize(validator.text):
        if token.text.upper() == "ASK":
            at = token.offset
            return f"{validator.text[:at]}SELECT DISTINCT ?this ?value{validator.text[at + 3 :]}"
    raise ShapesError(f"sh:ask of {validator.node.n3()} is no ASK query", validator.node)


def _translated(
    compiler: Any,
    validator: Validator,
    text: str,
    asked: algebra.Node | None,
    bindings: Mapping[str, Node],
    *,
    path: Any = None,
) -> tuple[algebra.Node, tuple[str, ...]]:
    """Translate a SELECT query that sees the rows of `asked`; gives its variables too."""
    text = _with_path(text, path)
    try:
        tokens = list(tokenize(text))
        _check(validator, tokens, prebound=[] if asked is None else [v.name for v in asked.columns])
        query = algebra_of(text, {}, tokens)
        misplaced = misplaced_aggregate(tokens)
        if misplaced is not None:
            raise misplaced
        node = query.algebra
        if node.name != "SelectQuery":
            raise ShapesError(f"sh:select of {validator.node.n3()} is no SELECT query", validator.node)
        shared = Query(
            translate,
            partial(refused, tokens=tokens),
            dict(bindings),
            Dataset(),
            query.prologue.base,
            prebound=True,
            _numbers=compiler.numbers,
        )
        scope = Scope(shared, outer=asked)
        modifiers = peel(node.p)
        pattern = translate(modifiers.pattern, scope, [])
        if any(token.text == "*" for token in tokens[:3]):
            modifiers.projected = tuple(v.name for v in pattern.columns if v.distinguished)
        root, _ = modified(pattern, modifiers, scope)
    except (QuerySyntaxError, UnsupportedQueryError) as error:
        raise ShapesError(f"the query of {validator.node.n3()}: {error}", validator.node) from error
    return root, modifiers.projected


def _with_path(text: str, path: Any) -> str:
    """Write the path of a property shape where $PATH stands (5.3.1)."""
    if path is None or "PATH" not in text:
        return text
    written = path.n3() if isinstance(path, URIRef) else f"({path.n3()})"
    pieces, at = [], 0
    for token in tokenize(text):
        if token.kind == "variable" and token.text[1:] == "PATH":
            pieces += [text[at : token.offset], written]
            at = token.offset + len(token.text)
    return "".join([*pieces, text[at:]])


def _check(validator: Validator, tokens: list[Token], prebound: list[str]) -> None:
    """Refuse what cannot be pre-bound (Appendix A)."""
    words = [token.text.upper() for token in tokens]
    for word in _REFUSED:
        if prebound and word in words:
            raise ShapesError(
                f"the query of {validator.node.n3()} has {word}, which SHACL forbids there", validator.node
            )
    if "FROM" in words:
        raise ShapesError(
            f"the query of {validator.node.n3()} has FROM: it is asked of the graph that is validated",
            validator.node,
        )
    for before, token in zip(words, tokens[1:], strict=False):
        if before == "AS" and token.kind == "variable" and token.text[1:] in prebound:
            raise ShapesError(f"the query of {validator.node.n3()} assigns ${token.text[1:]}", validator.node)
    for at, word in enumerate(words):
        if word == "SELECT" and at and prebound:
            if words.index("SELECT") == at:
                continue
            shown = []
            for token in tokens[at + 1 :]:
                if token.text in ("{", "WHERE"):
                    break
                shown.append(token.text)
            missing = [
                name
                for name in prebound
                if name == "this" and f"?{name}" not in shown and f"${name}" not in shown
            ]
            if missing and "*" not in shown:
                raise ShapesError(
                    f"a subquery of {validator.node.n3()} does not select ${missing[0]}, as SHACL asks",
                    validator.node,
                )
    if any(token.kind == "variable" and token.text[1:] == "shapesGraph" for token in tokens):
        raise ShapesError(
            f"the query of {validator.node.n3()} reads $shapesGraph, which a live validation has not",
            validator.node,
        )
