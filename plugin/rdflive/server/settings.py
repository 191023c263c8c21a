"""The limits of a server for each client, and the reading of request bodies within them."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, fields

from starlette.requests import ClientDisconnect, Request

from rdflive.query.budget import Budget
from rdflive.server.failures import Problem

__all__ = ["Limits", "read_body"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one client: a name of the token file, or an address on a server without tokens.

    >>> Limits(queries=2).queries
    2
    """

    request_bytes: int = 1_000_000
    """Bytes of a request's body."""
    query_seconds: float = 30.0
    """Time for a query with its result, for opening a subscription, and for matching an update's pattern."""
    query_bytes: int = 1 << 30
    """Memory that a query may take beside the data."""
    queries: int = 4
    """Concurrent queries."""
    subscriptions: int = 1000
    """Open subscriptions."""
    rows: int = 1_000_000
    """Solutions in the answer of a subscription."""
    commit_seconds: float = 2.0
    """Processor time of a subscription for one commit."""
    commit_rows: int = 1_000_000
    """Rows that a subscription may create or compare for one commit."""
    commit_characters: int = 20_000_000
    """Characters of strings that a subscription may create for one commit."""
    kept_rows: int = 4_000_000
    """Rows in the state of a subscription, without those of the graph."""
    kept_characters: int = 100_000_000
    """Characters of created strings in the state of a subscription."""
    header_seconds: float = 10.0
    """Time for the head of a request to arrive."""
    body_seconds: float = 30.0
    """Time for the body of a request to arrive; for a document at `/store`, for each 64 KiB."""
    store_bytes: int = 4_000_000_000
    """Bytes of a document at `/store`, also without its compression."""
    store_triples: int = 1_000_000
    """Triples that one commit of `/store` may add and remove."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value <= 0:
                raise ValueError(f"{field.name} must be above zero, got {value!r}")

    @property
    def budget(self) -> Budget:
        """The budget of a subscription."""
        return Budget(
            seconds=self.commit_seconds,
            rows=self.commit_rows,
            characters=self.commit_characters,
            opening_seconds=self.query_seconds,
            kept_rows=self.kept_rows,
            kept_characters=self.kept_characters,
        )


async def read_body(request: Request) -> bytes:
    """Return the body; raise `Problem` 413 for a large and 408 for a slow one."""
    limits: Limits = request.app.state.service.limits
    declared = request.headers.get("content-length", "")
    # refused before reading; a chunked body declares no length, and is counted below
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
    # the rest of the body stays unread, so the connection cannot be reused
    return Problem(
        413, f"the body is larger than {limits.request_bytes:,} bytes", headers={"Connection": "close"}
    )
