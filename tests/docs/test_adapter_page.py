"""The adapter on the page about adapters passes the suite that the page asks of adapters."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.pages import PAGES, blocks

TESTS = """

from rdflive.testing import AdapterContract

rdflive.register_plugin(plugin)


class TestTinyStore(AdapterContract):
    def make_store(self):
        return TinyStore()
"""


def test_the_example_passes_the_contract(tmp_path: Path) -> None:
    """It does so in a process that watches no other store, whose hooks would serve it too."""
    (page,) = (page for page in PAGES if page.name == "adapters.md")
    (example,) = (block.code for block in blocks(page) if "class TinyPlugin" in block.code)
    (tmp_path / "test_tiny.py").write_text(example + TESTS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", ".", "-rs"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stdout[-5000:] + run.stderr[-2000:]
    assert "5 skipped" in run.stdout, run.stdout
