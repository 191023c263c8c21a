"""Where the third-party test data is: RDFLIVE_SHARED, by default beside the project."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("RDFLIVE_SHARED") or ROOT.parent / "shared")


def shared(*parts: str) -> Path:
    """Give a path of the shared data; skip (or fail, with RDFLIVE_STRICT=1) where it is absent."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        reason = f"{path} is absent: set RDFLIVE_SHARED to the folder of third-party test data"
        if os.environ.get("RDFLIVE_STRICT") == "1":
            pytest.fail(reason)
        pytest.skip(reason)
    return path
