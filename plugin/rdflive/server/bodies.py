"""The reading of request bodies within the limits of a server."""

from __future__ import annotations

import asyncio

from starlette.requests import ClientDisconnect, Request

from rdflive.server.admission import Admission, UnderWay
from rdflive.server.failures import Problem
from rdflive.server.settings import Limits

__all__ = ["read_body"]


async def read_body(request: Request) -> bytes:
    """Return the body; raise `Problem` 413 for a large and 408 for a slow one."""
    limits: Limits = request.app.state.service.limits
    declared = request.headers.get("content-length", "")
    # refused before reading; a chunked body declares no length, and is counted below
    if declared.isdigit() and int(declared) > limits.request_bytes:
        raise _too_large(limits)
    body = bytearray()
    admission: Admission = request.app.state.service.admission
    under_way: UnderWay = request.state.under_way
    try:
        with admission.body(under_way.key) as count:
            async with asyncio.timeout(limits.body_seconds):
                async for piece in request.stream():
                    body += piece
                    count(len(piece))
                    if len(body) > limits.request_bytes:
                        raise _too_large(limits)
    except TimeoutError as error:
        raise Problem(408, f"the body did not arrive within {limits.body_seconds:g} s") from error
    except ClientDisconnect as error:
        raise Problem(400, "the connection was closed in the middle of the body") from error
    return bytes(body)


def _too_large(limits: Limits) -> Problem:
    # the rest of the body stays unread, so the connection cannot be reused
    return Problem(
        413, f"the body is larger than {limits.request_bytes:,} bytes", headers={"Connection": "close"}
    )
