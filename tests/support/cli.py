"""The command line on a small example."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from rdflive.cli import main

DATA = "@prefix e: <http://e/> . e:a e:p e:b , 1 .\n"
QUERY = "PREFIX e: <http://e/> SELECT ?s ?o { ?s e:p ?o }"
ON_DATA = ["-m", "rdflive", "watch", "data.ttl", "--query", QUERY, "--changes", "c.rdfp"]
PATCH = """\
TX .
A <http://e/c> <http://e/p> "x\\ny"@en .
D <http://e/a> <http://e/p> <http://e/b> .
TC .
TX .
A <http://e/c> <http://e/q> <http://e/d> .
TC .
"""


def absent(path: str) -> str:
    """Say that a file is not there in the words of this system."""
    try:
        os.stat(path)
    except FileNotFoundError as error:
        return f"{path}: {error.strerror}"
    raise AssertionError(f"{path} is there")


def write_example() -> None:
    """Write data, a query and changes into the working folder."""
    Path("data.ttl").write_text(DATA)
    Path("q.rq").write_text(QUERY)
    Path("c.rdfp").write_text(PATCH)


def watch(*options: str, data: str = "data.ttl", query: str = "q.rq", changes: str = "c.rdfp") -> int:
    """Run `rdflive watch` in this process on the files of the working folder; text has whole terms."""
    full = [] if "--to" in options else ["--full"]
    return main(["watch", *data.split(), "--query", query, "--changes", changes, *full, *options])


def uncounted(text: str) -> str:
    """Take the numbers of commits from lines, and what is said of an empty answer."""
    return re.sub(r"^#\S+  (?:no solutions\n)?", "", text, flags=re.MULTILINE)


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    """Give what was printed, without the numbers of commits."""
    return uncounted(capsys.readouterr().out)
