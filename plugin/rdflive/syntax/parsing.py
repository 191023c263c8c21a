"""rdflib's parser of SPARQL, for one thread at a time."""

from __future__ import annotations

import os
import threading
from typing import Any, Final

from rdflib.plugins.sparql import parser

__all__ = ["parse_query", "parse_update"]

_turn: Final = threading.RLock()
"""Held while a text is parsed: pyparsing finds out at the first call of each function of the grammar how many
arguments that takes, and two threads at once leave it with a wrong number for good."""
# no child of this process begins with a grammar that a thread was at, or without its turn
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_turn.acquire, after_in_parent=_turn.release, after_in_child=_turn.release)


def parse_query(text: str) -> Any:
    """Parse a query; raises `pyparsing.ParseBaseException` and what else the grammar does.

    >>> parse_query("ASK { }")[1].name
    'AskQuery'
    """
    with _turn:
        return parser.parseQuery(text)


def parse_update(text: str) -> Any:
    """Parse an update; raises `pyparsing.ParseBaseException` and what else the grammar does.

    >>> len(parse_update("CLEAR ALL ; CLEAR DEFAULT").request)
    2
    """
    with _turn:
        return parser.parseUpdate(text)
