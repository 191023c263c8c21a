"""Requests of the SPARQL 1.1 Protocol: one operation and its dataset."""

from __future__ import annotations

import re
from dataclasses import dataclass
from email.message import Message
from functools import lru_cache
from typing import Final, TypeAlias
from urllib.parse import parse_qsl

from starlette.datastructures import URL
from starlette.requests import Request

from rdflive.server.bodies import read_body
from rdflive.server.failures import Problem

__all__ = ["ABSOLUTE", "ProtocolOperation", "media_type", "read_fields", "read_query", "read_update"]

Fields: TypeAlias = list[tuple[str, str]]

_FORM: Final = "application/x-www-form-urlencoded"
_FIELDS: Final = 1000
"""The most parameters of a request."""
ABSOLUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>\"{}|^`\\\ud800-\udfff]*")
"""An absolute IRI."""


@dataclass(frozen=True, slots=True)
class ProtocolOperation:
    """The text of a query or update, and the graphs of the protocol; without any the text's graphs apply."""

    text: str
    default: tuple[str, ...] = ()
    named: tuple[str, ...] = ()
    base: str = ""
    """The base for relative IRIs: the URL of the request (RFC 3986, 5.1.3)."""

    @property
    def has_dataset(self) -> bool:
        """True if the protocol names the dataset, which overrides the text."""
        return bool(self.default or self.named)


async def read_query(request: Request) -> ProtocolOperation | None:
    """Return the query of a request, or None without any parameter; raise `Problem` 400, 413 or 415."""
    if request.method != "POST" and not request.url.query:
        return None
    fields = await read_fields(request, "application/sparql-query", "query")
    return _operation(request, fields, "query", "default-graph-uri", "named-graph-uri")


async def read_update(request: Request) -> tuple[ProtocolOperation, bool]:
    """Return the update of a request, and True for a preview; raise `Problem` 400, 413 or 415."""
    parameters: str = request.scope["query_string"].decode()
    if not parameters:
        fields = await read_fields(request, "application/sparql-update", "update", "")
        return _operation(request, fields, "update", "using-graph-uri", "using-named-graph-uri"), False
    parts = parameters.split("&")
    # `preview` alone has no value, unlike all other parameters
    previews = [part.partition("=")[2] for part in parts if part.partition("=")[0] == "preview"]
    if previews not in ([], [""], ["true"]):
        raise Problem(400, "preview takes no value, or true: leave it out to update")
    rest = "&".join(part for part in parts if part.partition("=")[0] != "preview")
    fields = await read_fields(request, "application/sparql-update", "update", rest)
    operation = _operation(request, fields, "update", "using-graph-uri", "using-named-graph-uri")
    return operation, bool(previews)


async def read_fields(request: Request, direct: str, name: str, parameters: str | None = None) -> Fields:
    """Return all parameters of a request; the body is a form, or the value of `name`.

    `parameters` replaces those of the URL. Raises `Problem` 400, 413 or 415.
    """
    fields = _parsed(request.url.query if parameters is None else parameters, name)
    if request.method != "POST":
        return fields
    given, charset = media_type(request.headers.get("content-type", ""))
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
def media_type(content_type: str) -> tuple[str, str]:
    """Return the declared media type and character set of a body."""
    # the standard library's mail parser handles quoted parameters, such as charset="utf-8"
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
    """Return a hint on sending; many clients declare a plain text as a form."""
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
    return ProtocolOperation(texts[0], _graphs(fields, default), _graphs(fields, named), _base(request))


def _base(request: Request) -> str:
    """Return the URL of a request without its parameters; empty if it is no IRI."""
    scope = request.scope
    return _address(scope["scheme"], request.headers.get("host"), scope.get("server"), scope["path"])


@lru_cache(maxsize=64)  # most requests have the same; the heads of requests bound its length
def _address(scheme: str, host: str | None, server: tuple[str, int | None] | None, path: str) -> str:
    headers = [] if host is None else [(b"host", host.encode("latin-1"))]
    scope = {"type": "http", "scheme": scheme, "server": server, "path": path, "headers": headers}
    address = str(URL(scope=scope))
    # it contains the client's Host, which may be invalid
    return address if ABSOLUTE.fullmatch(address) else ""


def _graphs(fields: Fields, name: str) -> tuple[str, ...]:
    graphs = [value for key, value in fields if key == name]
    for graph in graphs:
        if not ABSOLUTE.fullmatch(graph):
            raise Problem(400, f"{name} must be an absolute IRI, got {graph!r}")
    return tuple(dict.fromkeys(graphs))
