"""What a request asks to follow or to explain: a query and how it is answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qs

from starlette.requests import Request

from rdflive.entail.regimes import ENTAILMENTS
from rdflive.server.bodies import read_body
from rdflive.server.failures import Problem

__all__ = ["Asked", "asked"]

_FORM: Final = "application/x-www-form-urlencoded"
_QUERY: Final = "application/sparql-query"
_KNOWN: Final = frozenset({"query", "entailment", "alias"})
_FIELDS: Final = 20


@dataclass(frozen=True, slots=True)
class Asked:
    """A query, and the entailment regime under which it is answered."""

    query: str
    entailment: str | None = None


async def asked(request: Request) -> Asked:
    """Read GET with parameters, or POST of a form or of the query itself; raises `Problem` 400 or 415."""
    fields = _fields(request.url.query)
    if request.method == "POST":
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        text = _decoded(await read_body(request))
        if kind == _QUERY:
            fields.setdefault("query", []).append(text)
        elif kind == _FORM:
            for name, values in _fields(text).items():
                fields.setdefault(name, []).extend(values)
        else:
            raise Problem(415, f"the body is {kind or 'of no type'}; send {_QUERY} or {_FORM}")
    unknown = sorted(fields.keys() - _KNOWN)
    if unknown:
        raise Problem(400, f"unknown parameter {unknown[0]!r}; known: {', '.join(sorted(_KNOWN))}")
    if any(len(values) > 1 for values in fields.values()):
        raise Problem(400, "a parameter is given more than once")
    query = fields.get("query", [""])[0]
    if not query.strip():
        raise Problem(400, "the parameter query is missing or empty")
    entailment = fields.get("entailment", [""])[0] or None
    if entailment not in (None, *ENTAILMENTS):
        raise Problem(400, f"entailment must be one of {', '.join(ENTAILMENTS)}, got {entailment!r}")
    return Asked(query, entailment)


def _fields(text: str) -> dict[str, list[str]]:
    try:
        return parse_qs(
            text, keep_blank_values=True, strict_parsing=bool(text), errors="strict", max_num_fields=_FIELDS
        )
    except ValueError as error:
        raise Problem(400, f"the parameters cannot be read: {error}") from error


def _decoded(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError as error:
        raise Problem(400, f"the body is not UTF-8: {error}") from error
