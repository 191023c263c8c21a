"""Detection of the end of a SPARQL update request in lines of text."""

from __future__ import annotations

import re
from typing import Final

from rdflive.syntax.tokens import Token, tokenize

__all__ = ["RequestScanner"]

_MODIFY: Final = frozenset({"INSERT", "DELETE", "WITH"})
_WHOLE_GRAPHS: Final = frozenset({"CLEAR", "DROP", "CREATE", "LOAD"})
_TRANSFERS: Final = frozenset({"ADD", "MOVE", "COPY"})
_PROLOGUE: Final = frozenset({"PREFIX", "BASE", "VERSION"})
_TARGETS: Final = frozenset({"iri", "prefixed", "DEFAULT", "NAMED", "ALL"})
_CLOSING: Final = {quote: re.compile(rf"(?:\\.|[^\\])*?{quote * 3}", re.DOTALL) for quote in "\"'"}


class RequestScanner:
    """Tracks a request token by token, as far as needed to find its end."""

    __slots__ = ("_last", "_quote", "depth", "words")

    def __init__(self) -> None:
        self.depth = 0
        """Number of open braces."""
        self.words: list[str] = []
        """The keywords of the current operation outside of braces, in upper case."""
        self._last = ""
        self._quote = ""

    @property
    def may_end(self) -> bool:
        """True after a complete operation, or after one that no further input can complete."""
        words = set(self.words)
        if self._quote or self.depth > 0 or self._last == ";":
            return False
        if not words & _MODIFY:
            if words & _TRANSFERS:
                return "TO" in words and self._last in _TARGETS
            if words & _WHOLE_GRAPHS:
                return self._last in _TARGETS
            # a prologue alone is incomplete; no input completes an unknown operation
            return not words or not words <= _PROLOGUE
        return self._last == "}" and not words.isdisjoint(("DATA", "WHERE"))

    def take_line(self, text: str) -> bool:
        """Process a line; return False if it has only space and comments."""
        begin = 0
        if self._quote:
            closing = _CLOSING[self._quote].match(text)
            if closing is None:
                return True
            begin, self._quote, self._last = closing.end(), "", "string"
        found = bool(begin)
        for token in tokenize(text[begin:]):
            found = True
            self.take(token)
            # a long string may continue in the next line
            if token.kind == "unfinished" and token.text[:3] in ('"""', "'''"):
                self._quote = token.text[0]
                break
        return found

    def take(self, token: Token) -> None:
        """Process a token."""
        if token.text == "{":
            self.depth += 1
        elif token.text == "}":
            self.depth -= 1
            self._last = "}"
        elif self.depth <= 0:
            self._last = token.kind
            if token.kind == "word":
                self._last = token.text.upper()
                self.words.append(self._last)
            elif token.text == ";":
                self._last = ";"
                self.words.clear()
