"""What is said where the extra `rdflive[server]` is missing."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

WITHOUT = """
import sys
for name in ("httptools", "prometheus_client", "re2", "starlette", "uvicorn", "websockets"):
    sys.modules[name] = None
"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    """Run a program that cannot import what the extra brings."""
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + program], capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("program", "what"),
    [
        ("from rdflive.sinks import SseSink; SseSink()", "SseSink"),
        ("from rdflive.cli import main; sys.exit(main(['serve']))", "serving"),
    ],
)
@pytest.mark.posix("a server is refused elsewhere before that")
def test_a_missing_extra_names_its_installation(program: str, what: str) -> None:
    """What needs the extra says how to install it."""
    done = run(program)
    assert done.returncode
    assert f"{what} needs " in done.stderr
    assert re.search(r"pip install (-e )?'.*\[server\]", done.stderr)


def test_the_command_line_needs_no_extra() -> None:
    """What is not about serving works without it."""
    assert run("from rdflive.cli import main; main(['watch', '--help'])").returncode == 0
