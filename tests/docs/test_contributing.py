"""The commands of daily work in CONTRIBUTING.md work; tests/running/test_release.py has those of a release.

Some get options here with which they take seconds and write nothing.
"""

from __future__ import annotations

import configparser
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from support.shared import ROOT

DAILY = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("\n## Releases\n")[0]
PROGRAM = r"(?:[A-Z_]+=\S+ )*(?:\.venv/|python|pip |tox |git |rm )[^`\n]*"
COMMANDS = sorted(
    {*re.findall(rf"`({PROGRAM})`", DAILY), *re.findall(rf"^({PROGRAM})$", DAILY, re.MULTILINE)}
)
INSTALLS = [command for command in COMMANDS if "pip install" in command]
TOX = [command for command in COMMANDS if command.startswith("tox run ")]
PROGRAMS = [command for command in COMMANDS if command not in (*INSTALLS, *TOX)]
SHORTER = {
    "pytest -n 3 --dist worksteal": "--collect-only tests/values",
    "pytest -n 3 tests/engine": "--collect-only",
    "pytest tests/test_style.py": "--collect-only",
    "ruff format .": "--check",
}
"""Options for commands that run many tests, which the gate runs anyway, or that write."""
SETTINGS = configparser.ConfigParser(interpolation=None)
SETTINGS.read_string((ROOT / "tox.ini").read_text(encoding="utf-8"))


def test_commands_are_found() -> None:
    """The page has commands of each kind, and each shorter one stands on it."""
    assert (len(PROGRAMS), len(TOX), len(INSTALLS)) == (7, 4, 2)
    assert [end for end in SHORTER if not any(command.endswith(end) for command in PROGRAMS)] == []


def test_install_and_gate_are_those_of_ci() -> None:
    """`.ci/run` runs the README's line, which is the install and the gate, and installs tox as here."""
    gate = ".venv/bin/python -m pytest -n 3 --dist worksteal"
    install, tox = sorted(INSTALLS, reverse=True)
    assert gate in PROGRAMS
    assert f"{install} && {gate}" in (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    assert tox == "pip install tox-uv"
    assert "pip install -q tox-uv" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


@pytest.mark.parametrize("command", PROGRAMS)
def test_command_works(command: str) -> None:
    """A program of the environment ends well; pytest does so only if it selects tests."""
    more = next((options for end, options in SHORTER.items() if command.endswith(end)), "")
    words = shlex.split(f"{command} {more}")
    assigned = dict(word.split("=") for word in words if re.match("[A-Z_]+=", word))
    folder, name = os.path.split(words[len(assigned)])
    assert folder == ".venv/bin"
    inherited = {name: v for name, v in os.environ.items() if not name.startswith(("RDFLIVE_", "PYTEST_"))}
    done = subprocess.run(
        [Path(sys.executable).with_name(name), *words[len(assigned) + 1 :]],
        cwd=ROOT,
        env={**inherited, **assigned, "PYTEST_ADDOPTS": "-p no:cacheprovider"},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


@pytest.mark.parametrize("command", TOX)
def test_tox_has_what_a_command_names(command: str) -> None:
    """tox.ini has the environment or label, and a hunt finds its areas."""
    words = shlex.split(command)
    if words[2] == "-m":
        assert words[3] == SETTINGS["testenv"]["labels"]
    else:
        assert words[2] == "-e"
        assert f"testenv:{words[3]}" in SETTINGS
    areas = [word for word in words[5:] if word.isalpha()]
    assert [area for area in areas if not (ROOT / "tests" / area).exists()] == []
