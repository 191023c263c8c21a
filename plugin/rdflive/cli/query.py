"""The query a command is given: a file or the text itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import rdflive
from rdflive.errors import QuerySyntaxError, RdfliveError, UnsupportedQueryError
from rdflive.model import rows_unread
from rdflive.syntax.prefixes import declared_prefixes, usual_prefixes
from rdflive.syntax.tokens import Token, tokenize

__all__ = ["QueryText", "read_query"]


@dataclass(frozen=True, slots=True)
class QueryText:
    """The text of a query and what to call it in messages."""

    text: str
    source: str

    @contextmanager
    def placed(self) -> Iterator[None]:
        """Put the file and line in front of what is wrong with the query."""
        try:
            with rows_unread():
                yield
        except (QuerySyntaxError, UnsupportedQueryError) as error:
            raise RdfliveError(self._explained(error)) from error
        except rdflive.PlanError as error:
            raise RdfliveError(f"{self.source}: {error}") from error

    def _explained(self, error: QuerySyntaxError | UnsupportedQueryError) -> str:
        """Say once where the error is."""
        unclosed = self._unclosed_brace() if isinstance(error, QuerySyntaxError) else None
        if unclosed is not None:
            return (
                f"{self.source}, line {unclosed.line}, column {unclosed.column}: the brace {{ is never closed"
            )
        place = f"line {error.line}, column {error.column}"
        text = str(error).replace(f" ({place})", "", 1).replace(f" at {place}", "", 1)
        return f"{self.source}, {place}: {text}" if error.line else f"{self.source}: {text}"

    def _unclosed_brace(self) -> Token | None:
        """Find the brace that has no partner, the innermost of several."""
        opened: list[Token] = []
        for token in tokenize(self.text):
            if token.text == "{":
                opened.append(token)
            elif token.text == "}" and opened:
                opened.pop()
        return opened[-1] if opened else None

    def form(self) -> str:
        """Give the form of the query, such as SELECT; empty for what is no query."""
        words = (token.text.upper() for token in tokenize(self.text) if token.kind == "word")
        return next((word for word in words if word not in ("BASE", "PREFIX")), "")

    def prefixes(self) -> dict[str, str]:
        """List the prefixes that the query declares."""
        return declared_prefixes(self.text)

    def assumed(self) -> dict[str, str]:
        """Give a namespace to each prefix that it uses: those of the data are not known before the load.

        >>> QueryText("ASK { train:T101 a ?x }", "the query").assumed()["train"]
        'urn:x-rdflive:prefix:train:'
        """
        named = {token.text.partition(":")[0] for token in tokenize(self.text) if token.kind == "prefixed"}
        return {prefix: f"urn:x-rdflive:prefix:{prefix}:" for prefix in named} | usual_prefixes()


def read_query(given: str) -> QueryText:
    """Read the file of that name, or take what has braces for the query itself."""
    if os.path.exists(given) and not os.path.isdir(given):  # a pipe of the shell is no regular file
        with open(given, "rb") as stream:
            content = stream.read()
        try:
            return QueryText(content.decode("utf-8-sig"), given)
        except UnicodeDecodeError as error:
            line = content.count(b"\n", 0, error.start) + 1
            raise RdfliveError(f"{given}, line {line}: not UTF-8") from error
    if "{" not in given:
        raise RdfliveError(f"{given}: no such file, and not the text of a query (it would have braces)")
    return QueryText(given, "the query")
