"""The command line on a small example, in this process."""

from __future__ import annotations

import os
import re
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest

from rdflive.cli import main

DATA = "@prefix e: <http://e/> . e:a e:p e:b , 1 .\n"
QUERY = "PREFIX e: <http://e/> SELECT ?s ?o { ?s e:p ?o }"
ON_DATA = ["-m", "rdflive", "watch", "data.ttl", "--query", QUERY, "--changes", "c.rdfp"]
QUICK = [
    "-c",
    """
import importlib, sys
for name in ("watch.LOOKS", "validate.LOOKS", "serve._LOOKS"):
    module, _, variable = name.partition(".")
    setattr(importlib.import_module(f"rdflive.cli.{module}"), variable, 0.1)
sys.exit(importlib.import_module("rdflive.cli").main(sys.argv[1:]))
""",
]
"""Arguments of Python that replace `-m rdflive` and poll followed files more often."""
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
    """Return this system's message for a missing file."""
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


def changes(*rows: str) -> str:
    """Write an RDF Patch feed with one transaction per row."""
    return "".join(f"TX .\n{row} .\nTC .\n" for row in rows)


def watch(*options: str, data: str = "data.ttl", query: str = "q.rq", changes: str = "c.rdfp") -> int:
    """Run `rdflive watch` in this process on the files of the working folder; text output has full terms."""
    full = [] if "--to" in options else ["--full"]
    return main(["watch", *data.split(), "--query", query, "--changes", changes, *full, *options])


def uncounted(text: str) -> str:
    """Remove the commit numbers from lines, and the note about an empty answer."""
    return re.sub(r"^#\S+  (?:no solutions\n)?", "", text, flags=re.MULTILINE)


def printed(capsys: pytest.CaptureFixture[str]) -> str:
    """Return the printed text without commit numbers."""
    return uncounted(capsys.readouterr().out)


def on_terminal(
    arguments: Sequence[str], monkeypatch: pytest.MonkeyPatch, *, columns: int = 80, colour: bool = True
) -> str:
    """Run `rdflive` with standard output and error on a terminal, and return the shown text."""
    import pty

    ours, theirs = pty.openpty()
    shown = bytearray()

    def read() -> None:
        with suppress(OSError):  # Linux reports so that the other side is closed
            while chunk := os.read(ours, 65536):
                shown.extend(chunk)

    reader = threading.Thread(target=read)
    reader.start()
    with monkeypatch.context() as patched, open(theirs, "w", encoding="utf-8") as stream:
        for name, value in (("COLUMNS", str(columns)), ("TERM", "xterm-256color")):
            patched.setenv(name, value)
        patched.delenv("NO_COLOR", raising=False)
        if not colour:
            patched.setenv("NO_COLOR", "1")
        patched.setattr(sys, "stdout", stream)
        patched.setattr(sys, "stderr", stream)
        assert main(list(arguments)) == 0
    reader.join()
    os.close(ours)
    return shown.decode().replace("\r\n", "\n")


def without_colours(text: str) -> str:
    """Remove terminal escape sequences from a text."""
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)
