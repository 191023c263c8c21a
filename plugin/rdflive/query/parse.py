"""SPARQL text to a basic graph pattern: rdflib parses, everything else is refused with its place."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final, Literal

import pyparsing
from rdflib.paths import Path
from rdflib.plugins.sparql.algebra import translateQuery
from rdflib.plugins.sparql.parser import parseQuery
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.term import BNode, Node
from rdflib.term import Variable as RdflibVariable

from rdflive.errors import QuerySyntaxError, UnsupportedQueryError
from rdflive.query.bgp import BGP, TriplePattern, Variable
from rdflive.tokens import Token, tokenize

__all__ = ["ParsedQuery", "parse_query"]


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query that can be maintained: its form, its pattern, and what it shows."""

    text: str
    form: Literal["SELECT", "ASK"]
    bgp: BGP
    names: tuple[str, ...]
    """The projected variables, in order; none for ASK."""
    distinct: bool
    preset: Mapping[str, Node]
    """The variables that `initBindings` fixed."""


@dataclass(frozen=True, slots=True)
class _Refusal:
    """How a refused construct is called, and which words open it."""

    name: str
    words: tuple[str, ...]
    advice: str = "run graph.query() for it after each change"


_AGGREGATES: Final = ("COUNT", "SUM", "MIN", "MAX", "AVG", "SAMPLE", "GROUP_CONCAT")
_REFUSALS: Final = {
    "Filter": _Refusal("FILTER", ("FILTER", "HAVING"), "subscribe to the pattern and filter in the callback"),
    "LeftJoin": _Refusal("OPTIONAL", ("OPTIONAL",)),
    "Union": _Refusal("UNION", ("UNION",), "subscribe to each branch"),
    "Minus": _Refusal("MINUS", ("MINUS",)),
    "Graph": _Refusal("GRAPH", ("GRAPH",), "subscribe to that graph: dataset.graph(name)"),
    "ServiceGraphPattern": _Refusal("SERVICE", ("SERVICE",)),
    "Extend": _Refusal("an expression (BIND or AS)", ("BIND", "AS"), "compute it in the callback"),
    "AggregateJoin": _Refusal("an aggregate", ("GROUP", *_AGGREGATES), "aggregate in the callback"),
    "OrderBy": _Refusal("ORDER BY", ("ORDER",), "sort sub.answers()"),
    "Slice": _Refusal("LIMIT or OFFSET", ("LIMIT", "OFFSET"), "slice sub.answers()"),
    "ToMultiSet": _Refusal("VALUES or a subquery", ("VALUES", "SELECT"), "pass initBindings"),
    "ConstructQuery": _Refusal("CONSTRUCT", ("CONSTRUCT",), "subscribe with SELECT"),
    "DescribeQuery": _Refusal("DESCRIBE", ("DESCRIBE",), "subscribe with SELECT"),
}
_ACCEPTED: Final = "accepted: SELECT [DISTINCT] or ASK over triple patterns"


def parse_query(
    text: str,
    *,
    init_ns: Mapping[str, Any] | None = None,
    init_bindings: Mapping[str, Node] | None = None,
) -> ParsedQuery:
    """Parse SPARQL into a query over one basic graph pattern.

    Raises `QuerySyntaxError` where the text is not SPARQL and `UnsupportedQueryError` at the first
    clause that cannot be maintained, both with line and column.

    >>> parse_query("SELECT ?s { ?s a ?type }").names
    ('s',)
    """
    if not isinstance(text, str):
        raise QuerySyntaxError(f"expected the text of a SPARQL query, got {type(text).__name__}: {text!r}")
    tokens = list(tokenize(text))
    algebra = _translate(text, init_ns or {}, tokens)
    if algebra.name not in ("SelectQuery", "AskQuery"):
        raise _refuse(algebra.name, tokens)
    if algebra.datasetClause:
        raise _refused(_Refusal("FROM", ("FROM",), "subscribe to that graph: dataset.graph(name)"), tokens)
    preset = {_bare(name): term for name, term in (init_bindings or {}).items()}
    distinct, patterns = _peel(algebra.p, tokens)
    names = _projected(algebra.PV, tokens) if algebra.name == "SelectQuery" else ()
    form: Literal["SELECT", "ASK"] = "SELECT" if algebra.name == "SelectQuery" else "ASK"
    return ParsedQuery(text, form, BGP(_patterns(patterns, preset, tokens)), names, distinct, preset)


def _translate(text: str, init_ns: Mapping[str, Any], tokens: list[Token]) -> CompValue:
    try:
        algebra: CompValue = translateQuery(parseQuery(text), initNs=init_ns).algebra
    except pyparsing.ParseBaseException as error:
        raise QuerySyntaxError(
            f"not SPARQL at line {error.lineno}, column {error.column}: {error.msg}; "
            f"near {error.line.strip()!r}",
            line=error.lineno,
            column=error.column,
        ) from error
    except RecursionError as error:
        raise QuerySyntaxError("the query is nested too deeply for rdflib's parser") from error
    except Exception as error:  # rdflib reports unknown prefixes and scope errors as plain Exception
        place = _unknown_prefix(tokens, init_ns)
        where = f" (line {place.line}, column {place.column})" if place else ""
        raise QuerySyntaxError(
            f"not a valid SPARQL query: {error}{where}",
            line=place.line if place else 0,
            column=place.column if place else 0,
        ) from error
    return algebra


def _peel(node: CompValue, tokens: list[Token]) -> tuple[bool, list[CompValue]]:
    """Take off DISTINCT, REDUCED (which permits every duplicate) and the projection."""
    distinct = False
    while node.name in ("Distinct", "Reduced", "Project"):
        distinct = distinct or node.name == "Distinct"
        node = node.p
    return distinct, list(_basic(node, tokens))


def _basic(node: CompValue, tokens: list[Token]) -> Iterator[CompValue]:
    """Give the basic graph patterns that a group joins; refuse anything else."""
    if node.name == "BGP":
        yield node
    elif node.name == "Join":
        yield from _basic(node.p1, tokens)
        yield from _basic(node.p2, tokens)
    else:
        raise _refuse("AggregateJoin" if _aggregates(node) else node.name, tokens)


def _aggregates(node: Any) -> bool:
    """True when an expression stands for an aggregate: rdflib wraps grouping in assignments."""
    while node is not None and node.name in ("Extend", "Filter"):
        node = node.p
    return node is not None and node.name == "AggregateJoin"


def _patterns(
    groups: list[CompValue], preset: Mapping[str, Node], tokens: list[Token]
) -> Iterator[TriplePattern]:
    blanks: dict[BNode, Variable] = {}

    def term(node: Node) -> Any:
        if isinstance(node, RdflibVariable):
            return preset.get(str(node), Variable(str(node)))
        if isinstance(node, BNode):
            return blanks.setdefault(node, Variable(f"b{len(blanks)}", distinguished=False))
        if isinstance(node, Path):
            raise _refused(_Refusal("a property path", ()), tokens, _path_operator(tokens))
        return node

    for group in groups:
        for triple in group.triples:
            yield TriplePattern(*map(term, triple))


def _projected(variables: list[RdflibVariable], tokens: list[Token]) -> tuple[str, ...]:
    """Order the variables as the text does (rdflib gives those of `SELECT *` as a set)."""
    place = {token.text[1:]: -i for i, token in enumerate(reversed(tokens)) if token.kind == "variable"}
    return tuple(sorted(dict.fromkeys(map(str, variables)), key=lambda name: place.get(name, 1)))


def _bare(name: object) -> str:
    return str(name).lstrip("?$")


def _refuse(node: str, tokens: list[Token]) -> UnsupportedQueryError:
    return _refused(_REFUSALS.get(node, _Refusal(node, ())), tokens)


def _refused(refusal: _Refusal, tokens: list[Token], place: Token | None = None) -> UnsupportedQueryError:
    if place is None:
        opening = [t for t in tokens if t.kind == "word" and t.text.upper() in refusal.words]
        nested = "SELECT" in refusal.words and opening and opening[0].text.upper() == "SELECT"
        place = opening[1 if nested and len(opening) > 1 else 0] if opening else None
    where = f" (line {place.line}, column {place.column})" if place else ""
    return UnsupportedQueryError(
        f"{refusal.name}{where} cannot be maintained; {_ACCEPTED}. Instead: {refusal.advice}.",
        construct=refusal.name,
        line=place.line if place else 0,
        column=place.column if place else 0,
    )


def _unknown_prefix(tokens: list[Token], init_ns: Mapping[str, Any]) -> Token | None:
    """Find the first prefixed name whose prefix nobody declared."""
    declared = {*init_ns, *(b.text.rstrip(":") for a, b in pairwise(tokens) if a.text.upper() == "PREFIX")}
    return next((t for t in tokens if t.kind == "prefixed" and t.text.split(":")[0] not in declared), None)


def _path_operator(tokens: list[Token]) -> Token | None:
    """Find the first operator that makes a predicate a path."""
    for before, token, after in zip([None, *tokens], tokens, [*tokens[1:], None], strict=False):
        if token.kind != "mark" or before is None:
            continue
        ends = before.kind in ("iri", "prefixed") or before.text in ("a", ")")
        begins = after is not None and (after.kind in ("iri", "prefixed") or after.text in ("a", "(", "^"))
        if (token.text in "/|*+?" and ends) or (token.text in "^!" and begins):
            return token
    return None
