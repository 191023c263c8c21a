"""Keeps requests from reaching other hosts, and engines from more nesting than their stacks have room for.

Engines are given what is written of the tree that was checked, and never the client's text. So no engine can
read a clause there that was not seen here.
"""

from __future__ import annotations

from typing import Final

from rdflive.query.expressions import fault_of
from rdflive.server.failures import Problem
from rdflive.syntax.tree import Tree, place_of, too_deep, walk

__all__ = ["check", "placed"]

_REMOTE: Final = {"ServiceGraphPattern": "SERVICE", "Load": "LOAD"}


def check(tree: Tree, text: str) -> None:
    """Raise `Problem`: 403 for a request that would ask another host, 400 for one that is nested too deeply,
    and for functions that are not known and regular expressions that are none.

    >>> from rdflive.syntax.reader import read_query
    >>> text = "ASK { SERVICE <http://e/> { } }"
    >>> check(read_query(text), text)
    Traceback (most recent call last):
    ...
    rdflive.server.failures.Problem: SERVICE (line 1, column 7) would ask another host: not allowed
    """
    for node in walk(tree):
        if node.name in _REMOTE:
            raise placed(403, _REMOTE[node.name], text, node.begin, "would ask another host: not allowed")
        fault = fault_of(node)
        if fault is not None:  # an engine would take it for an error of each row, and say nothing
            raise placed(400, fault.construct, text, node.begin, fault.reason)
    begin = too_deep(tree)
    if begin is not None:
        raise placed(400, "what begins here", text, begin, "is nested too deeply: 300 parts in each other")


def placed(status: int, what: str, text: str, begin: int, reason: str) -> Problem:
    """Make the problem of a part of a text, by the offset where it begins."""
    line, column, *_ = place_of(text, begin)
    return Problem(status, f"{what} (line {line}, column {column}) {reason}", line=line, column=column)
