"""Live SPARQL queries for rdflib and Oxigraph graphs."""

from __future__ import annotations

from rdflive.errors import (
    ClosedError,
    FeedError,
    PlanError,
    QuerySyntaxError,
    RdfliveError,
    UnsupportedQueryError,
    UnsupportedStoreError,
)
from rdflive.hookspecs import hookimpl
from rdflive.live import LiveDataset, LiveGraph, LiveStore, batch, explain, install, subscribe
from rdflive.manager import register_plugin, unregister_plugin
from rdflive.model import Batch, Change, Delta, Quad, Solution
from rdflive.query.explain import Explanation
from rdflive.query.segment import ALGORITHMS
from rdflive.subscription import Stats, Subscription

__all__ = [
    "ALGORITHMS",
    "Batch",
    "Change",
    "ClosedError",
    "Delta",
    "Explanation",
    "FeedError",
    "LiveDataset",
    "LiveGraph",
    "LiveStore",
    "PlanError",
    "Quad",
    "QuerySyntaxError",
    "RdfliveError",
    "Solution",
    "Stats",
    "Subscription",
    "UnsupportedQueryError",
    "UnsupportedStoreError",
    "batch",
    "explain",
    "hookimpl",
    "install",
    "register_plugin",
    "subscribe",
    "unregister_plugin",
]
