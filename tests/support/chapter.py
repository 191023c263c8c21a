"""A chapter of the tutorial as a program: `python -m support.chapter PAGE` runs its blocks.

It runs in the current folder, and prints a JSON list of the outputs of all blocks. Python blocks share
their names. It runs the commands `rdflive` and `curl` only, not those that prepare the machine.
A server that a command starts runs until the last block, at a free port in place of 8000. An endless
stream is read for some seconds.
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
"""Exit code of curl after its time limit."""


class Chapter:
    """The state that the blocks of a page share."""

    def __init__(self, page: Path, servers: contextlib.ExitStack) -> None:
        self._page = page
        self._servers = servers
        self._names: dict[str, Any] = {"__name__": "chapter"}
        with socket.create_server(("127.0.0.1", 0)) as free:
            self._address = f"127.0.0.1:{free.getsockname()[1]}"

    def run(self, block: Block) -> str:
        """Run one block and return its output."""
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
            # a server with another address gets any free port
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
    """Yield the `rdflive` and `curl` commands in a shell block, as words."""
    for line in code.replace("\\\n", "").splitlines():
        words = shlex.split(line, comments=True)
        if words and words[0] in ("rdflive", "curl"):
            yield words


def curl(options: list[str]) -> str:
    """Run curl and return its output; with `-N` it reads a stream until the time limit."""
    command = ["curl", "-sS", "--fail", "--max-time", "3" if "-N" in options else "30", *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, encoding="utf-8", check=False)
    assert done.returncode in ((TIMED_OUT,) if "-N" in options else (0,))
    return done.stdout


if __name__ == "__main__":
    main(Path(sys.argv[1]))
