"""What makes two queries one: their text without spaces and comments, and what it leaves to be bound."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from rdflive.query.parse import ParsedQuery
from rdflive.syntax.tokens import tokenize

__all__ = ["query_identity"]


def query_identity(query: ParsedQuery, namespaces: Mapping[str, Any]) -> str:
    """Write a query such that texts differ where queries do; spaces and comments make no difference.

    Of `namespaces` only what the text uses and does not declare counts, so that new prefixes of a graph
    change nothing; of `initBindings` everything.

    >>> from rdflive.query.parse import parse_query
    >>> query_identity(parse_query("ASK { ?s a  ?o } # any"), {"e": "urn:e"})
    'ASK { ?s a ?o }'
    """
    tokens = tuple(tokenize(query.text))
    declared = {name.text for word, name in pairwise(tokens) if word.text.upper() == "PREFIX"}
    used = {token.text.partition(":")[0] for token in tokens if token.kind == "prefixed"}
    parts = [token.text for token in tokens]
    bound = [prefix for prefix in sorted(used & namespaces.keys()) if f"{prefix}:" not in declared]
    parts += [f"PREFIX {prefix}: <{namespaces[prefix]}>" for prefix in bound]
    parts += [f"?{name} = {term.n3()}" for name, term in sorted(query.preset.items())]
    return " ".join(parts).encode("utf-8", "backslashreplace").decode()  # SQLite takes no lone surrogates
