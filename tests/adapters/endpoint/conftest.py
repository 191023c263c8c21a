"""A server that answers as a test tells it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from support.misbehaving import Server, serve


@pytest.fixture
def server() -> Iterator[Server]:
    with serve() as running:
        yield running
