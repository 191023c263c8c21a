"""rdflib's algebra of a query, corrected where its translation loses what its parser has read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any, Final

import pyparsing
from rdflib.plugins.sparql.algebra import (
    translateGroupGraphPattern,
    translatePath,
    translatePName,
    translateQuery,
    traverse,
)
from rdflib.plugins.sparql.operators import simplify
from rdflib.plugins.sparql.parserutils import CompValue, Expr
from rdflib.plugins.sparql.sparql import Prologue, Query
from rdflib.term import BNode, Literal

from rdflive.errors import QuerySyntaxError
from rdflive.query.expressions.nodes import EXISTS
from rdflive.query.negated_sets import spell_out
from rdflive.syntax.diagnosis import diagnose, syntax_error, unknown_prefix, unread_by_rdflib
from rdflive.syntax.parsing import parse_query
from rdflive.syntax.tokens import Token

__all__ = ["algebra_of"]

_WRAPPERS: Final = (
    "ConditionalOrExpression", "ConditionalAndExpression", "RelationalExpression", "AdditiveExpression",
    "MultiplicativeExpression",
)  # fmt: skip
"""Nodes that rdflib puts around every expression, even if it has no such operator."""
# nested so deep, unions are still far from the 1,000 calls that Python usually allows
_LONG_UNION: Final = 64
_WRAPPING: Final = frozenset({"BIND", "GRAPH", "MINUS", "OPTIONAL", "VALUES"})
_MODIFIERS: Final = ("projection", "groupby", "having", "orderby")


def algebra_of(text: str, init_ns: Mapping[str, Any], tokens: list[Token]) -> Query:
    """Give rdflib's algebra of a query; raises `QuerySyntaxError` with line and column.

    Raises RecursionError for a query that is too deep for rdflib, such as one with a thousand OPTIONALs, each
    of which wraps the group before it. Such a query is recognised before parsing, which would take long.
    """
    # rdflib nests one level per clause, and its translation is recursive.
    if _longest_chain(tokens) >= sys.getrecursionlimit():
        raise RecursionError
    try:
        parsed = parse_query(text)  # first as written, so that errors quote the user's text
        spelled = spell_out(text, tokens)
        if spelled != text:
            parsed = parse_query(spelled)
        _hide(traverse(parsed[1], visitPost=partial(_mended, {})))
        query = translateQuery(parsed, initNs=init_ns)
        query.algebra = traverse(query.algebra, visitPre=_show(query.prologue))
        return query
    # neither says that the text is no SPARQL; `depth_limited` makes a refusal of the first
    except (RecursionError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - rdflib reports unknown prefixes and scope errors like that
        # without rdflib's own error, whose traceback would stand above and say less
        raise _explained(error, text, tokens, init_ns) from None


def _explained(
    error: Exception, text: str, tokens: list[Token], init_ns: Mapping[str, Any]
) -> QuerySyntaxError:
    """Say what rdflib could not read."""
    found = diagnose(text)
    if found is not None:
        return found
    if isinstance(error, pyparsing.ParseBaseException):
        unread = unread_by_rdflib(text)
        if unread is not None:
            return unread
        column = _column(text.split("\n")[error.lineno - 1], error.column)
        place = Token("", "", error.lineno, column, 0)
        return syntax_error(f"rdflib's parser does not read this: {error.msg}", text, place)
    negative = _negative_decimal(tokens)
    if negative is not None:
        said = f"rdflib's parser takes no sign before {negative.text} in a triple; write it as a typed string"
        return syntax_error(said, text, negative)
    unknown, known = _unknown_prefix(tokens, init_ns)
    if unknown is not None:
        return unknown_prefix(text, unknown, known)
    return QuerySyntaxError(f"not a valid SPARQL query: {error}")


def _column(line: str, expanded: int) -> int:
    """Give the column in the line as written: the parser has expanded tabs to spaces."""
    reached = 0
    for column, character in enumerate(line, 1):
        reached += 8 - reached % 8 if character == "\t" else 1
        if reached >= expanded:
            return column
    return len(line) + 1


@dataclass(frozen=True, slots=True)
class _Hidden:
    """The pattern of an EXISTS in a solution modifier, hidden from rdflib's translation.

    rdflib 7.6 translates no property path there, takes an aggregate of a subquery inside for one of the
    query, and puts SAMPLE around the pattern's variables.
    """

    pattern: CompValue


def _mended(labels: dict[BNode, BNode], node: Any) -> Any:
    """Give what a node must be for rdflib to translate it as it is meant; None where it may stay.

    Blank nodes are called by their order in the text. rdflib labels nameless ones at random and orders
    patterns by labels; the plan of a query, which kept state relies on, must be the same in every process.
    """
    if isinstance(node, BNode):
        # with leading zeros, so that b000010 sorts behind b000009
        return labels.setdefault(node, BNode(f"b{len(labels):06}"))
    if isinstance(node, CompValue):
        if node.name == "GroupAs" and node.var is None:  # brackets, to rdflib 7.6 a nameless assignment
            return node.expr
        if node.name == "Filter":
            return _never(node)
        if node.name == "GroupOrUnionGraphPattern":
            _in_groups(node)
    return None


def _never(node: CompValue) -> Any:
    """Spell out a filter that is a false constant, which rdflib takes for no filter at all (rdflib 7.6)."""
    inner = node.expr
    while isinstance(inner, CompValue) and inner.name in _WRAPPERS and set(inner) == {"expr"}:
        inner = inner.expr
    empty = isinstance(inner, CompValue) and inner.name == "literal" and not inner.string
    if empty or (isinstance(inner, Literal) and not inner):
        return parse_query("ASK { FILTER(!true) }")[1].where.part[0]
    return None


def _in_groups(union: CompValue) -> None:
    """Nest the branches of a long UNION in groups, or rdflib's tree is as deep as the UNION is long."""
    branches = list(union.graph)
    while len(branches) > _LONG_UNION:
        chunks = (branches[at : at + _LONG_UNION] for at in range(0, len(branches), _LONG_UNION))
        unions = (CompValue("GroupOrUnionGraphPattern", graph=chunk) for chunk in chunks)
        branches = [CompValue("GroupGraphPatternSub", part=[union]) for union in unions]
    union["graph"] = branches


def _hide(tree: Any) -> None:
    """Hide the pattern of every EXISTS that is in a solution modifier."""

    def hide(node: Any) -> None:
        if isinstance(node, CompValue) and node.name in EXISTS and not isinstance(node.graph, _Hidden):
            # a subquery in it has modifiers of its own
            _hide(node.graph)
            node["graph"] = _Hidden(node.graph)

    def look(node: Any) -> None:
        if isinstance(node, CompValue):
            for key in _MODIFIERS:
                if key in node:
                    traverse(getattr(node, key), visitPre=hide)

    traverse(tree, visitPre=look)


def _show(prologue: Prologue) -> Callable[[Any], None]:
    """Make the visitor that translates the hidden patterns, outer ones first."""

    def show(node: Any) -> None:
        # asked before its parts are: the walk goes on into what is put here, and finds what is hidden inside
        if isinstance(node, CompValue) and node.name in EXISTS and isinstance(node.graph, _Hidden):
            pattern = traverse(node.graph.pattern, visitPost=partial(translatePName, prologue=prologue))
            pattern = traverse(
                pattern, visitPre=lambda part: simplify(part) if isinstance(part, Expr) else None
            )
            node["graph"] = translateGroupGraphPattern(traverse(pattern, visitPost=translatePath))

    return show


def _longest_chain(tokens: list[Token]) -> int:
    """Count the clauses that wrap what precedes them in their group; gives the number of the largest
    group.
    """
    longest, counts = 0, [0]
    for token in tokens:
        if token.kind == "word" and token.text.upper() in _WRAPPING:
            counts[-1] += 1
            longest = max(longest, counts[-1])
        elif token.text == "{":
            counts.append(0)
        elif token.text == "}" and len(counts) > 1:
            counts.pop()
    return longest


def _negative_decimal(tokens: list[Token]) -> Token | None:
    """Find a signed number that rdflib 7.6 cannot read, outside of expressions."""
    pairs = (b for a, b in pairwise(tokens) if a.text == "-" and b.offset == a.offset + 1)
    return next((b for b in pairs if b.kind == "number" and not b.text.isdecimal()), None)


def _unknown_prefix(tokens: list[Token], init_ns: Mapping[str, Any]) -> tuple[Token | None, set[str]]:
    """Find the first name whose prefix is not declared; gives those that are, too."""
    own = (prefix for prefix, _ in Prologue().namespace_manager.namespaces())  # those that rdflib knows
    declared = (
        after.text.rstrip(":") for before, after in pairwise(tokens) if before.text.upper() == "PREFIX"
    )
    known = {*own, *init_ns, *declared}
    names = (token for token in tokens if token.kind == "prefixed")
    return next((name for name in names if name.text.partition(":")[0] not in known), None), known
