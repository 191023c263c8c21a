"""What cannot be maintained, where it stands in the text, and what to use instead."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from rdflive.errors import UnsupportedQueryError
from rdflive.syntax.tokens import Token

__all__ = ["depth_limited", "misplaced_aggregate", "refused"]


@dataclass(frozen=True, slots=True)
class _Refusal:
    """How a refused construct is called, which words open it, why it is refused, and the way around."""

    name: str
    words: tuple[str, ...]
    reason: str
    advice: str


_BY_ITSELF: Final = "its value changes although the graph does not"
_AGGREGATES: Final = frozenset({"AVG", "COUNT", "GROUP_CONCAT", "MAX", "MIN", "SAMPLE", "SUM"})
# HAVING and ORDER allow aggregates; they are here because they end a GROUP BY
_CLAUSES: Final = frozenset({"SELECT", "WHERE", "FILTER", "BIND", "GROUP", "HAVING", "ORDER"})
_RANDOM: Final = "add it in the callback"
_REFUSALS: Final = {
    "ServiceGraphPattern": _Refusal(
        "SERVICE",
        ("SERVICE",),
        "changes of a remote endpoint are not seen",
        "bring the remote triples into the graph and subscribe without SERVICE",
    ),
    "DescribeQuery": _Refusal(
        "DESCRIBE",
        ("DESCRIBE",),
        "SPARQL leaves open which triples describe a resource",
        "say so with CONSTRUCT { ?s ?p ?o } WHERE { ... }",
    ),
    "NOW": _Refusal(
        "NOW()",
        ("NOW",),
        _BY_ITSELF,
        "pass the time as initBindings and subscribe again when it is to move on",
    ),
    "RAND": _Refusal("RAND()", ("RAND",), _BY_ITSELF, _RANDOM),
    "UUID": _Refusal("UUID()", ("UUID",), _BY_ITSELF, _RANDOM),
    "STRUUID": _Refusal("STRUUID()", ("STRUUID",), _BY_ITSELF, _RANDOM),
    "BNODE": _Refusal(
        "BNODE()",
        ("BNODE",),
        "each evaluation makes other blank nodes",
        "use a blank node in a CONSTRUCT template",
    ),
    "PresetExtend": _Refusal(
        "an assigned variable that initBindings fixes",
        ("AS",),
        "it cannot have two values",
        "leave it out of initBindings",
    ),
    "BoundExtend": _Refusal(
        "an assignment to a variable in use",
        ("AS",),
        "SPARQL forbids to assign what the pattern before it binds",
        "choose another name, or compare the two in a FILTER",
    ),
    "DistinctOrder": _Refusal(
        "ORDER BY",
        ("ORDER",),
        "with DISTINCT it sorts by a variable that is not projected, which has no single value per row",
        "project that variable, or group by the others and order by its MIN",
    ),
    "NestedAggregate": _Refusal(
        "an aggregate inside another",
        (),
        "SPARQL forbids it",
        "group in a subquery and aggregate its results",
    ),
    "StrayAggregate": _Refusal(
        "an aggregate here",
        (),
        "SPARQL allows one in SELECT, HAVING and ORDER BY only",
        "aggregate in a subquery, or filter groups with HAVING",
    ),
}


@contextmanager
def depth_limited() -> Iterator[None]:
    """Refuse a query for which Python has too little room for calls within calls."""
    try:
        yield
    except RecursionError:
        raise UnsupportedQueryError(
            "the query is too long or nested too deeply: rdflib's parser and the planner call themselves for "
            "each OPTIONAL, bracket and triple of a group, and Python allows "
            f"{sys.getrecursionlimit()} calls within calls. Instead: split it, or raise the limit with "
            "sys.setrecursionlimit() first.",
            construct="nesting",
        ) from None  # its traceback would have a thousand lines


def refused(construct: str, assigned: str = "", *, tokens: list[Token]) -> UnsupportedQueryError:
    """Make the error for a construct, by rdflib's name for it and the variable that it assigns."""
    refusal = _REFUSALS.get(construct)
    if refusal is None:
        refusal = _Refusal(construct, (), "rdflive does not know it", "run graph.query() after each change")
    opening = [
        token
        for token, after in pairwise([*tokens, None])
        if token is not None and token.kind == "word" and token.text.upper() in refusal.words
        if not assigned or (after is not None and after.text[1:] == assigned)
    ]
    place = opening[-1 if assigned else 0] if opening else None  # of two assignments the second is wrong
    return _error(refusal, place)


def misplaced_aggregate(tokens: list[Token]) -> UnsupportedQueryError | None:
    """Make the error for the first aggregate where SPARQL allows none; rdflib's parser reads it anywhere."""
    frames = [("", False)]  # per open bracket: the clause that it stands in, and whether in an aggregate
    before = ""
    for token, after in pairwise([*tokens, None]):
        word = token.text.upper() if token is not None and token.kind in ("word", "mark") else ""
        clause, inside = frames[-1]
        if token is not None and word in _AGGREGATES and after is not None and after.text == "(":
            if inside or clause in ("FILTER", "BIND", "GROUP"):
                return _error(_REFUSALS["NestedAggregate" if inside else "StrayAggregate"], token)
        elif word in ("{", "("):
            # a group begins anew: a subquery in `SUM(IF(EXISTS { ... }, 1, 0))` may aggregate by itself
            frames.append(("", False) if word == "{" else (clause, inside or before in _AGGREGATES))
        elif word in ("}", ")"):
            frames.pop()
        elif word in _CLAUSES:
            frames[-1] = (word, inside)
        before = word
    return None


def _error(refusal: _Refusal, place: Token | None) -> UnsupportedQueryError:
    where = f" (line {place.line}, column {place.column})" if place else ""
    return UnsupportedQueryError(
        f"{refusal.name}{where} cannot be maintained: {refusal.reason}. Instead: {refusal.advice}.",
        construct=refusal.name,
        line=place.line if place else 0,
        column=place.column if place else 0,
    )
