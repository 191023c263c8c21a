"""No test of this folder may have anything fail behind the scenes."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def nothing_fails(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """A view that fails is started again, and only the log tells."""
    yield
    assert not [record for record in caplog.get_records("call") if record.levelno >= logging.ERROR]
