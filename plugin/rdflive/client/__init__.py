"""Subscriptions to queries of a server in another process or on another machine."""

from __future__ import annotations

from rdflive.client.failures import ServerError
from rdflive.client.server import Server, connect
from rdflive.client.subscription import RemoteSubscription, ServedExplanation

__all__ = ["RemoteSubscription", "ServedExplanation", "Server", "ServerError", "connect"]
