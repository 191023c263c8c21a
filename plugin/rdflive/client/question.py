"""A request to a server: a query with its prefixes and options."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlencode

from rdflive.errors import QuerySyntaxError
from rdflive.query.given import namespaces as check_namespaces

__all__ = ["ServedQuestion"]

_PREFIX: Final = re.compile(r"(?:[^\W\d_](?:[\w.\-·]*[\w\-·])?)?")
_IRI: Final = re.compile(r'[^<>"{}|^`\\\x00-\x20]*')


@dataclass(frozen=True, slots=True)
class ServedQuestion:
    """A query as it is sent: its first line declares initNs, so that all lines keep their numbers."""

    text: str
    """The text of the user."""
    prologue: str
    entailment: str | None

    @classmethod
    def make(cls, text: str, namespaces: Mapping[str, Any] | None, entailment: str | None) -> ServedQuestion:
        """Return a question; raise `QuerySyntaxError` or ValueError for a text that cannot be sent.

        >>> ServedQuestion.make("ASK {}", {"ex": "http://example.org/"}, None).body
        b'PREFIX ex: <http://example.org/> ASK {}'
        """
        namespaces = check_namespaces(None, namespaces)
        try:
            text.encode()
        except UnicodeEncodeError as error:
            before = text[: error.start]
            line, column = before.count("\n") + 1, error.start - before.rfind("\n")
            reason = f"half of a surrogate pair (line {line}, column {column}): write the character itself"
            raise QuerySyntaxError(reason, line=line, column=column) from error
        for prefix, iri in namespaces.items():
            # the "IRI" `http://e/> SELECT * {} #` would turn it into another query
            if not _PREFIX.fullmatch(prefix) or not _IRI.fullmatch(str(iri)):
                raise ValueError(f"initNs binds {prefix!r} to {str(iri)!r}: SPARQL has no such prefix or IRI")
        prologue = "".join(f"PREFIX {prefix}: <{iri}> " for prefix, iri in namespaces.items())
        return cls(text, prologue, entailment)

    @property
    def body(self) -> bytes:
        """The body of a request, an `application/sparql-query`."""
        return (self.prologue + self.text).encode()

    def target(self, path: str) -> str:
        """Return a path with the options as its query string."""
        return path if self.entailment is None else f"{path}?{urlencode({'entailment': self.entailment})}"
