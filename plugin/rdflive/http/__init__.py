"""Requests of HTTP, on urllib3: the client of a server, feeds of endpoints and webhooks send theirs here."""

from __future__ import annotations

from rdflive.http.answers import HttpFault, RetryPace, may_pass, media_type, read_date, refusal, shown
from rdflive.http.requests import Exchange, Http, split_url

__all__ = [
    "Exchange",
    "Http",
    "HttpFault",
    "RetryPace",
    "may_pass",
    "media_type",
    "read_date",
    "refusal",
    "shown",
    "split_url",
]
