"""Every test of the command line works in a folder with a small example."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli import write_example


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with data, a query and changes."""
    monkeypatch.chdir(tmp_path)
    write_example()
    return tmp_path
