"""What engines other than ours use of planning."""

from __future__ import annotations

import re
from pathlib import Path

import rdflive_stores
from rdflive.query import planning

SPARK = Path(rdflive_stores.__path__[0], "spark")


def test_planning_gives_what_spark_uses() -> None:
    """Each name of the module is used by the engine that it is for."""
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted(SPARK.rglob("*.py")))
    words = set(re.findall(r"\w+", text))
    assert [name for name in planning.__all__ if name not in words] == []
