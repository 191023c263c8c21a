"""The test suite for adapters of rdflib stores."""

from __future__ import annotations

from rdflive.testing.contract import AdapterContract, Watch, check_fuzz, check_operation

__all__ = ["AdapterContract", "Watch", "check_fuzz", "check_operation"]
