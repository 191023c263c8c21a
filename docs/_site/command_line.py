"""Hook of mkdocs: replace `<!-- rdflive watch --help -->` on a page by the output of that command."""

from __future__ import annotations

import os
import re
import subprocess
import sys

PLACE = re.compile(r"^<!-- rdflive (.*)-->$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: object) -> str:
    """Run the commands that the page names."""
    return PLACE.sub(lambda place: shown(place[1].split()), markdown)


def shown(arguments: list[str]) -> str:
    """Return the output of a command as a block of text."""
    command = [sys.executable, "-m", "rdflive", *arguments]
    environment = {**os.environ, "COLUMNS": "100"}
    done = subprocess.run(  # noqa: S603 - a page of ours names the command
        command, env=environment, check=True, stdout=subprocess.PIPE, encoding="utf-8"
    )
    return f"```text\n{done.stdout.rstrip()}\n```"
