"""Where the server runs, and what is said where it does not."""

from __future__ import annotations

import os

import pytest
import rdflib

import rdflive
from rdflive.asgi.requirements import check_fork
from rdflive.cli import main


def test_serving_is_refused_without_fork(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The error says where to serve, before anything is imported or loaded; Linux and macOS can fork."""
    if hasattr(os, "fork"):
        check_fork()
    monkeypatch.delattr(os, "fork", raising=False)
    assert main(["serve", "nothing.ttl"]) == 2
    assert "serve on Linux, macOS or WSL" in capsys.readouterr().err
    pytest.importorskip("starlette", reason="serving needs rdflive[server]")
    from rdflive.server import make_app

    with pytest.raises(rdflive.RdfliveError, match="WSL"):
        make_app(rdflib.Dataset())
