"""What a process does once before children are forked from it, so that none of them has to."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import rdflib
import re2  # noqa: F401 - subscriptions import it when they need it: see cli/serve.py

from rdflive.api.live import subscribe
from rdflive.query.budget import Budget
from rdflive.server.sparql.answering import answer
from rdflive.server.sparql.operations import ProtocolOperation

__all__ = ["warm_up"]

# functions import these when they need them
for package in ("elementpath", "pyoxigraph"):
    if find_spec(package):
        import_module(package)

_QUERY = "SELECT ?s { ?s ?p ?o FILTER(?o > 1) }"
_PATTERN = r'SELECT ?s { ?s ?p ?o FILTER(REGEX(?o, "\\p{Lu}", "i")) }'
"""A query with REGEX: it loads RE2, whose files a child cannot open, and sorts the characters of Unicode."""


def warm_up() -> None:
    """Answer and follow a query, which imports what these need and makes the reader of SPARQL.

    >>> warm_up()
    """
    dataset = rdflib.Dataset()
    answer(dataset, ProtocolOperation(_QUERY), "", _Nowhere())
    for query, entailment in ((_PATTERN, None), (_QUERY, "rdfs")):
        subscribe(dataset, query, initial=False, entailment=entailment, budget=Budget()).close()


class _Nowhere:
    def begin(self, content_type: str) -> None:
        pass

    def write(self, piece: bytes) -> int:
        return len(piece)
