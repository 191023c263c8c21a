"""Where the server runs, and what is said where it does not."""

from __future__ import annotations

import os

import pytest
import rdflib

import rdflive
from rdflive.asgi.requirements import check_fork
from rdflive.cli import main


@pytest.fixture
def _without_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "fork", raising=False)


@pytest.mark.usefixtures("_without_fork")
def test_serving_is_refused_without_fork() -> None:
    """Where processes cannot be forked the error says where to serve."""
    pytest.importorskip("starlette", reason="serving needs rdflive[server]")
    from rdflive.server import make_app

    with pytest.raises(rdflive.RdfliveError, match="WSL"):
        make_app(rdflib.Dataset())


@pytest.mark.usefixtures("_without_fork")
def test_the_command_is_refused_without_fork(capsys: pytest.CaptureFixture[str]) -> None:
    """The error of `rdflive serve` comes before anything is imported or loaded."""
    assert main(["serve", "nothing.ttl"]) == 2
    assert "serve on Linux, macOS or WSL" in capsys.readouterr().err


@pytest.mark.posix("forks")
def test_serving_is_not_refused_with_fork() -> None:
    """Linux and macOS have it."""
    check_fork()
