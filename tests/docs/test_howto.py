"""Programs of pages that are tests themselves: pytest runs them, with warnings as errors, as readers do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from support.effort import rounds
from support.pages import DOCS, blocks

CONTRACT = """

from rdflive.testing import AdapterContract

rdflive.register_plugin(plugin)


class TestTinyStore(AdapterContract):
    sequences = %d

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


def test_the_adapter_of_the_page_on_adapters_passes_the_contract(tmp_path: Path) -> None:
    """The example has at most 60 lines, and passes the suite that the page demands of adapters."""
    (example,) = (b.code for b in blocks(DOCS / "adapters.md") if "class TinyPlugin" in b.code)
    adapter, _, _ = example.partition("\nplugin = ")
    assert adapter.count("\n") <= 60
    assert "5 skipped" in run(example + CONTRACT % rounds(40, share=10), tmp_path)
