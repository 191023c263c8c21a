"""The files of a command: a written file may have no other use."""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Hashable, Iterator
from typing import Final

from rdflive.cli.out_file import STDOUT
from rdflive.errors import RdfliveError
from rdflive.feeds import STDIN

__all__ = ["check_distinct"]

_READ: Final = ("data", "entail", "guard", "query", "snapshot", "mapping", "changes")
_WRITTEN: Final = ("out", "dead_letters", "resume")
_PRINTED: Final = ("text", "table", "ndjson", "csv", "patch")
"""The targets that write to standard output without a file."""


def check_distinct(args: argparse.Namespace) -> None:
    """Refuse a written file with a second use: it would grow while it is read, or be corrupted.

    Links are followed. A device such as /dev/null may have any number of uses.
    """
    seen: dict[Hashable, str] = {}
    for use, path in _given(args, _READ):
        seen.setdefault(_place(path), use)
    for use, path in _given(args, _WRITTEN):
        place = _place(path)
        other = use if place is None else seen.setdefault(place, use)
        if other != use:
            shown = f"{use} itself" if isinstance(path, int) else path
            raise RdfliveError(f"{shown}: is the file of {other} too; each needs its own file")


def _given(args: argparse.Namespace, options: tuple[str, ...]) -> Iterator[tuple[str, str | int]]:
    """Yield the use of each file, with its path or the descriptor of a standard stream."""
    for option in options:
        given = getattr(args, option)
        if option == "data":
            yield from (("DATA", path) for path in given)
        elif option in ("entail", "guard"):
            yield from ((f"--{option}", path) for path in given)
        elif option == "changes" and given == STDIN:
            yield from _stream("standard input", sys.stdin)
        elif given is not None:
            yield f"--{option.replace('_', '-')}", given
        elif option == "out" and args.to in _PRINTED:
            yield from _stream(STDOUT, sys.stdout)


def _stream(name: str, stream: object) -> Iterator[tuple[str, int]]:
    try:
        yield name, stream.fileno()  # type: ignore[attr-defined]  # a file, or a stand-in
    except OSError:
        return  # a stream in memory has no descriptor


def _place(path: str | int) -> Hashable:
    """Return the identity of a file, equal for all its names; None for devices, which may be shared."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):  # a file that does not exist yet, or the text of a query
        return os.path.realpath(path) if isinstance(path, str) and "\0" not in path else None
    shared = stat.S_ISREG(found.st_mode) or stat.S_ISFIFO(found.st_mode)
    return (found.st_dev, found.st_ino) if shared else None
