"""What makes two queries one: their text without spaces and comments, and what it leaves to be bound."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from rdflib.term import Node

from rdflive.syntax.tokens import Token, tokenize

__all__ = ["query_identity"]


def query_identity(query: str, bindings: Mapping[str, Node], namespaces: Mapping[str, Any]) -> str:
    """Write a query such that texts differ where queries do; spaces and comments make no difference.

    Of `namespaces` only what the text uses and does not declare counts, so that new prefixes of a graph
    change nothing; of `bindings`, those of `initBindings`, everything.

    >>> query_identity("ASK { ?s a  ?o } # any", {}, {"e": "urn:e"})
    'ASK { ?s a ?o }'
    >>> query_identity("ASK { [] ?p ?n FILTER(?n -1 > 0) }", {}, {})
    'ASK { [ ] ?p ?n FILTER ( ?n - 1 > 0 ) }'
    """
    given = {name.lstrip("?$"): term for name, term in bindings.items()}
    tokens = tuple(tokenize(query))
    declared = {name.text for word, name in pairwise(tokens) if word.text.upper() == "PREFIX"}
    used = {token.text.partition(":")[0] for token in tokens if token.kind == "prefixed"}
    parts = [part for token in tokens for part in _parts(token)]
    bound = [prefix for prefix in sorted(used & namespaces.keys()) if f"{prefix}:" not in declared]
    parts += [f"PREFIX {prefix}: <{namespaces[prefix]}>" for prefix in bound]
    parts += [f"?{name} = {term.n3()}" for name, term in sorted(given.items())]
    return " ".join(parts).encode("utf-8", "backslashreplace").decode()  # SQLite takes no lone surrogates


def _parts(token: Token) -> tuple[str, ...]:
    """Split `[]`, `()` and numbers with a sign in two: a text may have a space or a comment between these."""
    if token.kind in ("nil", "anonymous", "signed"):
        return token.text[0], token.text[1:] if token.kind == "signed" else token.text[-1]
    return (token.text,)
