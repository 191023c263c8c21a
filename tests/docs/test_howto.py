"""Programs of pages that are tests themselves: pytest runs them, with warnings as errors, as readers do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from support.pages import DOCS, PAGES, blocks

CONTRACT = """

from rdflive.testing import AdapterContract

rdflive.register_plugin(plugin)


class TestTinyStore(AdapterContract):
    def make_store(self):
        return TinyStore()
"""


def run(code: str, folder: Path) -> str:
    """Run the tests of a text, in a process that watches no other store, whose hooks would serve it too."""
    (folder / "test_page.py").write_text(code, encoding="utf-8")
    command = [sys.executable, "-W", "error", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    command += ["--rootdir", ".", "-rs"]
    done = subprocess.run(command, cwd=folder, capture_output=True, encoding="utf-8", timeout=300)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    return done.stdout


def test_tests_of_the_page_on_testing_pass(tmp_path: Path) -> None:
    """All that it shows."""
    (code,) = (b.code for b in blocks(DOCS / "howto" / "testing.md") if b.language == "python")
    assert f"{code.count('def test_')} passed" in run(code, tmp_path)


@pytest.mark.hunted("the gate runs the contract on stores of rdflib and Oxigraph, and the page's code alone")
def test_the_adapter_of_the_page_on_adapters_passes_the_contract(tmp_path: Path) -> None:
    """It passes the suite that the page asks of adapters."""
    (page,) = (page for page in PAGES if page.name == "adapters.md")
    (example,) = (block.code for block in blocks(page) if "class TinyPlugin" in block.code)
    assert "5 skipped" in run(example + CONTRACT, tmp_path)
