"""Live SPARQL queries for rdflib and Oxigraph graphs."""

from __future__ import annotations

from importlib.metadata import version

from rdflive.api.asynchronous import aendpoint, amirror
from rdflive.api.background import BackgroundMirror
from rdflive.api.continuous import register
from rdflive.api.guard import Guard, guard
from rdflive.api.live import LiveDataset, LiveGraph, LiveStore, batch, explain, install, subscribe
from rdflive.api.matching import EventError, Match, Matcher, match
from rdflive.api.mirror import Mirrored, endpoint, mirror
from rdflive.api.options import Options
from rdflive.api.prepared import Prepared, Subscriptions, prepare
from rdflive.api.preview import Preview, preview
from rdflive.api.reformulate import Reformulation, reformulate
from rdflive.api.saturated import SaturatedGraph, saturate
from rdflive.api.stream import Durable, Stream
from rdflive.api.target import to_feed
from rdflive.api.validation import shacl_rules, validate
from rdflive.client import ServerError, connect
from rdflive.delivery.base import Stats
from rdflive.delivery.resume import ResumeError
from rdflive.delivery.subscription import Subscription
from rdflive.entail.entailment import Proof, ProofStep
from rdflive.entail.rules import RuleError
from rdflive.errors import (
    BudgetError,
    ClosedError,
    FeedError,
    MissingExtraError,
    PlanError,
    QuerySyntaxError,
    RdfliveError,
    ReformulationSizeError,
    ResyncNeeded,
    SchemaError,
    UnnameableTermError,
    UnsupportedQueryError,
    UnsupportedStoreError,
    ValidationError,
    WaitError,
)
from rdflive.model import Answers, Batch, Change, Changed, Delta, Origin, Quad, Rows, Solution
from rdflive.plugins.hookspecs import hookimpl
from rdflive.plugins.manager import register_plugin, unregister_plugin
from rdflive.query.budget import Budget
from rdflive.query.explain import Explanation
from rdflive.query.expressions import register_function
from rdflive.query.segment import ALGORITHMS
from rdflive.shacl import LiveValidation, ShapesError
from rdflive.store import GraphLike
from rdflive.time.clock import ManualClock
from rdflive.time.watermark import Watermark
from rdflive.time.windows import Count, Landmark, Sliding, Tumbling

__all__ = [
    "ALGORITHMS",
    "Answers",
    "BackgroundMirror",
    "Batch",
    "Budget",
    "BudgetError",
    "Change",
    "Changed",
    "ClosedError",
    "Count",
    "Delta",
    "Durable",
    "EventError",
    "Explanation",
    "FeedError",
    "GraphLike",
    "Guard",
    "Landmark",
    "LiveDataset",
    "LiveGraph",
    "LiveStore",
    "LiveValidation",
    "ManualClock",
    "Match",
    "Matcher",
    "Mirrored",
    "MissingExtraError",
    "Options",
    "Origin",
    "PlanError",
    "Prepared",
    "Preview",
    "Proof",
    "ProofStep",
    "Quad",
    "QuerySyntaxError",
    "RdfliveError",
    "Reformulation",
    "ReformulationSizeError",
    "ResumeError",
    "ResyncNeeded",
    "Rows",
    "RuleError",
    "SaturatedGraph",
    "SchemaError",
    "ServerError",
    "ShapesError",
    "Sliding",
    "Solution",
    "Stats",
    "Stream",
    "Subscription",
    "Subscriptions",
    "Tumbling",
    "UnnameableTermError",
    "UnsupportedQueryError",
    "UnsupportedStoreError",
    "ValidationError",
    "WaitError",
    "Watermark",
    "__version__",
    "aendpoint",
    "amirror",
    "batch",
    "connect",
    "endpoint",
    "explain",
    "guard",
    "hookimpl",
    "install",
    "match",
    "mirror",
    "prepare",
    "preview",
    "reformulate",
    "register",
    "register_function",
    "register_plugin",
    "saturate",
    "shacl_rules",
    "subscribe",
    "to_feed",
    "unregister_plugin",
    "validate",
]

__version__ = version("rdflive")
"""The installed version."""


def __dir__() -> list[str]:
    """List the public names, without submodules."""
    return list(__all__)
