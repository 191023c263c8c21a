"""The code in docs runs, and so does every doctest; test_readme.py runs that of the README."""

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
from support.readme import README

ALONE = [page for page in PAGES if page not in TUTORIAL and page != README]
SPARK = ("docs/spark.md", "docs/spark-pipelines.md", "docs/spark-capacity.md")
POSIX = {
    "docs/page.md": "the server forks",
    "docs/server.md": "starts a server, which forks",
    "docs/web.md": "starts a server, which forks",
    **dict.fromkeys(SPARK, "Hadoop needs winutils.exe on Windows"),
    "rdflive.asgi.requirements": "forks",
    "rdflive.server.app": "the server forks",
}
"""What has code that not every system runs, and why."""
NEEDS = {
    "docs/howto/notebook.md": ("duckdb", "pandas", "polars"),
    "docs/server.md": ("fastapi",),
    "docs/web.md": ("fastapi", "flask", "django"),
    "rdflive.model.frames": ("pandas",),
    **dict.fromkeys(SPARK, ("pyspark",)),
}
"""What code uses beside rdflive and the extras of the gate; `tox run -e packages` and `-e spark` have it."""


def modules() -> dict[str, list[str]]:
    """Name the modules that have examples: those of a package together, those that need something alone."""
    found: dict[str, list[str]] = {}
    for package in (rdflive, rdflive_stores):
        for name in (m.name for m in pkgutil.walk_packages(package.__path__, package.__name__ + ".")):
            needs_spark = name.startswith("rdflive_stores.spark.") and ".dataflow" not in name
            if name.endswith("__main__") or (needs_spark and find_spec("pyspark") is None):
                continue
            spec = find_spec(name)
            if spec is not None and ">>>" in Path(spec.origin or "").read_text(encoding="utf-8"):
                alone = name in POSIX or name in NEEDS
                found.setdefault(name if alone else ".".join(name.split(".")[:2]), []).append(name)
    return found


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


@pytest.mark.parametrize(
    ("part", "names"), [pytest.param(part, names, marks=marks(part)) for part, names in modules().items()]
)
def test_doctests_pass(part: str, names: list[str]) -> None:
    """Examples in docstrings are true, and each module that seems to have some has some."""
    _need(part)
    results = {name: doctest.testmod(importlib.import_module(name)) for name in names}
    assert [name for name, result in results.items() if result.failed or not result.attempted] == []


def _need(name: str) -> None:
    for library in NEEDS.get(name, ()):
        pytest.importorskip(library, reason=f"needs {library}, which tox installs")
