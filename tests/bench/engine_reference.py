"""The reference kernel of the shared folder: a yardstick, run where the folder is present."""

from __future__ import annotations

import importlib.util
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from bench.clock import timed
from bench.contender import Contender, Outcome, digest
from bench.stream import SHARED, Pattern, Update

__all__ = ["reference_contender"]


def reference_contender() -> Contender | str:
    """Load the kernel; a text says why it cannot be had."""
    path = SHARED / "reference_kernel.py"
    spec = importlib.util.spec_from_file_location("reference_kernel", path) if path.exists() else None
    if spec is None or spec.loader is None:
        return f"{path} is absent (set RDFLIVE_SHARED)"
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    make: Callable[..., Any] = module.Query

    def run(updates: Sequence[Update], query: tuple[Pattern, ...], number: int) -> Outcome:
        kernel = make(_numbered(query))
        added: list[tuple[int, ...]] = []
        removed: list[tuple[int, ...]] = []

        def feed() -> None:
            insert, delete = kernel.insert, kernel.delete
            for sign, s, p, o in updates:
                if sign > 0:
                    insert(s, p, o, added)
                else:
                    delete(s, p, o, removed)

        seconds, _ = timed(feed)
        net = Counter(added)
        net.subtract(removed)
        return Outcome(seconds, len(added), len(removed), digest(net))

    return run


def _numbered(query: tuple[Pattern, ...]) -> list[tuple[int, ...]]:
    """Number the variables -1, -2, … by first occurrence."""
    numbers: dict[str, int] = {}
    return [
        tuple(numbers.setdefault(t, -1 - len(numbers)) if isinstance(t, str) else t for t in pattern)
        for pattern in query
    ]
