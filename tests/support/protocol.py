"""Requests of the SPARQL Protocol with the standard library alone."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from support.serving import Serving


@dataclass(frozen=True)
class Reply:
    """The response to a request."""

    status: int
    headers: Any
    body: bytes

    @property
    def json(self) -> Any:
        """The parsed body."""
        return json.loads(self.body)

    @property
    def kind(self) -> str:
        """The media type."""
        return str(self.headers.get_content_type())


def asked(server: Serving, method: str, target: str, body: bytes | None = None, **headers: str) -> Reply:
    """Send a request; underscores in header names stand for hyphens."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, target, body, named)
        response = connection.getresponse()
        return Reply(response.status, response.headers, response.read())
    finally:
        connection.close()


def answered(server: Serving, query: str, *parameters: tuple[str, str], **headers: str) -> Reply:
    """Send a query by GET."""
    return asked(server, "GET", "/query?" + urlencode([("query", query), *parameters]), **headers)


def updated(server: Serving, update: str, *parameters: tuple[str, str], **headers: str) -> Reply:
    """Send an update."""
    target = "/update" + ("?" + urlencode(parameters) if parameters else "")
    return asked(server, "POST", target, update.encode(), Content_Type="application/sparql-update", **headers)
