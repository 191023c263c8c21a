"""What a server allows each of its clients, and the body of a request within these limits."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, fields

from starlette.requests import ClientDisconnect, Request

from rdflive.query.budget import Budget
from rdflive.server.failures import Problem

__all__ = ["Limits", "read_body"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one client; whoever has a name in the file of tokens is one, else an address is.

    >>> Limits(queries=2).queries
    2
    """

    request_bytes: int = 1_000_000
    """Size of a request's body, and of a message of a WebSocket."""
    query_seconds: float = 30.0
    """Time for a query and all of its result, for opening a subscription, and for an update's pattern."""
    query_bytes: int = 1 << 30
    """Memory that a query may take beside the data."""
    queries: int = 4
    """Queries at once."""
    subscriptions: int = 1000
    """Open subscriptions."""
    rows: int = 1_000_000
    """Solutions in the answer of a subscription."""
    commit_seconds: float = 2.0
    """Processor time of a subscription for one commit."""
    commit_rows: int = 1_000_000
    """Rows that a subscription may make or compare for one commit."""
    commit_characters: int = 20_000_000
    """Characters of the strings that a subscription may make for one commit."""
    kept_rows: int = 4_000_000
    """Rows that a subscription may keep, those of the graph left out."""
    kept_characters: int = 100_000_000
    """Characters of the strings that a subscription has made and keeps."""
    header_seconds: float = 10.0
    """Time for the head of a request."""
    body_seconds: float = 30.0
    """Time for the body of a request."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value <= 0:
                raise ValueError(f"{field.name} must be above zero, got {value!r}")

    @property
    def budget(self) -> Budget:
        """What a subscription may take and keep."""
        return Budget(
            seconds=self.commit_seconds,
            rows=self.commit_rows,
            characters=self.commit_characters,
            opening_seconds=self.query_seconds,
            kept_rows=self.kept_rows,
            kept_characters=self.kept_characters,
        )


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
