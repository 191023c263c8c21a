"""What a request of the SPARQL 1.1 Protocol asks: one operation, and the dataset it is about."""

from __future__ import annotations

import re
from dataclasses import dataclass
from email.message import Message
from functools import lru_cache
from typing import Final, TypeAlias
from urllib.parse import parse_qsl

from starlette.requests import Request

from rdflive.server.failures import Problem
from rdflive.server.settings import read_body

__all__ = ["ProtocolOperation", "read_fields", "read_query", "read_update"]

Fields: TypeAlias = list[tuple[str, str]]

_FORM: Final = "application/x-www-form-urlencoded"
_FIELDS: Final = 1000
"""Parameters that a request may have."""
_IRI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>\"{}|^`\\\ud800-\udfff]*")


@dataclass(frozen=True, slots=True)
class ProtocolOperation:
    """The text of a query or update, and the graphs that the protocol names; none are those of the text."""

    text: str
    default: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    base: str = ""
    """What relative IRIs of the text are resolved by: the address of the request (RFC 3986, 5.1.3)."""

    @property
    def has_dataset(self) -> bool:
        """True where the protocol names the dataset, whatever the text says."""
        return bool(self.default or self.named)


async def read_query(request: Request) -> ProtocolOperation | None:
    """Read a query; None for a request without any parameter. Raises `Problem` 400, 413 or 415."""
    if request.method != "POST" and not request.url.query:
        return None
    fields = await read_fields(request, "application/sparql-query", "query")
    return _operation(request, fields, "query", "default-graph-uri", "named-graph-uri")


async def read_update(request: Request) -> tuple[ProtocolOperation, bool]:
    """Read an update, and whether it is only to be previewed; raises `Problem` 400, 413 or 415."""
    parts = request.url.query.split("&")
    # alone it is no parameter with a value, as all others are
    previews = [part.partition("=")[2] for part in parts if part.partition("=")[0] == "preview"]
    if previews not in ([], [""], ["true"]):
        raise Problem(400, "preview has no value, or true: leave it out to update")
    rest = "&".join(part for part in parts if part.partition("=")[0] != "preview")
    fields = await read_fields(request, "application/sparql-update", "update", rest)
    operation = _operation(request, fields, "update", "using-graph-uri", "using-named-graph-uri")
    return operation, bool(previews)


async def read_fields(request: Request, direct: str, name: str, parameters: str | None = None) -> Fields:
    """Read all parameters of a request, its body being a form, or the one called `name` itself.

    `parameters` stand in for those of the address. Raises `Problem` 400, 413 or 415.
    """
    fields = _parsed(request.url.query if parameters is None else parameters, name)
    if request.method != "POST":
        return fields
    given, charset = _kind(request.headers.get("content-type", ""))
    if given not in (_FORM, direct):
        raise Problem(415, f"the body is {given}; send {direct} or {_FORM}")
    if charset not in ("utf-8", "utf8", "us-ascii"):
        raise Problem(415, f"the body is in {charset!r}; send UTF-8")
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding != "identity":
        raise Problem(415, f"the body is compressed ({encoding!r}); send it as it is")
    try:
        text = (await read_body(request)).decode()
    except UnicodeDecodeError as error:
        raise Problem(400, f"the body is not UTF-8: {error}") from error
    return [*fields, *([(name, text)] if given == direct else _parsed(text, name))]


@lru_cache(maxsize=64)
def _kind(content_type: str) -> tuple[str, str]:
    """Give the media type and the character set that a body is said to have."""
    # the standard library's reader of mail knows parameters in quotes, such as charset="utf-8"
    header = Message()
    header["content-type"] = content_type
    given = header.get_content_type() if content_type else "of no type"
    return given, str(header.get_param("charset", "utf-8")).lower()


def _parsed(text: str, name: str) -> Fields:
    try:
        return parse_qsl(
            text, keep_blank_values=True, strict_parsing=bool(text), errors="strict", max_num_fields=_FIELDS
        )
    except ValueError as error:
        raise Problem(400, f"the parameters cannot be read: {error}; {_ways(name)}") from error


def _ways(name: str) -> str:
    """Say how a query or an update is sent: many clients say that a text is a form, and it is none."""
    return f"send {name}=…, URL-encoded, or the {name} itself as application/sparql-{name}"


def _operation(request: Request, fields: Fields, name: str, default: str, named: str) -> ProtocolOperation:
    texts = [value for key, value in fields if key == name]
    if len(texts) != 1:
        hint = "" if texts else f"; {_ways(name)}"
        raise Problem(400, f"exactly one {name} must be given, got {len(texts)}{hint}")
    if "\0" in texts[0] or not texts[0].strip():
        raise Problem(
            400, f"the {name} is empty" if not texts[0].strip() else f"the {name} has a NUL character"
        )
    address = str(request.url.replace(query="", fragment=""))
    # it has the Host that the client sent, which need not be one
    base = address if _IRI.fullmatch(address) else ""
    return ProtocolOperation(texts[0], _graphs(fields, default), _graphs(fields, named), base)


def _graphs(fields: Fields, name: str) -> tuple[str, ...]:
    graphs = [value for key, value in fields if key == name]
    for graph in graphs:
        if not _IRI.fullmatch(graph):
            raise Problem(400, f"{name} must be an absolute IRI, got {graph!r}")
    return tuple(dict.fromkeys(graphs))
