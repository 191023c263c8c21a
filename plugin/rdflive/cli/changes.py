"""The feed that `rdflive watch` replays: its format, its name, and whether it can be read."""

from __future__ import annotations

import argparse
import os
import re
import stat
from collections.abc import Callable
from typing import Final

from rdflive.errors import RdfliveError
from rdflive.feeds import STDIN, FeedFormat, feed_format, feed_format_of
from rdflive.feeds.formats import FeedFormatError, feed_formats
from rdflive.feeds.tables.debezium import debezium
from rdflive.feeds.tables.delta_lake import delta_lake

__all__ = ["check_readable", "feed_name", "format_of", "is_stream"]

_MAPPED: Final[dict[str, Callable[[str], FeedFormat]]] = {"debezium": debezium, "delta-lake": delta_lake}
"""The formats that need a mapping, and how one of them is made with it."""
_JSON: Final = re.compile(r"\.(jsonl|ndjson|json)(\.gz)?\Z", re.IGNORECASE)
_URL: Final = re.compile("https?://", re.IGNORECASE)


def format_of(args: argparse.Namespace) -> FeedFormat:
    """Find the format of the feed by the options or the ending of the file; standard input is RDF Patch."""
    _check_source(args.changes)
    if (args.mapping is not None) is not (args.format in _MAPPED):
        raise RdfliveError(f"--mapping FILE and --format {' or '.join(_MAPPED)} go together")
    if args.mapping is not None:
        return _MAPPED[args.format](args.mapping)
    if args.format is not None:
        return feed_format(args.format)
    if args.changes == STDIN:
        return feed_format("rdf-patch")
    try:
        return feed_format_of(args.changes)
    except FeedFormatError as error:
        if not _JSON.search(args.changes):
            raise
        # what has no ending of its own is JSON Lines, or may be
        names = sorted(name for name, form in feed_formats().items() if not form.endings)
        raise RdfliveError(
            f"{args.changes}: several feeds are JSON Lines; say with --format which: {', '.join(names)}"
        ) from error


def feed_name(args: argparse.Namespace) -> str | None:
    """Name the feed: as told, or a file by its real path, wherever the command is run.

    Nothing says by itself that a stream is the same again.
    """
    # a link to the file is the same feed
    default = None if is_stream(args.changes) else os.path.realpath(args.changes)
    return default if args.feed_name is None else str(args.feed_name)


def is_stream(path: str) -> bool:
    """Tell standard input and pipes, which cannot be read again, from files."""
    return path == STDIN or (os.path.exists(path) and not os.path.isfile(path))


def check_readable(path: str) -> None:
    """Raise OSError for a file that cannot be read; a pipe is left alone, whose writer would see it close."""
    if path != STDIN and not stat.S_ISFIFO(os.stat(path).st_mode):
        open(path, "rb").close()


def _check_source(path: str) -> None:
    if _URL.match(path):
        raise RdfliveError(
            f"{path}: --changes takes a file; a SPARQL endpoint is followed in Python, by "
            "rdflive.mirror(graph, rdflive.endpoint(URL))"
        )
