"""Each chapter of the tutorial is a program that prints what the page says."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from rdflive.cli import main
from support import chapter
from support.pages import DOCS, TUTORIAL, blocks, page_name
from support.shared import ROOT

CHAPTERS = [page for page in TUTORIAL if any(block.language == "python" for block in blocks(page))]
POSIX = {"server": "the server forks", "spark": "Hadoop needs winutils.exe on Windows"}
"""Chapters that not every system runs, and why."""


def marks(name: str) -> list[pytest.MarkDecorator]:
    return [pytest.mark.posix(POSIX[name])] if name in POSIX else []


def masked(text: str) -> str:
    """Leave out the words that a server draws by lot."""
    return re.sub(r'(?<=-)[0-9a-f]{8}$|(?<="subscription": ")[0-9a-f]+', "…", text, flags=re.MULTILINE)


def outputs_of_process(page: Path, folder: Path) -> str:
    """Run a chapter that has a server in a process of its own."""
    if "\ncurl " in page.read_text(encoding="utf-8") and shutil.which("curl") is None:
        pytest.skip("the chapter needs curl")
    path = os.pathsep.join(filter(None, (str(ROOT / "tests"), os.environ.get("PYTHONPATH"))))
    done = subprocess.run(
        [sys.executable, "-m", "support.chapter", str(page)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        encoding="utf-8",
        timeout=180,
    )
    assert done.returncode == 0, done.stderr
    # A callback that raised is logged. Workers of Spark that end with their session write a traceback too;
    # several at once write theirs into each other.
    assert not re.search(r"Traceback.*\n(?!Traceback|.*pyspark/daemon\.py)", done.stderr)
    return done.stdout


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=marks(page.stem)) for page in CHAPTERS], ids=page_name
)
def test_chapter_prints_what_it_says(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """What stands below a block is what the block prints; where nothing does, it prints nothing."""
    if page.stem == "spark":
        pytest.importorskip("pyspark", reason="the extra spark is not installed")
    said = [masked(block.printed or "") for block in blocks(page)]
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    if page.stem in POSIX:
        printed = outputs_of_process(page, tmp_path)
    else:
        monkeypatch.chdir(tmp_path)
        chapter.main(page)
        printed = capsys.readouterr().out
        assert "Traceback" not in caplog.text
    assert [masked(text) for text in json.loads(printed)] == said


def test_chapters_follow_one_another() -> None:
    """Each chapter ends with a link to the next, in the order of the first page."""
    first = (DOCS / "tutorial" / "index.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\d\. \[.*?\]\((\w+\.md)\)", first, re.MULTILINE)
    assert sorted(listed) == [page.name for page in CHAPTERS]
    for page, following in pairwise(listed):
        text = (DOCS / "tutorial" / page).read_text(encoding="utf-8")
        assert re.findall(r"^\[Next: .*?\]\((.*?)\)", text, re.MULTILINE) == [following]


def test_picture_of_the_plan_is_of_today(tmp_path: Path) -> None:
    """The picture of a plan in the tutorial is the one that the command draws."""
    assert main(["explain", str(ROOT / "examples" / "delayed.rq"), "--svg", str(tmp_path / "plan.svg")]) == 0
    drawn = (tmp_path / "plan.svg").read_text(encoding="utf-8")
    assert (DOCS / "tutorial" / "plan.svg").read_text(encoding="utf-8") == drawn
