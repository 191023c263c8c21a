"""What is said where the extra `rdflive[server]` is missing."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

PROGRAM = """
import sys
for name in ("httptools", "prometheus_client", "re2", "starlette", "uvicorn"):
    sys.modules[name] = None
from rdflive.cli import main
from rdflive.sinks import SseSink
try:
    SseSink()
except Exception as error:
    print(error, file=sys.stderr)
try:
    main(["watch", "--help"])  # what is not about serving works without the extra
except SystemExit as ended:
    assert not ended.code
sys.exit(main(["serve"]))
"""


@pytest.mark.posix("a server is refused elsewhere before that")
def test_a_missing_extra_names_its_installation() -> None:
    """What needs the extra says how to install it; the rest of the command line needs none."""
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode
    assert "usage" in done.stdout
    for what in ("SseSink", "serving"):
        assert re.search(rf"{what} needs .*pip install (-e )?'.*\[server\]", done.stderr), done.stderr
