"""The reference names all that is public, and nothing else."""

from __future__ import annotations

import importlib
import re
from importlib.util import find_spec

import pytest

from rdflive.cli import main
from rdflive.plugins import hookspecs
from support.pages import DOCS

REFERENCE = sorted((DOCS / "reference").glob("*.md"))
NAMED = [name for page in REFERENCE for name in re.findall(r"^::: (.*)$", page.read_text(), re.MULTILINE)]
PUBLIC = (
    "rdflive", "rdflive.client", "rdflive.feeds", "rdflive.query.planning", "rdflive.server", "rdflive.sinks",
    "rdflive.testing", "rdflive_stores.spark",
)  # fmt: skip


@pytest.mark.parametrize("module", PUBLIC)
def test_public_names_of_a_module_are_in_the_reference(module: str) -> None:
    """Whatever a module exports is on a page of the reference, under that module or under `rdflive`."""
    if module == "rdflive_stores.spark":
        pytest.importorskip("pyspark", reason="the extra spark is not installed")
    names = importlib.import_module(module).__all__
    assert [name for name in names if not {f"{module}.{name}", f"rdflive.{name}"} & set(NAMED)] == []


def test_hooks_are_in_the_reference() -> None:
    """Every hook that a plugin can implement is documented."""
    hooks = [name for name in vars(hookspecs) if name.startswith("rdflive_")]
    assert hooks
    assert [hook for hook in hooks if f"rdflive.plugins.hookspecs.{hook}" not in NAMED] == []


def test_reference_names_each_thing_once() -> None:
    """No name is documented twice, and each one exists."""
    assert sorted(NAMED) == sorted(set(NAMED))
    for name in NAMED:
        module, _, attribute = name.rpartition(".")
        if module != "rdflive_stores.spark" or find_spec("pyspark"):
            assert hasattr(importlib.import_module(module), attribute), name


def test_commands_are_in_the_reference(capsys: pytest.CaptureFixture[str]) -> None:
    """The help of each command is asked for, so that a build of the site shows it."""
    with pytest.raises(SystemExit):
        main(["--help"])
    helped = capsys.readouterr().out
    commands = re.findall(r"^    (\w+)\b", helped.partition("positional arguments:")[2], re.MULTILINE)
    page = (DOCS / "reference" / "command-line.md").read_text(encoding="utf-8")
    assert len(commands) > 3
    assert re.findall(r"^<!-- rdflive (\w+) --help -->$", page, re.MULTILINE) == commands


def test_pages_of_the_reference_are_listed() -> None:
    """The first page of the reference leads to all others."""
    listed = (DOCS / "reference" / "index.md").read_text(encoding="utf-8")
    assert [page.name for page in REFERENCE if f"({page.name})" not in listed] == ["index.md"]
