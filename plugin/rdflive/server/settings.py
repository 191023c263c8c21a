"""The limits of a server for each client."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import inf

from rdflive.query.budget import Budget

__all__ = ["Limits"]


@dataclass(slots=True)
class Limits:
    """The limits of one client: a name of the token file, or an address on a server without tokens.

    `all_…` are those of all clients together.

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
    update_seconds: float = 10.0
    """Processor time of all subscriptions of all clients together for one commit."""
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
    body_bytes: int = 16 << 20
    """Bytes of bodies that have not arrived in full."""
    all_body_bytes: int = 128 << 20
    """Bytes of bodies that have not arrived in full, of all clients."""
    requests_per_second: float = inf
    """Requests in a second; as many may come at once."""
    connections: int = 5_000
    """Open connections of an address, and requests under way of a client."""
    all_connections: int = 20_000
    """Open connections of all clients."""

    def replace_by(self, other: Limits) -> None:
        """Take all values of other limits; what is open already keeps the budget that it began with."""
        for field in fields(self):
            setattr(self, field.name, getattr(other, field.name))

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
