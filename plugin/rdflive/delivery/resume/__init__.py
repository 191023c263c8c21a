"""Subscribers that resume: their answers on disk, and the delivery of their deltas."""

from __future__ import annotations

from rdflive.delivery.resume.journal import Journal, ResumeError, subscriber_token
from rdflive.delivery.resume.outbox import Outbox
from rdflive.delivery.resume.record import query_identity
from rdflive.delivery.resume.stream_log import StreamLog

__all__ = ["Journal", "Outbox", "ResumeError", "StreamLog", "query_identity", "subscriber_token"]
