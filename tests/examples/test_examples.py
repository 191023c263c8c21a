"""Every example runs, and so does the main job of the README."""

from __future__ import annotations

import json
import re
import shlex
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


def test_what_is_implied_names_the_rules() -> None:
    """The example on organisations shows inferred solutions come and go, and proves one."""
    out = run(sys.executable, str(ROOT / "examples" / "what_is_implied.py"))
    rules = "prp-spo1, (?:prp-trp, )?member of the whole, prp-inv1"  # there are two proofs
    assert re.findall(f"  members (.) :Ada :City   inferred by {rules}\n", out) == ["+", "-"]
    assert "  agents  + :Ada   inferred by rdfs9\n" in out
    assert out.endswith("  rdfs3: :Trams rdf:type org:Organization\n  rdfs9: :Trams rdf:type foaf:Agent\n")


COMMANDS = re.findall(
    r"^rdflive (.+)$", (ROOT / "docs" / "entailment.md").read_text(encoding="utf-8"), re.MULTILINE
)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_of_the_page_on_entailment_run(command: str) -> None:
    """They work in the root of a checkout, and what `watch` prints is inferred."""
    out = run(sys.executable, "-m", "rdflive", *shlex.split(command)).splitlines()
    assert len(out) > 5
    if command.startswith("watch"):
        assert {line[0] for line in out} == {"+", "-"}
        assert all(" # inferred by " in line for line in out)


def test_there_are_commands_of_entailment() -> None:
    """Both commands are shown."""
    assert {command.split()[0] for command in COMMANDS} == {"watch", "thresholds"}


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
