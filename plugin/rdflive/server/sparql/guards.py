"""Checks against requests that access other hosts or exceed the stacks of engines by nesting.

Engines receive a text that is generated from the checked tree, never the client's text, so they cannot see an
unchecked clause.
"""

from __future__ import annotations

from typing import Final

from rdflive.query.expressions import fault_of
from rdflive.server.failures import Problem
from rdflive.syntax.tree import Tree, place_of, too_deep, walk

__all__ = ["check", "placed"]

_REMOTE: Final = {"ServiceGraphPattern": "SERVICE", "Load": "LOAD"}


def check(tree: Tree, text: str) -> None:
    """Raise `Problem` 403 for access to another host, and 400 for deep nesting, unknown functions and invalid
    regular expressions.

    >>> from rdflive.syntax.reader import read_query
    >>> text = "ASK { SERVICE <http://e/> { } }"
    >>> check(read_query(text), text)
    Traceback (most recent call last):
    ...
    rdflive.server.failures.Problem: SERVICE (line 1, column 7) would access another host: not allowed
    """
    for node in walk(tree):
        if node.name in _REMOTE:
            raise placed(403, _REMOTE[node.name], text, node.begin, "would access another host: not allowed")
        fault = fault_of(node)
        if fault is not None:  # engines would treat it as an error of each row, silently
            raise placed(400, fault.construct, text, node.begin, fault.reason)
    begin = too_deep(tree)
    if begin is not None:
        raise placed(400, "what begins here", text, begin, "is nested too deeply: 300 parts in each other")


def placed(status: int, what: str, text: str, begin: int, reason: str) -> Problem:
    """Return the problem of a part of a text, by its offset."""
    line, column, *_ = place_of(text, begin)
    return Problem(status, f"{what} (line {line}, column {column}) {reason}", line=line, column=column)
