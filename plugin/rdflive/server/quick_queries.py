"""Recognises queries that certainly open quickly: one triple pattern that few triples match."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

import rdflib

from rdflive.errors import RdfliveError
from rdflive.plugins import manager
from rdflive.query.bgp import Variable
from rdflive.query.parse import parse_query
from rdflive.query.plan import make_plan
from rdflive.syntax.tokens import Token, tokenize

__all__ = ["opens_quickly"]

_FEW: Final = 1000
"""How many triples are surely matched at once."""
_SHORT: Final = 1000
"""Up to this many characters are surely parsed at once, if these are their tokens."""
_WORDS: Final = frozenset({"BASE", "PREFIX", "SELECT", "ASK", "DISTINCT", "WHERE", "A", "TRUE", "FALSE"})
_MARKS: Final = frozenset({"{", "}", ".", "*", "^^"})


def opens_quickly(dataset: rdflib.Dataset, query: str, most: int = _FEW) -> bool:
    """Tell whether a query is one triple pattern that few triples match, and no more than `most`.

    It waits for the store's lock, and says no where it is not sure.

    >>> opens_quickly(rdflib.Dataset(), "SELECT * { ?train <urn:delay> ?minutes }")
    True
    >>> opens_quickly(rdflib.Dataset(), "SELECT * { ?train <urn:delay> ?minutes FILTER(?minutes > 5) }")
    False
    """
    if len(query) > _SHORT or "\\" in query or not _is_plain(list(tokenize(query))):
        return False  # escapes are read before anything else: there may be more in a comment than it seems
    try:
        plan = make_plan(parse_query(query, init_ns=dict(dataset.namespaces())))
    except RdfliveError:
        return False
    segments = [segment for basic in plan.basics for segment in basic.segments]
    patterns = [pattern for segment in segments for pattern in segment.patterns]
    if len(patterns) != 1:
        return False
    terms: Any = [None if isinstance(term, Variable) else term for term in patterns[0]]
    with manager.locked(manager.store_of(dataset)):
        few = min(_FEW, most)
        # in all graphs, of which those of the query are some; counting stops at one too many
        return sum(1 for _ in islice(dataset.quads((*terms, None)), few + 1)) <= few


def _is_plain(tokens: Sequence[Token]) -> bool:
    """Tell whether there is one group and nothing in it but terms."""
    marks = Counter(token.text for token in tokens if token.kind == "mark")
    words = {token.text.upper() for token in tokens if token.kind == "word"}
    return words <= _WORDS and marks.keys() <= _MARKS and marks["{"] == 1
