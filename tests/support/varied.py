"""Queries with replaced constants."""

from __future__ import annotations

from dataclasses import fields, is_dataclass, replace
from typing import Any

from rdflib import Literal, URIRef

__all__ = ["varied"]


def varied(part: Any, terms: dict[Any, Any]) -> Any:
    """Replace constants of a query by other terms or variables."""
    if is_dataclass(part) and not isinstance(part, type):
        changed = {f.name: varied(getattr(part, f.name), terms) for f in fields(part)}
        return replace(part, **changed)
    if isinstance(part, tuple):
        return tuple(varied(each, terms) for each in part)
    return terms.get(part, part) if isinstance(part, URIRef | Literal) else part
