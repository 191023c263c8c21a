"""The body of a request, within limits of size and time."""

from __future__ import annotations

import asyncio

from starlette.requests import ClientDisconnect, Request

from rdflive.server.failures import Problem
from rdflive.server.settings import Limits

__all__ = ["read_body"]


async def read_body(request: Request) -> bytes:
    """Read the body; raises `Problem` 413 for one that is too large and 408 for one that is too slow."""
    limits: Limits = request.app.state.service.limits
    declared = request.headers.get("content-length", "")
    # refused before anything of it is read; a body in chunks declares no length, and is counted below
    if declared.isdigit() and int(declared) > limits.request_bytes:
        raise _too_large(limits)
    body = bytearray()
    try:
        async with asyncio.timeout(limits.body_seconds):
            async for piece in request.stream():
                body += piece
                if len(body) > limits.request_bytes:
                    raise _too_large(limits)
    except TimeoutError as error:
        raise Problem(408, f"the body did not arrive within {limits.body_seconds:g} s") from error
    except ClientDisconnect as error:
        raise Problem(400, "the connection was closed in the middle of the body") from error
    return bytes(body)


def _too_large(limits: Limits) -> Problem:
    # the rest of the body is not read, so nothing can follow on this connection
    return Problem(
        413, f"the body is larger than {limits.request_bytes:,} bytes", headers={"Connection": "close"}
    )
