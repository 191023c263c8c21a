"""The worked examples of papers, from the third-party test data."""

from __future__ import annotations

import json
from typing import Any

from support.shared import SHARED

__all__ = ["vectors"]


def vectors(paper: str) -> dict[str, dict[str, Any]]:
    """Return the examples of a paper by their ids, without those whose figures are missing."""
    path = SHARED / "vectors" / "vectors.json"
    found = json.loads(path.read_text(encoding="utf-8"))["vectors"] if path.exists() else []
    return {v["id"]: v for v in found if v["id"].startswith(paper) and v["provenance"] != "missing"}
