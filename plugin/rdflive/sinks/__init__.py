"""Sinks, which send deltas out of the process. Each is a callback for `subscribe`, to close afterwards."""

from __future__ import annotations

from rdflive.sinks.choice import SinkChoice
from rdflive.sinks.ndjson import NdjsonSink, to_ndjson
from rdflive.sinks.patch import PatchSink
from rdflive.sinks.sink import Sink
from rdflive.sinks.sse import SseSink
from rdflive.sinks.webhook import WebhookError, WebhookSink

__all__ = [
    "NdjsonSink",
    "PatchSink",
    "Sink",
    "SinkChoice",
    "SseSink",
    "WebhookError",
    "WebhookSink",
    "to_ndjson",
]
