"""A plugin that prints every batch and delta; the environment variable RDFLIVE_TRACE=1 turns it on."""

from __future__ import annotations

import sys
from typing import Any

from rdflive.model import Batch, Delta
from rdflive.plugins.hookspecs import hookimpl

__all__ = ["rdflive_batch", "rdflive_delta"]


@hookimpl
def rdflive_batch(store: Any, batch: Batch) -> None:
    """Print the size of a captured batch to standard error."""
    print(
        f"rdflive: commit {batch.sequence} of {type(store).__name__}: "
        f"+{len(batch.added)} -{len(batch.removed)} quads",
        file=sys.stderr,
    )


@hookimpl
def rdflive_delta(subscription: Any, delta: Delta) -> None:
    """Print the size of a delta to standard error."""
    kind = "initial delta" if delta.initial else "delta"
    delta = delta.unpaired
    print(
        f"rdflive: commit {delta.sequence}: {kind} +{len(delta.added)} -{len(delta.removed)} "
        f"for {subscription!r}",
        file=sys.stderr,
    )
