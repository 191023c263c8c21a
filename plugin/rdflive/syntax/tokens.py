"""SPARQL tokens with their places: enough to point at a clause, not a parser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

__all__ = ["Token", "looks_continuous", "terminals_of", "tokenize"]


class Token(NamedTuple):
    """A token, what kind it is, and where it starts (`line` and `column` from 1, `offset` from 0)."""

    kind: str
    text: str
    line: int
    column: int
    offset: int


# a name may have dots inside, and none at its end: in `?s ex:p ex:o.` the dot ends the triple
_NAME: Final = r"[^\W_](?:[\w\-.·]*[\w\-·])?"
_LOCAL: Final = (
    r"(?:[\w:·]|%[0-9A-Fa-f]{2}|\\.)"
    r"(?:(?:[\w\-:.·]|%[0-9A-Fa-f]{2}|\\.)*(?:[\w\-:·]|%[0-9A-Fa-f]{2}|\\.))?"
)

# The first kind that fits is taken. So prefixed names come before words, or `ex:a` would be two tokens; and
# an IRI has no blanks, or `?a < ?b && ?c > ?d` would hold one. The last `.` takes any character: what is no
# SPARQL has tokens too, and it is rdflib's parser that refuses it.
_TOKEN: Final = re.compile(
    rf"""
      (?P<space>\s+|\#[^\n\r]*)
    | (?P<iri><[^<>"{{}}|^`\\\x00-\x20]*(?:\\[uU][^<>"{{}}|^`\\\x00-\x20]*)*>)
    | (?P<string>\"\"\"(?:\"{{0,2}}(?:[^"\\]|\\.))*\"\"\"|'''(?:'{{0,2}}(?:[^'\\]|\\.))*'''
                |"(?:[^"\\\n\r]|\\.)*"|'(?:[^'\\\n\r]|\\.)*')
    | (?P<variable>[?$]\w+)
    | (?P<blank>_:[\w](?:[\w\-.·]*[\w\-·])?)
    | (?P<prefixed>(?:{_NAME})?:(?:{_LOCAL})?)
    | (?P<language>@[A-Za-z]+(?:-[A-Za-z0-9-]+)*)
    | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<word>[^\W\d]\w*)
    | (?P<mark>\^\^|<(?=<[^<>"{{}}|^`\\\x00-\x20]*>)|<<\(?|\)?>>|&&|\|\||[<>!]=|\{{\||\|\}}|.)
    """,
    re.VERBOSE | re.DOTALL,
)


def tokenize(text: str, begin: int = 0) -> Iterator[Token]:
    """Split SPARQL text into tokens, without white space and comments.

    From the offset `begin` on, where line 1 and column 1 are then.

    >>> [token.text for token in tokenize("ASK { ?s a <http://e/C> } # all")]
    ['ASK', '{', '?s', 'a', '<http://e/C>', '}']
    """
    line, start = 1, begin
    for match in _TOKEN.finditer(text, begin):
        kind, found = str(match.lastgroup), match.group()
        if kind != "space":
            yield Token(kind, found, line, match.start() - start + 1, match.start())
        # white space has line breaks, and so may strings in triple quotes
        breaks = found.count("\n")
        if breaks:
            line += breaks
            start = match.start() + found.rindex("\n") + 1


def terminals_of(text: str) -> Iterator[tuple[str, str]]:
    """Split SPARQL text into all its terminals, each with its kind; white space and comments are "space"."""
    return ((str(match.lastgroup), match.group()) for match in _TOKEN.finditer(text))


def looks_continuous(text: str) -> bool:
    """Tell whether a text has a clause that only a language of continuous queries has.

    >>> looks_continuous("ASK FROM STREAM <u:s> [RANGE 1s] {}"), looks_continuous("ASK { ?s ?p 'WINDOW' }")
    (True, False)
    """
    words = [token.text.upper() if token.kind == "word" else "" for token in tokenize(text)]
    follows = zip(words, [*words[1:], ""], [*words[2:], "", ""], strict=False)
    return any(
        first in ("REGISTER", "WINDOW") or (first == "FROM" and "STREAM" in (second, third))
        for first, second, third in follows
    )
