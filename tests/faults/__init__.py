"""Faults of one line, planted one at a time, that the quick tests must catch."""

from __future__ import annotations

from faults import delivery, engine, entailment, feeds, guards, queries, shapes, stores, windows
from faults.planting import Fault

__all__ = ["FAULTS"]

FAULTS: tuple[Fault, ...] = (
    *stores.FAULTS,
    *engine.FAULTS,
    *queries.FAULTS,
    *entailment.FAULTS,
    *windows.FAULTS,
    *feeds.FAULTS,
    *delivery.FAULTS,
    *shapes.FAULTS,
    *guards.FAULTS,
)
