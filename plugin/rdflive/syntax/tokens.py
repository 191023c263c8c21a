"""A tokenizer of SPARQL with positions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

__all__ = ["STATEMENT", "TOKEN", "Token", "looks_continuous", "tokenize"]


class Token(NamedTuple):
    """A token with its kind and position (`line` and `column` from 1, `offset` from 0)."""

    kind: str
    text: str
    line: int
    column: int
    offset: int


# a name may contain dots but not end with one: in `?s ex:p ex:o.` the dot ends the triple
_INNER: Final = r"\w·\u0300-\u036f\u203f\u2040"
# bounded, or each word of a.a.a.a would scan all others for a colon
_NAME: Final = rf"[^\W\d_](?:[{_INNER}\-.]{{0,500}}[{_INNER}\-])?"
_LOCAL: Final = (
    r"(?:[\w:]|%[0-9A-Fa-f]{2}|\\.)"
    rf"(?:(?:[{_INNER}\-:.]|%[0-9A-Fa-f]{{2}}|\\.)*(?:[{_INNER}\-:]|%[0-9A-Fa-f]{{2}}|\\.))?"
)
_NUMBER: Final = r"(?:[0-9]+\.[0-9]*|\.?[0-9]+)[eE][+-]?[0-9]+|[0-9]*\.[0-9]+|[0-9]+"
# possessive, so that no part of a comment is given back: in `[ #]` the bracket is not closed
_GAP: Final = r"(?:[ \t\r\n]|\#[^\n\r]*+)*+"

# The first matching kind applies, so prefixed names come before words, or `ex:a` would be two tokens.
# The last `.` matches any character: invalid SPARQL has tokens too.
TOKEN: Final = re.compile(
    rf"""
      {_GAP}(?:
      (?P<variable>[?$]\w[{_INNER}]*)
    | (?P<iri><[^<>"{{}}|^`\\\x00-\x20]*(?:\\[uU][^<>"{{}}|^`\\\x00-\x20]*)*>)
    | (?P<string>\"\"\"(?:\"{{0,2}}(?:[^"\\]|\\.))*\"\"\"|\'\'\'(?:'{{0,2}}(?:[^'\\]|\\.))*\'\'\'
                |""(?!")|''(?!')|"(?:[^"\\\n\r]|\\.)+"|'(?:[^'\\\n\r]|\\.)+')
    | (?P<unfinished>\"\"\"(?:\"{{0,2}}(?:[^"\\]|\\.))*|\'\'\'(?:'{{0,2}}(?:[^'\\]|\\.))*
                    |"(?:[^"\\\n\r]|\\.)*|'(?:[^'\\\n\r]|\\.)*)
    | (?P<blank>_:\w(?:[{_INNER}\-.]*[{_INNER}\-])?)
    | (?P<prefixed>(?:{_NAME})?:(?:{_LOCAL})?)
    | (?P<language>@[A-Za-z]+(?:-[A-Za-z0-9-]+)*)
    | (?P<number>{_NUMBER})
    | (?P<signed>[+-](?:{_NUMBER}))
    | (?P<word>[^\W\d]\w*)
    | (?P<nil>\({_GAP}\))
    | (?P<anonymous>\[{_GAP}\])
    | (?P<mark>\^\^|<(?=<[^<>"{{}}|^`\\\x00-\x20]*>)|<<\(?|\)>>|>>|&&|\|\||[<>!]=|\{{\||\|\}}|.)
    | (?P<end>\Z))
    """,
    re.VERBOSE | re.DOTALL,
)
"""A SPARQL token with the white space and comments before it; the matching group names its kind.

The longest token is taken, so `<b&&?c>` in `?a<b&&?c>?d` is an IRI, and `-1` in `?a -1` is a number. Where
the grammar does not allow a signed number, the reader takes the sign alone.
"""

_IRI: Final = r"<[^<>\"{}|^`\\\x00-\x20]*>"
# the lookahead prevents backtracking into a part of a longer name
_WHOLE_NAME: Final = rf"(?:{_NAME})?:(?:{_LOCAL})?(?!\.*[{_INNER}\-:%\\])"
_LITERAL: Final = (
    r"""(?:"[^"\\\n\r]+"|'[^'\\\n\r]+')"""
    rf"(?:@[A-Za-z]+(?:-[A-Za-z0-9-]+)*|\^\^(?:{_IRI}|{_WHOLE_NAME}))?"
)
_SUBJECT: Final = rf"{_GAP}({_IRI}|{_WHOLE_NAME})"
_VERB: Final = rf"{_GAP}({_IRI}|{_WHOLE_NAME}|a(?=[ \t\r\n<]))"
_OBJECT: Final = rf"{_GAP}({_IRI}|{_LITERAL}|{_WHOLE_NAME}|[+-]?(?:{_NUMBER}))"
_STOP: Final = rf"{_GAP}(\.(?![0-9])|[;,])"  # .5 is a number
STATEMENT: Final[Mapping[str, re.Pattern[str]]] = {
    ".": re.compile(_SUBJECT + _VERB + _OBJECT + _STOP),
    ";": re.compile(_VERB + _OBJECT + _STOP),
    ",": re.compile(_OBJECT + _STOP),
}
"""Patterns of the next triple of plain terms and its final mark, by the preceding mark.

They split the text as `TOKEN` does, but match only IRIs, names, numbers, and strings without escapes.
"""


def tokenize(text: str, begin: int = 0) -> Iterator[Token]:
    """Split SPARQL text into tokens, without white space and comments.

    >>> [token.text for token in tokenize("ASK { ?s a <http://e/C> } # all")]
    ['ASK', '{', '?s', 'a', '<http://e/C>', '}']
    """
    line, start, done = 1, begin, begin
    for match in TOKEN.finditer(text, begin):
        kind = str(match.lastgroup)
        if kind == "end":
            return
        at = match.start(kind)
        # white space and strings in triple quotes may have line breaks
        breaks = text.count("\n", done, at)
        if breaks:
            line += breaks
            start = text.rfind("\n", done, at) + 1
        yield Token(kind, match[kind], line, at - start + 1, at)
        done = at


def looks_continuous(text: str) -> bool:
    """True if a text has a clause of a language of continuous queries.

    >>> looks_continuous("ASK FROM STREAM <u:s> [RANGE 1s] {}"), looks_continuous("ASK { ?s ?p 'WINDOW' }")
    (True, False)
    """
    words = [token.text.upper() if token.kind == "word" else "" for token in tokenize(text)]
    follows = zip(words, [*words[1:], ""], [*words[2:], "", ""], strict=False)
    return any(
        first in ("REGISTER", "WINDOW") or (first == "FROM" and "STREAM" in (second, third))
        for first, second, third in follows
    )
