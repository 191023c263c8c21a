"""Faults in ..."""

from __future__ import annotations

from faults.planting import Fault

FAULTS: tuple[Fault, ...] = ()
