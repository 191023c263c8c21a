"""Every example runs, and so does the main job of the README."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.shared import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def run(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, encoding="utf-8", timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.name)
def test_example_runs(example: Path) -> None:
    """The example prints something and ends well, with warnings as errors."""
    assert run(sys.executable, "-W", "error", str(example))


def test_there_are_examples() -> None:
    """The folder is not empty."""
    assert EXAMPLES


def main_job() -> list[str]:
    """The rdflive command of the README, without the pause between transactions."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(r"\.venv/bin/rdflive (watch .*?) --pace \S+", readme)
    assert found
    return found.group(1).split()


def test_main_job_of_the_readme_shows_live_deltas() -> None:
    """The first command of the README prints an initial delta and many later ones."""
    program = shutil.which("rdflive", path=str(Path(sys.executable).parent))
    assert program, "the console script is not installed"
    lines = [json.loads(line) for line in run(program, *main_job(), "--to", "ndjson").splitlines()]
    assert lines[0]["initial"]
    assert len(lines) >= 15
    assert any(line["removed"] for line in lines)
    assert run(program, *main_job())
