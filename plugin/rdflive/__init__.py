"""Live SPARQL queries for rdflib and Oxigraph graphs."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from threading import RLock
from typing import TYPE_CHECKING, Any, Final

# Type checkers, editors and the reference read these lines. A program imports each name at its first use, out
# of the module that _HOMES has for it, because all of them together take longer than rdflib itself.
if TYPE_CHECKING:
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
    from rdflive.delivery.audit import Audit
    from rdflive.delivery.base import Stats
    from rdflive.delivery.resume import ResumeError
    from rdflive.delivery.subscription import Subscription
    from rdflive.entail.entailment import Proof, ProofStep
    from rdflive.entail.rules import RuleError
    from rdflive.errors import (
        AuditError,
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
    from rdflive.query.shared_budget import SharedBudget
    from rdflive.shacl import LiveValidation, ShapesError
    from rdflive.store import GraphLike
    from rdflive.time.clock import ManualClock
    from rdflive.time.watermark import Watermark
    from rdflive.time.windows import Count, Landmark, Sliding, Tumbling

    __version__: str
    """The installed version."""

__all__ = [
    "ALGORITHMS",
    "Answers",
    "Audit",
    "AuditError",
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
    "SharedBudget",
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

_HOMES: Final = {
    name: f"rdflive.{module}"
    for module, names in {
        "api.asynchronous": "aendpoint amirror",
        "api.background": "BackgroundMirror",
        "api.continuous": "register",
        "api.guard": "Guard guard",
        "api.live": "LiveDataset LiveGraph LiveStore batch explain install subscribe",
        "api.matching": "EventError Match Matcher match",
        "api.mirror": "Mirrored endpoint mirror",
        "api.options": "Options",
        "api.prepared": "Prepared Subscriptions prepare",
        "api.preview": "Preview preview",
        "api.reformulate": "Reformulation reformulate",
        "api.saturated": "SaturatedGraph saturate",
        "api.stream": "Durable Stream",
        "api.target": "to_feed",
        "api.validation": "shacl_rules validate",
        "client": "ServerError connect",
        "delivery.audit": "Audit",
        "delivery.base": "Stats",
        "delivery.resume": "ResumeError",
        "delivery.subscription": "Subscription",
        "entail.entailment": "Proof ProofStep",
        "entail.rules": "RuleError",
        "errors": (
            "AuditError BudgetError ClosedError FeedError MissingExtraError PlanError QuerySyntaxError "
            "RdfliveError ReformulationSizeError ResyncNeeded SchemaError UnnameableTermError "
            "UnsupportedQueryError UnsupportedStoreError ValidationError WaitError"
        ),
        "model": "Answers Batch Change Changed Delta Origin Quad Rows Solution",
        "plugins.hookspecs": "hookimpl",
        "plugins.manager": "register_plugin unregister_plugin",
        "query.budget": "Budget",
        "query.explain": "Explanation",
        "query.expressions": "register_function",
        "query.segment": "ALGORITHMS",
        "query.shared_budget": "SharedBudget",
        "shacl": "LiveValidation ShapesError",
        "store": "GraphLike",
        "time.clock": "ManualClock",
        "time.watermark": "Watermark",
        "time.windows": "Count Landmark Sliding Tumbling",
    }.items()
    for name in names.split()
}
"""The module of each public name."""


# A package imports its modules, and Python imports the package of a module first. Two threads that begin at
# different ends of such a circle wait for each other, until Python gives one of them an unfinished module. So
# one thread at a time imports. rdflib comes first, as its modules import each other in circles too.
_IMPORTING: Final = RLock()


# no type checker may see it: it would believe that every name exists
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Import a public name, or a package such as `rdflive.feeds`, at its first use."""
        if name == "__version__":
            found = import_module("importlib.metadata").version("rdflive")
        elif name in _HOMES:
            with _IMPORTING:
                import_module("rdflib")
                import_module("rdflib.plugins.sparql")
                found = getattr(import_module(_HOMES[name]), name)
        elif name.startswith("_") or "." in name or find_spec(f"{__name__}.{name}") is None:
            module = sys.modules[__name__]
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=module)
        else:
            with _IMPORTING:
                import_module("rdflib")
                return import_module(f"{__name__}.{name}")
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    """List the public names, without submodules."""
    return list(__all__)
