"""The server: SPARQL and subscriptions over HTTP. Needs `rdflive[server]`."""

from __future__ import annotations

from rdflive.asgi.requirements import needing_server

with needing_server("rdflive.server"):
    from rdflive.server.access import Client, read_tokens
    from rdflive.server.app import make_app
    from rdflive.server.settings import Limits

__all__ = ["Client", "Limits", "make_app", "read_tokens"]
