"""The code in README and docs runs, and so does every doctest."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from importlib.util import find_spec
from pathlib import Path

import pytest

import rdflive
import rdflive_stores
from support.pages import PAGES, TUTORIAL, blocks, page_name

ALONE = [page for page in PAGES if page not in TUTORIAL]
POSIX = {
    "docs/client.md": "starts a server, which forks",
    "docs/howto/dashboard.md": "the server forks",
    "docs/howto/spark.md": "Hadoop needs winutils.exe on Windows",
    "docs/server.md": "starts a server, which forks",
    "docs/spark.md": "Hadoop needs winutils.exe on Windows",
    "rdflive.asgi.requirements": "forks",
    "rdflive.server.app": "the server forks",
}
"""What has code that not every system runs, and why."""
NEEDS = {
    "docs/frames.md": ("pandas",),
    "docs/howto/notebook.md": ("duckdb", "polars"),
    "docs/server.md": ("fastapi",),
    "docs/web.md": ("fastapi", "flask", "django"),
    "rdflive.model.frames": ("pandas",),
    **dict.fromkeys(("docs/howto/spark.md", "docs/spark.md"), ("pyspark",)),
}
"""What code uses beside rdflive and the extras of the gate; `tox run -e packages` and `-e spark` have it."""


def modules() -> list[str]:
    found = []
    for package in (rdflive, rdflive_stores):
        found += [m.name for m in pkgutil.walk_packages(package.__path__, package.__name__ + ".")]
    if find_spec("pyspark") is None:
        found = [name for name in found if not name.startswith("rdflive_stores.spark.") or ".dataflow" in name]
    return [name for name in found if not name.endswith("__main__")]


def marks(name: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.posix(POSIX[name])] if name in POSIX else []


def snippets(page: Path) -> list[str]:
    return [block.code for block in blocks(page) if block.language == "python"]


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=marks(page_name(page))) for page in ALONE], ids=page_name
)
def test_snippets_of_a_page_run(page: Path) -> None:
    """Each Python snippet runs by itself; those of a chapter of the tutorial belong together."""
    _need(page_name(page))
    for snippet in snippets(page):
        exec(compile(snippet, page.name, "exec"), {"__name__": "snippet"})


def test_there_are_snippets() -> None:
    """README and the adapter and hook pages have code that is run."""
    assert sum(len(snippets(page)) for page in ALONE) >= 4


@pytest.mark.parametrize("name", [pytest.param(name, marks=marks(name)) for name in modules()])
def test_doctests_of_a_module_pass(name: str) -> None:
    """Examples in docstrings are true."""
    _need(name)
    result = doctest.testmod(importlib.import_module(name), raise_on_error=False)
    assert result.failed == 0


def test_there_are_doctests() -> None:
    """The public callables carry examples."""
    finder = doctest.DocTestFinder()
    count = sum(len(test.examples) > 0 for n in modules() for test in finder.find(importlib.import_module(n)))
    assert count >= 12


def _need(name: str) -> None:
    for library in NEEDS.get(name, ()):
        pytest.importorskip(library, reason=f"needs {library}, which tox installs")
