"""HTTP requests on urllib3, for the client of a server, replicas, the feeds of endpoints and webhooks."""

from __future__ import annotations

from rdflive.http.address import Address
from rdflive.http.answers import (
    HttpFault,
    RetryPace,
    may_pass,
    media_type,
    problem_of,
    read_date,
    refusal,
    shown,
    without_query,
)
from rdflive.http.requests import Exchange, Http, split_url

__all__ = [
    "Address",
    "Exchange",
    "Http",
    "HttpFault",
    "RetryPace",
    "may_pass",
    "media_type",
    "problem_of",
    "read_date",
    "refusal",
    "shown",
    "split_url",
    "without_query",
]
