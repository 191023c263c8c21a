"""The built site."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.shared import ROOT


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site; a dead link or anchor, or a page outside of the navigation, is a warning and fails."""
    pytest.importorskip("material", reason="the site is built by mkdocs-material: tox run -e site")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder
