"""The folder of third-party test data: RDFLIVE_SHARED, by default beside the project."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("RDFLIVE_SHARED") or ROOT.parent / "shared")


def shared(*parts: str) -> Path:
    """Return a path of the shared data; skip the test if it is absent, or fail it with RDFLIVE_STRICT=1."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        reason = f"{path} is absent: set RDFLIVE_SHARED to the folder of third-party test data"
        if os.environ.get("RDFLIVE_STRICT") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return path


def vector(name: str) -> dict[str, Any]:
    """Return the worked example with an id."""
    vectors = json.loads(shared("vectors", "vectors.json").read_text(encoding="utf-8"))["vectors"]
    (found,) = (each for each in vectors if each["id"] == name)
    return dict(found)
