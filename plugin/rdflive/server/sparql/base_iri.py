"""Resolves relative IRIs of a request against its own address (RFC 3986, 5.1.3)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rdflive.errors import RdfliveError
from rdflive.server.failures import Problem, problem_of
from rdflive.syntax.excerpt import with_excerpt

__all__ = ["columns_moved_back", "with_base"]

_RELATIVE: Final = re.compile(r"<(?![A-Za-z][A-Za-z0-9+.\-]*:)[^<>\"{}|^`\\\x00-\x20]*>")
_ABSOLUTE: Final = re.compile(r"https?://[^\x00-\x20<>\"{}|^`\\]+")


def with_base(text: str, address: str) -> str:
    """Put BASE in front of a text that may have relative IRIs, on the same line.

    >>> with_base("ASK { ?s a <C> }", "http://e/query")
    'BASE <http://e/query> ASK { ?s a <C> }'
    """
    # the address has the Host that the client sent: with a > in it, it would end the IRI
    return f"BASE <{address}> {text}" if _RELATIVE.search(text) and _ABSOLUTE.fullmatch(address) else text


@contextmanager
def columns_moved_back(text: str, characters: int) -> Iterator[None]:
    """Correct the columns of errors on the first line of a text, before which characters were inserted."""
    try:
        yield
    except RdfliveError as error:
        problem = problem_of(error)
        if not characters or problem.line != 1 or problem.column <= characters:
            raise
        there, column = problem.column, problem.column - characters
        detail = problem.detail.replace(f"column {there}", f"column {column}")
        if "\n" in detail:
            detail = with_excerpt(detail, text[characters:], 1, column)
        raise Problem(problem.status, detail, line=1, column=column, headers=problem.headers) from error
