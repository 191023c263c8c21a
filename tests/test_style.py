"""Style, types and the directions of imports, by the tools that check them."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from support.shared import ROOT

WITHOUT_SPARK = """
[[tool.mypy.overrides]]
module = ["pyspark.*"]
ignore_missing_imports = true

[[tool.mypy.overrides]]
module = ["rdflive_stores.spark.*"]
disallow_subclassing_any = false
warn_return_any = false
warn_unused_ignores = false
"""
"""Settings where PySpark is absent, and with it its types; `tox run -e spark` checks with them."""


def run(*command: str, **variables: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *command],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_finds_nothing(tmp_path: Path) -> None:
    """The types of the product are strict."""
    pytest.importorskip("mypy", reason="needs mypy")
    settings = tmp_path / "mypy.toml"
    extra = "" if find_spec("pyspark") else WITHOUT_SPARK
    settings.write_text((ROOT / "pyproject.toml").read_text(encoding="utf-8") + extra, encoding="utf-8")
    run("mypy", "--config-file", str(settings), MYPYPATH="plugin:store_adapters")


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
