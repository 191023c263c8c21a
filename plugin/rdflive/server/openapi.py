"""The published description of the HTTP interface: `openapi.json` beside this module, as OpenAPI 3.1."""

from __future__ import annotations

import json
from functools import cache
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

__all__ = ["describe_api", "show_openapi"]


async def show_openapi(request: Request) -> Response:  # noqa: ARG001 - Starlette's signature
    """Respond with the description."""
    return JSONResponse(describe_api())


@cache
def describe_api() -> dict[str, Any]:
    """Return the description as JSON values, with the version of this server.

    >>> describe_api()["paths"]["/health"]["get"]["security"]
    []
    """
    described: dict[str, Any] = json.loads(files("rdflive.server").joinpath("openapi.json").read_bytes())
    described["info"]["version"] = version("rdflive")
    return described
