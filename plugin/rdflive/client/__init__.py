"""Subscriptions to the queries of a server, which is another process or another machine."""

from __future__ import annotations

from rdflive.client.failures import ServerError
from rdflive.client.server import Server, connect
from rdflive.client.subscription import RemoteSubscription, ServedExplanation

__all__ = ["RemoteSubscription", "ServedExplanation", "Server", "ServerError", "connect"]
