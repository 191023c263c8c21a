"""Hook of mkdocs: replace `<!-- rdflive watch --help -->` on a page by the output of that command, and
`<!-- rdflive serve --config keys -->` by the table of the keys of its configuration file.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys

from rdflive.cli.command import make_parser
from rdflive.cli.config import config_keys, type_of

KEYS = re.compile(r"^<!-- rdflive (\w+) --config keys -->$", re.MULTILINE)
PLACE = re.compile(r"^<!-- rdflive (.*)-->$", re.MULTILINE)


def on_page_markdown(markdown: str, **_: object) -> str:
    """Run the commands that the page names."""
    markdown = KEYS.sub(lambda place: table_of_keys(place[1]), markdown)
    return PLACE.sub(lambda place: shown(place[1].split()), markdown)


def shown(arguments: list[str]) -> str:
    """Return the output of a command as a block of text."""
    command = [sys.executable, "-m", "rdflive", *arguments]
    environment = {**os.environ, "COLUMNS": "100"}
    done = subprocess.run(  # noqa: S603 - a page of ours names the command
        command, env=environment, check=True, stdout=subprocess.PIPE, encoding="utf-8"
    )
    return f"```text\n{done.stdout.rstrip()}\n```"


def table_of_keys(command: str) -> str:
    """Return the keys of a command's configuration file, with their types and the help of the options."""
    parser = make_parser(command)
    named: dict[argparse.Action, list[str]] = {}
    for key, action in config_keys(parser).items():
        named.setdefault(action, []).append(f"`{key}`")
    rows = [
        f"| {', '.join(keys)} | {type_of(action)} | {cell(str(action.help) % vars(action))} |"
        for action, keys in named.items()
    ]
    return "\n".join(["| key | type | means |", "|---|---|---|", *rows])


def cell(text: str) -> str:
    """Write a text in a table."""
    return text.replace("|", "\\|")
