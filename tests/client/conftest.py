"""What all tests of the client share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.event_server import EventServer, event_server


@pytest.fixture
def server() -> Iterator[EventServer]:
    """A server that does as scripts tell it."""
    with event_server() as server:
        yield server
