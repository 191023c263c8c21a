"""Style, types and the directions of imports, by the tools that check them."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from support.shared import ROOT


def run(*command: str) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_finds_nothing() -> None:
    """The types of the product are strict; with PySpark mypy also checks its types."""
    pytest.importorskip("mypy", reason="needs mypy")
    run("mypy")


@pytest.mark.parametrize("command", [("check",), ("format", "--check")], ids=" ".join)
def test_ruff_finds_nothing(command: tuple[str, ...]) -> None:
    """Style and format are those of pyproject.toml."""
    pytest.importorskip("ruff", reason="needs ruff")
    run("ruff", *command, ".")


def test_imports_go_one_way() -> None:
    """The contracts of pyproject.toml hold."""
    pytest.importorskip("importlinter", reason="needs import-linter")
    program = "import sys; from importlinter.cli import lint_imports_command; lint_imports_command()"
    path = os.pathsep.join(str(ROOT / folder) for folder in ("plugin", "store_adapters"))
    done = subprocess.run(
        [sys.executable, "-c", program, "--no-cache"],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
