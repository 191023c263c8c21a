"""The suite that adapters of rdflib stores must pass."""

from __future__ import annotations

from rdflive.testing.contract import AdapterContract, Watch, check_fuzz, check_operation

__all__ = ["AdapterContract", "Watch", "check_fuzz", "check_operation"]
