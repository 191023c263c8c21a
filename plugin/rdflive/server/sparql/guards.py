"""Keeps requests from reaching other hosts, and engines from more nesting than their stacks have room for.

Engines are given what is written of the tree that was checked, and never the client's text. So no engine can
read a clause there that was not seen here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from rdflib.paths import Path

from rdflive.model import TripleTerm
from rdflive.server.failures import Problem
from rdflive.syntax.tree import Tree, place_of

__all__ = ["check", "placed"]

_REMOTE: Final = {"ServiceGraphPattern": "SERVICE", "Load": "LOAD"}
_DEEPEST: Final = 300
"""How deep nodes may be nested: Oxigraph's parser ends the process where its stack is full."""
_ROWS: Final = (tuple, list)


def check(tree: Tree, text: str) -> None:
    """Raise `Problem` 403 for a request that would ask another host, 400 for one that is nested too deeply.

    >>> from rdflive.syntax.reader import read_query
    >>> text = "ASK { SERVICE <http://e/> { } }"
    >>> check(read_query(text), text)
    Traceback (most recent call last):
    ...
    rdflive.server.failures.Problem: SERVICE (line 1, column 7) would ask another host: not allowed
    """
    waiting: list[tuple[Any, int, int]] = [(tree, 0, 0)]
    while waiting:
        part, depth, begin = waiting.pop()
        if isinstance(part, Tree):
            begin = part.begin
            if part.name in _REMOTE:
                raise placed(403, _REMOTE[part.name], text, begin, "would ask another host: not allowed")
        if depth > _DEEPEST:
            raise placed(400, "what begins here", text, begin, f"is nested more than {_DEEPEST} deep")
        inside, inner = _inside(part), depth + (type(part) not in _ROWS)
        waiting.extend((each, inner, begin) for each in reversed(inside))


def placed(status: int, what: str, text: str, begin: int, reason: str) -> Problem:
    """Make the problem of a part of a text, by the offset where it begins."""
    line, column, *_ = place_of(text, begin)
    return Problem(status, f"{what} (line {line}, column {column}) {reason}", line=line, column=column)


def _inside(part: Any) -> Sequence[Any]:
    """List what a part is made of."""
    if isinstance(part, Tree):
        return list(part.fields.values())
    if isinstance(part, Path):
        return list(vars(part).values())
    if isinstance(part, TripleTerm):
        return part.parts
    return part if type(part) in _ROWS else ()
