"""The functions of the C-SPARQL engine, which SPARQL would take for ones that always fail."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from rdflive.syntax.tokens import Token
from rdflive.time.languages.cursor import Cursor
from rdflive.time.languages.names import NAMES, Names

__all__ = ["check_functions"]

_NAMESPACE: Final = "http://larkc.eu/csparql/sparql/jena/ext#"


def check_functions(cursor: Cursor, names: Names) -> None:
    """Raise `UnsupportedQueryError` at the first call of such a function, as `f:timestamp(?s, ?p, ?o)`."""
    for token, after in pairwise(cursor.tokens):
        if token.kind in NAMES and after.text == "(" and _spelled(token, names).startswith(_NAMESPACE):
            raise cursor.refused(
                token,
                f"the function {token.text}",
                "a window holds triples without the instants at which they came",
                "add the instant as a triple of its own, and compare that",
            )


def _spelled(token: Token, names: Names) -> str:
    """Write out a name, as far as the text declares its prefix."""
    if token.kind == "iri":
        return token.text[1:-1]
    prefix, _, local = token.text.partition(":")
    return f"{names.declared.get(prefix, '')}{local}"
