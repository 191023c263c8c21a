"""The query argument of a command: a file or the text itself."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rdflive.errors import PlanError, QuerySyntaxError, RdfliveError, UnsupportedQueryError
from rdflive.model import rows_unread
from rdflive.query.given import placed
from rdflive.query.given import read_query as read_file
from rdflive.syntax.prefixes import declared_prefixes, usual_prefixes
from rdflive.syntax.tokens import tokenize

__all__ = ["QueryText", "read_query"]


@dataclass(frozen=True, slots=True)
class QueryText:
    """The text of a query, and its name in messages."""

    text: str
    source: str

    @contextmanager
    def placed(self) -> Iterator[None]:
        """Put the file and line in front of errors of the query."""
        try:
            with rows_unread():
                yield
        except (QuerySyntaxError, UnsupportedQueryError, PlanError) as error:
            # the commands have no such argument
            said = placed(error, self.source).replace(", or in initNs", "", 1)
            raise RdfliveError(said) from error

    def form(self) -> str:
        """Return the form of the query, such as SELECT; empty if it has none."""
        words = (token.text.upper() for token in tokenize(self.text) if token.kind == "word")
        return next((word for word in words if word not in ("BASE", "PREFIX")), "")

    def prefixes(self) -> dict[str, str]:
        """Return the prefixes that the query declares."""
        return declared_prefixes(self.text)

    def assumed(self) -> dict[str, str]:
        """Return a namespace for each used prefix: the prefixes of the data are unknown before the load.

        >>> QueryText("ASK { train:T101 a ?x }", "the query").assumed()["train"]
        'urn:x-rdflive:prefix:train:'
        """
        named = {token.text.partition(":")[0] for token in tokenize(self.text) if token.kind == "prefixed"}
        return {prefix: f"urn:x-rdflive:prefix:{prefix}:" for prefix in named} | usual_prefixes()


def read_query(given: str) -> QueryText:
    """Read the file of that name, or treat a text with braces as the query."""
    if os.path.exists(given) and not os.path.isdir(given):  # a pipe of the shell is not a regular file
        return QueryText(read_file(Path(given)).text, given)
    if "{" not in given:
        raise RdfliveError(f"{given}: no such file, and not the text of a query (which has braces)")
    return QueryText(given, "the query")
