"""A chapter of the tutorial as a program: `python -m support.chapter PAGE` runs its blocks.

It runs in the current folder, and prints a list of JSON with what each block printed. Python blocks share
their names. Of the commands, those of `rdflive` and `curl` are run; those that prepare the machine are not.
A server that a command starts goes on beside the blocks behind it, at a free port in place of 8000, and a
stream that would never end is followed for some seconds.
"""

from __future__ import annotations

import contextlib
import io
import json
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rdflive.cli import main as rdflive
from support.pages import Block, blocks

__all__ = ["main"]

WRITTEN = "127.0.0.1:8000"
TIMED_OUT = 28
"""With this curl ends when its time is up."""


class Chapter:
    """What the blocks of a page share."""

    def __init__(self, page: Path, servers: contextlib.ExitStack) -> None:
        self._page = page
        self._servers = servers
        self._names: dict[str, Any] = {"__name__": "chapter"}
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._address = f"127.0.0.1:{free.getsockname()[1]}"

    def run(self, block: Block) -> str:
        """Run one block and give what it printed."""
        code = block.code.replace(WRITTEN, self._address)
        if block.language == "sh":
            printed = "".join(self._command(command) for command in commands(code))
        else:
            stream = io.StringIO()
            with contextlib.redirect_stdout(stream):
                exec(compile(code, self._page.name, "exec"), self._names)
            printed = stream.getvalue()
        return printed.replace(self._address, WRITTEN)

    def _command(self, arguments: list[str]) -> str:
        program, *options = arguments
        if program == "curl":
            return curl(options)
        if options[0] == "serve":
            # one that listens elsewhere does so at any free port
            listen = "127.0.0.1:0" if "--listen" in options else self._address
            self._serve([sys.executable, "-m", "rdflive", *options, "--listen", listen])
            return ""
        stream = io.StringIO()
        with contextlib.redirect_stdout(stream):
            assert rdflive(options) == 0
        return stream.getvalue()

    def _serve(self, command: list[str]) -> None:
        server = self._servers.enter_context(
            subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8")
        )
        self._servers.callback(server.terminate)
        assert server.stderr is not None
        while "serving" not in (line := server.stderr.readline()):
            assert line, "the server has ended"


def main(page: Path) -> None:
    """Run the blocks of the page in order."""
    with contextlib.ExitStack() as servers:
        chapter = Chapter(page, servers)
        print(json.dumps([chapter.run(block) for block in blocks(page)]))


def commands(code: str) -> Iterator[list[str]]:
    """List the commands in a block of shell that are run, as words."""
    for line in code.replace("\\\n", "").splitlines():
        words = shlex.split(line, comments=True)
        if words and words[0] in ("rdflive", "curl"):
            yield words


def curl(options: list[str]) -> str:
    """Run curl; with `-N` it follows a stream."""
    command = ["curl", "-sS", "--fail", "--max-time", "3" if "-N" in options else "30", *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=False)
    assert done.returncode in ((TIMED_OUT,) if "-N" in options else (0,))
    return done.stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]))
