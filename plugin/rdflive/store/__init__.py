"""The contract between rdflive and a store, and the capture of a store's changes as commits."""

from __future__ import annotations

from rdflive.model import Triple
from rdflive.store.adapter import (
    Adapter,
    DurableStore,
    GraphLike,
    Guardable,
    LiteralParts,
    LookingUp,
    NamedGraphs,
    Rdf12Terms,
    Snapshottable,
    Transaction,
    Watchable,
    Writable,
    WriteRefusedError,
    content_of,
    looks_up,
    value_of,
)
from rdflive.store.capture import Capture, KnownWrite, Write
from rdflive.store.garbage_collection import MANY, uncollected
from rdflive.store.history import History
from rdflive.store.listening import NAMED, UNION, Changes, GraphKey, Listener, QuadTerms
from rdflive.store.states import OPEN, WRITING
from rdflive.store.stored_log import ChangeLogError, LogGapError, StoredLog

__all__ = [
    "MANY",
    "NAMED",
    "OPEN",
    "UNION",
    "WRITING",
    "Adapter",
    "Capture",
    "ChangeLogError",
    "Changes",
    "DurableStore",
    "GraphKey",
    "GraphLike",
    "Guardable",
    "History",
    "KnownWrite",
    "Listener",
    "LiteralParts",
    "LogGapError",
    "LookingUp",
    "NamedGraphs",
    "QuadTerms",
    "Rdf12Terms",
    "Snapshottable",
    "StoredLog",
    "Transaction",
    "Triple",
    "Watchable",
    "Writable",
    "Write",
    "WriteRefusedError",
    "content_of",
    "looks_up",
    "uncollected",
    "value_of",
]
