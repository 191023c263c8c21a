"""The words of the project: plain English, and one name for one thing."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

from support.shared import ROOT

WORDS = ("nobody", "somebody", "whoever", "everybody", "anew")
BANNED = re.compile(rf"\b({'|'.join(WORDS)})\b", re.IGNORECASE)
TOPS = ("plugin", "store_adapters", "tests", "docs", "examples", ".ci")
KINDS = {".py", ".md", ".js", ".html", ".css", ".toml", ".ini", ".txt", ".yml", ".svg", ".n3", ".ipynb", ""}
VENDORED = ("page/static/editor.js", "page/static/graph.js")
PRODUCT = [path for top in ("plugin", "store_adapters") for path in (ROOT / top).rglob("*.py")]


def texts() -> list[Path]:
    """List the files that people write: not what a build makes of the code of others."""
    found = [path for path in ROOT.glob("*.*") if path.is_file()]
    found += [path for top in TOPS for path in (ROOT / top).rglob("*") if path.is_file()]
    return [
        path
        for path in found
        if path.suffix in KINDS
        and path != Path(__file__)
        and "__pycache__" not in path.parts
        and "node_modules" not in path.parts
        and not path.as_posix().endswith(VENDORED)
    ]


def test_no_text_has_a_banned_word() -> None:
    """Sentences name the actor: the subscription, the adapter, the caller."""
    files = texts()
    assert len(files) > 1000
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in files
        for number, line in enumerate(path.read_text("utf-8").splitlines(), 1)
        if BANNED.search(line)
    ]
    assert found == []


@pytest.mark.parametrize("word", WORDS)
def test_banned_words_are_found(word: str) -> None:
    """A sentence with one of them is found, and a name that contains one is not."""
    assert BANNED.search(f"it is asked by {word}.")
    assert BANNED.search(f"{word.title()} asks.")
    assert not BANNED.search(f"x{word}x and {word}_name")


def test_a_class_has_a_name_of_its_own() -> None:
    """One name has one meaning in the whole product."""
    places: dict[str, list[str]] = defaultdict(list)
    for path in PRODUCT:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert len(places) > 500
    assert {name: found for name, found in places.items() if len(found) > 1} == {}
