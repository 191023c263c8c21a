"""Errors of reasoning: a schema outside the supported fragment, and reformulations that cannot be written."""

from __future__ import annotations

from rdflive.errors import RdfliveError

__all__ = ["ReformulationSizeError", "SchemaError", "UnnameableTermError"]


class SchemaError(RdfliveError, ValueError):
    """A schema triple lies outside the fragment that is reasoned with."""


class UnnameableTermError(RdfliveError, ValueError):
    """SPARQL text would have to name a term that it cannot: a blank node of the data."""


class ReformulationSizeError(RdfliveError, ValueError):
    """A reformulation has more members than may be listed."""
