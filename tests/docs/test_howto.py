"""The programs of the how-to pages that are more than one block: run as the pages say."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.pages import DOCS, blocks

HOWTO = DOCS / "howto"


def codes(name: str, language: str) -> list[str]:
    return [block.code for block in blocks(HOWTO / name) if block.language == language]


def test_tests_of_the_page_on_testing_pass(tmp_path: Path) -> None:
    """They are run by pytest, with warnings as errors, as a reader runs them."""
    (code,) = codes("testing.md", "python")
    (tmp_path / "test_board.py").write_text(code, encoding="utf-8")
    command = [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{code.count('def test_')} passed" in done.stdout
