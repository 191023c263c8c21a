"""SPARQL updates that could each stand alone as parts of one request, in which none sees another.

Oxigraph takes a prologue at the beginning of a request only, shares it among all operations, and refuses
a blank node that occurs in two DATA blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final

from pyoxigraph import NamedNode, Store

from rdflive.store import WriteRefusedError
from rdflive.syntax.tokens import Token, tokenize
from rdflive_stores.oxigraph_names import Names, is_doubtful

__all__ = ["join_updates"]

_STOP: Final = NamedNode("urn:x-rdflive:stop")
_FAIL: Final = f"CREATE GRAPH {_STOP} ; "
"""Fails where the graph exists, after the whole request has been parsed."""
_NEXT: Final = "CLEAR DEFAULT"
_PROLOGUE: Final = {"BASE": 1, "VERSION": 1, "PREFIX": 2}
"""How many tokens follow the keywords of a prologue."""


def join_updates(updates: Sequence[str], options: Mapping[str, Any]) -> tuple[str, str]:
    """Check updates and join them; give the prologue, and operations that another may follow directly.

    `options` are those of `Store.update`. Raises what the store raises for an update that it does not
    understand.

    >>> join_updates(["CLEAR DEFAULT # all"], {})
    ('', 'CLEAR DEFAULT # all\\n;\\n')
    """
    parts = [_checked(update, options) for update in updates]
    if len(parts) == 1:
        return parts[0]
    return "", "".join(
        _independent(prologue, body, number, options) for number, (prologue, body) in enumerate(parts)
    )


def _checked(update: str, options: Mapping[str, Any]) -> tuple[str, str]:
    """Split a request into its prologue and its operations, and add what must stand before another one.

    That is a semicolon, unless the request ends in one. What an unfinished string or block would swallow
    cannot make it complete.
    """
    start = _start(update)
    prologue, body = update[:start], update[start:]
    if body:
        # behind a line feed, because a comment at the end would swallow the semicolon
        for end in ("\n;\n", "\n"):
            try:
                _stopped().update(prologue + _FAIL + body + end + _NEXT, **options)
            except RuntimeError:  # all of it was parsed, and its first operation failed
                return prologue, body + end
            except SyntaxError:
                continue
    Store().update(update, **options)  # raises the error with its place in the text
    return "", ""


def _start(update: str) -> int:
    """Find where the prologue ends."""
    tokens = tokenize(update)
    for token in tokens:
        following = _PROLOGUE.get(token.text.upper()) if token.kind == "word" else None
        if following is None:
            return token.offset
        for _ in range(following):
            next(tokens, None)
    return len(update)


@cache
def _stopped() -> Store:
    """Give an empty store in which `_FAIL` fails."""
    store = Store()
    store.add_graph(_STOP)
    return store


def _independent(prologue: str, body: str, number: int, options: Mapping[str, Any]) -> str:
    """Spell the operations of a request without its prologue, and with labels of blank nodes of its own."""
    names = Names(options.get("base_iri"), options.get("prefixes"))
    names.read_prologue(tokenize(prologue))
    tokens = list(tokenize(body))
    if is_doubtful(tokens):
        raise WriteRefusedError(
            f"one of several updates has a comparison that could be an IRI: put blanks around < in {body!r}"
        )
    return "".join(_respelled(body, tokens, names, number))


def _respelled(body: str, tokens: list[Token], names: Names, number: int) -> Iterator[str]:
    at = 0
    for token in tokens:
        text = None
        if token.kind == "blank":
            text = f"_:u{number}.{token.text.removeprefix('_:')}"
        elif token.kind in ("prefixed", "iri") and (iri := names.iri(token)) is not None:
            text = str(iri)
        if text is not None:
            yield body[at : token.offset] + text
            at = token.offset + len(token.text)
    yield body[at:]
