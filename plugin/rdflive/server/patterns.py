"""Regular expressions that could hold up the server: nothing ends Python's matching once it has begun."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from rdflib.plugins.sparql.algebra import traverse
from rdflib.plugins.sparql.parserutils import CompValue
from rdflib.term import Literal

from rdflive.query.expressions.functions import to_python
from rdflive.query.expressions.nodes import EXISTS
from rdflive.query.rdflib_algebra import algebra_of
from rdflive.server.failures import Problem
from rdflive.tokens import tokenize

__all__ = ["refuse_slow_patterns", "slow_part"]

_FUNCTIONS: Final = ("Builtin_REGEX", "Builtin_REPLACE")
_CHOICES: Final = 10
_WAYS: Final = 2**_CHOICES
"""Ways to read a pattern, a part that may be left out or repeated counting as two."""
_COUNT: Final = 1000
"""The highest number in `{}`: a group that matches nothing is repeated so many times."""
_TOKENS: Final = re.compile(
    r"(?P<reference>\\[1-9])"
    r"|(?P<extension>\(\?(?!:))"
    r"|(?P<open>\((?:\?:)?)"
    r"|(?P<close>\))"
    r"|(?P<bar>\|)"
    r"|(?P<quantifier>(?:[*+?]|\{(?!\})[0-9]*,?[0-9]*\})[?+]?)"
    r"|(?P<atom>\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.)",
    re.DOTALL,
)
_ACCEPTED: Final = (
    "a subscription may have a constant pattern whose repeated groups hold no quantifier and no alternative, "
    f"without \\1 and (?, with at most {_CHOICES} quantifiers or as many choices between alternatives, "
    f"and no number above {_COUNT:,} in {{}}"
)


def refuse_slow_patterns(query: str, namespaces: Mapping[str, Any]) -> None:
    """Raise `Problem` 403 where a pattern of REGEX or REPLACE is no constant, or can take exponential time.

    Raises `QuerySyntaxError` for what is not SPARQL.

    >>> refuse_slow_patterns("ASK { ?s ?p ?o FILTER(regex(?o, '^IC[0-9]+$')) }", {})
    >>> try:
    ...     refuse_slow_patterns("ASK { ?s ?p ?o FILTER(regex(?o, '(a+)+$')) }", {})
    ... except Problem as problem:
    ...     problem.status
    403
    """
    traverse(algebra_of(query, namespaces, list(tokenize(query))).algebra, visitPre=_visit)


def _visit(node: Any) -> None:
    if isinstance(node, CompValue):
        if node.name in EXISTS:
            traverse(node.graph, visitPre=_visit)  # an attribute, which is no part of the node (rdflib 7.6)
        elif node.name in _FUNCTIONS:
            _check(node)


def _check(node: CompValue) -> None:
    name, flags = node.name.removeprefix("Builtin_"), Literal("") if node.flags is None else node.flags
    if not isinstance(node.pattern, Literal) or not isinstance(flags, Literal):
        raise Problem(403, f"{name} with a pattern or flags that are no constants: {_ACCEPTED}")
    slow = slow_part(to_python(str(node.pattern), str(flags)))
    if slow is not None:
        raise Problem(
            403,
            f"{name} with the pattern {str(node.pattern)!r} could hold up the server: "
            f"it has {slow}; {_ACCEPTED}",
        )


@dataclass(slots=True)
class _Group:
    """A group as far as it has been read; the ways to read it are those of all its alternatives."""

    others: int = 0
    """The ways to read the alternatives before."""
    ways: int = 1
    """The ways to read this alternative but for its last part."""
    last: int = 1
    """The ways to read the last part."""
    last_varies: bool = False
    """Whether the last part is a group that varies."""
    varies: bool = False
    """Whether a quantifier or an alternative stands in it."""

    def total(self) -> int:
        return min(self.others + self.ways * self.last, _WAYS + 1)

    def put(self, last: int, varies: bool) -> None:
        self.ways = min(self.ways * self.last, _WAYS + 1)
        self.last, self.last_varies = last, varies
        self.varies |= varies

    def branch(self) -> None:
        self.others, self.ways = self.total(), 1
        self.last, self.last_varies, self.varies = 1, False, True


def slow_part(pattern: str) -> str | None:
    """Name what in a pattern, as Python writes it, can take exponential time; None where nothing can.

    What remains takes time polynomial in the length of the text. A pattern that Python does not compile may
    have any answer.

    >>> slow_part("delay(ed)?"), slow_part("(a|aa)+")
    (None, 'a repeated group that holds a quantifier or an alternative')
    """
    groups = [_Group()]
    for token in _TOKENS.finditer(pattern):
        match token.lastgroup:
            case "reference":
                return "a back-reference"
            case "extension":
                return "an extension of Python's"
            case "open":
                groups.append(_Group())
            case "close" if len(groups) > 1:
                group = groups.pop()
                groups[-1].put(group.total(), group.varies)
            case "bar":
                groups[-1].branch()
            case "quantifier":
                slow = _repeat(groups[-1], token[0])
                if slow is not None:
                    return slow
            case _:
                groups[-1].put(1, varies=False)
    return "too many parts that vary" if groups[0].total() > _WAYS else None


def _repeat(group: _Group, quantifier: str) -> str | None:
    """Put a quantifier behind the last part of a group, or name what is wrong with it there."""
    numbers = re.findall("[0-9]+", quantifier)
    if any(len(number) > len(str(_COUNT)) or int(number) > _COUNT for number in numbers):
        return "too high a number"
    if quantifier[0] != "?" and group.last_varies:
        return "a repeated group that holds a quantifier or an alternative"
    is_exact = quantifier[0] == "{" and "," not in quantifier
    group.last += not is_exact
    group.varies = True
    return None
