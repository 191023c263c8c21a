"""Every test of a sink talks to this machine without a proxy."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def direct(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever proxy the environment names is left out."""
    monkeypatch.setenv("no_proxy", "127.0.0.1,localhost")
