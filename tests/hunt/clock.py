"""A pytest plugin for one round of a hunt: tests in random order until the time is over."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from support.effort import SEED, repeat

__all__ = ["END", "RECORD"]

END = "RDFLIVE_HUNT_END"
"""The variable with the time, in seconds since 1970, after which no test starts."""
RECORD = "RDFLIVE_HUNT_RECORD"
"""The variable with the file of a line for each finished test."""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Shuffle the tests by the seed, so that each may run before the end."""
    Random(SEED).shuffle(items)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> bool | None:
    """Skip tests after the end of the hunt."""
    return True if time.time() > float(os.environ[END]) else None


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Iterator[None]:
    """Record the outcome of a test."""
    report: Any = yield
    if report.when == "call" or report.outcome != "passed":
        line = {"test": item.nodeid, "outcome": report.outcome, "repeat": repeat(item.nodeid)}
        with Path(os.environ[RECORD]).open("a", encoding="utf-8") as record:
            record.write(json.dumps(line) + "\n")
    return report
