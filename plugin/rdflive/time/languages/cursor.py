"""A place in the text of a continuous query, and what is left of the text when clauses are cut out."""

from __future__ import annotations

import re
from typing import Final

from rdflive.errors import QuerySyntaxError, UnsupportedQueryError
from rdflive.syntax.tokens import Token, tokenize

__all__ = ["Cursor"]

_WORDS: Final = ("word", "mark")


class Cursor:
    """The next token of a text; what is taken can be cut out, so that every other character stays in place.

    >>> cursor = Cursor("REGISTER QUERY q AS ASK {}")
    >>> first = cursor.token
    >>> cursor.take("REGISTER", "QUERY"), cursor.advance().text, cursor.take("AS")
    (True, 'q', True)
    >>> cursor.cut(first); cursor.rest
    '                    ASK {}'
    """

    __slots__ = ("_place", "rest", "tokens")

    def __init__(self, text: str) -> None:
        self.tokens = [*tokenize(text), _end(text)]
        """All tokens; the last one, of the kind "end", stands behind the text."""
        self.rest = text
        """The text without what was cut out."""
        self._place = 0

    @property
    def token(self) -> Token:
        """The next token."""
        return self.tokens[self._place]

    def advance(self) -> Token:
        """Take the next token, whatever it is; the end stays where it is."""
        token = self.token
        if token.kind != "end":
            self._place += 1
        return token

    def meets(self, *words: str) -> bool:
        """Tell whether these words, in upper case, or marks come next."""
        found = self.tokens[self._place : self._place + len(words)]
        return [token.text.upper() for token in found if token.kind in _WORDS] == [*words]

    def take(self, *words: str) -> bool:
        """Take these words if they come next."""
        met = self.meets(*words)
        if met:
            self._place += len(words)
        return met

    def demand(self, *words: str) -> None:
        """Take these words; raises `QuerySyntaxError` where something else comes next."""
        if not self.take(*words):
            raise self.expected(" ".join(words))

    def cut(self, since: Token, put: str = "") -> None:
        """Leave `put` and then blanks of what was taken from a token on; lines and tabs stay."""
        last = self.tokens[self._place - 1]
        end = last.offset + len(last.text)
        # as long as what was cut, so that errors of rdflib's parser have the right line and column
        blanks = re.sub(r"[^\t\r\n]", " ", self.rest[since.offset + len(put) : end])
        self.rest = self.rest[: since.offset] + put + blanks + self.rest[end:]

    def expected(self, wanted: str) -> QuerySyntaxError:
        """Make the error for a next token that does not fit."""
        found = repr(self.token.text) if self.token.text else "the end of the text"
        return self.wrong(self.token, f"expected {wanted}, found {found}")

    @staticmethod
    def wrong(token: Token, reason: str) -> QuerySyntaxError:
        """Make the error for a token where the text breaks the rules of the language."""
        return QuerySyntaxError(
            f"not RSP-QL or C-SPARQL at line {token.line}, column {token.column}: {reason}",
            line=token.line,
            column=token.column,
        )

    @staticmethod
    def refused(token: Token, construct: str, reason: str, advice: str) -> UnsupportedQueryError:
        """Make the error for a clause that cannot be maintained."""
        return UnsupportedQueryError(
            f"{construct} (line {token.line}, column {token.column}) cannot be maintained: {reason}. "
            f"Instead: {advice}.",
            construct=construct,
            line=token.line,
            column=token.column,
        )


def _end(text: str) -> Token:
    column = len(text) - text.rfind("\n")
    return Token("end", "", text.count("\n") + 1, column, len(text))
