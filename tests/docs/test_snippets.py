"""The code in README and docs runs, and so does every doctest."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

import rdflive
import rdflive_stores
from support.shared import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SNIPPET = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def modules() -> list[str]:
    found = []
    for package in (rdflive, rdflive_stores):
        found += [m.name for m in pkgutil.walk_packages(package.__path__, package.__name__ + ".")]
    return [name for name in found if not name.endswith("__main__")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_snippets_of_a_page_run(page: Path) -> None:
    """Each Python snippet runs by itself."""
    for match in SNIPPET.finditer(page.read_text(encoding="utf-8")):
        exec(compile(match.group(1), f"{page.name}", "exec"), {"__name__": "snippet"})


def test_there_are_snippets() -> None:
    """README and the adapter and hook pages have code that is run."""
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert len(SNIPPET.findall(text)) >= 4


@pytest.mark.parametrize("name", modules())
def test_doctests_of_a_module_pass(name: str) -> None:
    """Examples in docstrings are true."""
    result = doctest.testmod(importlib.import_module(name), raise_on_error=False)
    assert result.failed == 0


def test_there_are_doctests() -> None:
    """The public callables carry examples."""
    finder = doctest.DocTestFinder()
    count = sum(len(test.examples) > 0 for n in modules() for test in finder.find(importlib.import_module(n)))
    assert count >= 12
