"""Recognises queries that certainly open quickly: one triple pattern that few triples match."""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

import rdflib
from rdflib.term import BNode, Identifier, Variable

from rdflive.errors import QuerySyntaxError
from rdflive.plugins import manager
from rdflive.syntax.prefixes import bound_prefixes
from rdflive.syntax.reader import read_query
from rdflive.syntax.tree import Tree

__all__ = ["opens_quickly"]

_FEW: Final = 1000
"""How many triples are surely matched at once."""
_PLAIN: Final = frozenset({"modifier", "projection", "where"})
"""The parts of a query that take no time."""


def opens_quickly(dataset: rdflib.Dataset, query: str, most: int = _FEW) -> bool:
    """Tell whether a query is one triple pattern that few triples match, and no more than `most`.

    It waits for the store's lock, and says no where it is not sure.

    >>> opens_quickly(rdflib.Dataset(), "SELECT * { ?train <urn:delay> ?minutes }")
    True
    >>> opens_quickly(rdflib.Dataset(), "SELECT * { ?train <urn:delay> ?minutes FILTER(?minutes > 5) }")
    False
    """
    try:
        pattern = _only_pattern(read_query(query, bound_prefixes(dataset)).query)
    except QuerySyntaxError:
        return False
    if pattern is None:
        return False
    terms: Any = [None if isinstance(term, Variable | BNode) else term for term in pattern]
    with manager.locked(manager.store_of(dataset)):
        few = min(_FEW, most)
        # in all graphs, of which those of the query are some; counting stops at one too many
        return sum(1 for _ in islice(dataset.quads((*terms, None)), few + 1)) <= few


def _only_pattern(query: Tree) -> Any:
    """Give the triple pattern of a query that is nothing but one; None for any other query."""
    if query.name not in ("SelectQuery", "AskQuery") or not query.fields.keys() <= _PLAIN:
        return None
    if any(part.evar for part in query.projection or ()):
        return None
    triples = [triple for part in query.where.part or () for triple in part.triples or (None,)]
    is_plain = len(triples) == 1 and all(isinstance(term, Identifier) for term in triples[0] or (None,))
    return triples[0] if is_plain else None
