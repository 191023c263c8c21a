"""The feed of a command: its format, its name and its readability."""

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
"""The formats that need a mapping, with the functions that take it."""
_JSON: Final = re.compile(r"\.(jsonl|ndjson|json)(\.gz)?\Z", re.IGNORECASE)
_URL: Final = re.compile("https?://", re.IGNORECASE)


def format_of(args: argparse.Namespace) -> FeedFormat:
    """Return the format of the feed, by options or file ending; standard input is RDF Patch."""
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
        # formats without an ending may be JSON Lines
        names = sorted(name for name, form in feed_formats().items() if not form.endings)
        raise RdfliveError(
            f"{args.changes}: several formats are JSON Lines; choose with --format: {', '.join(names)}"
        ) from error


def feed_name(args: argparse.Namespace) -> str | None:
    """Return the name of the feed: `--feed-name`, or the real path of a file.

    A stream has no default, as it cannot be recognised.
    """
    # a link to the file is the same feed
    default = None if is_stream(args.changes) else os.path.realpath(args.changes)
    return default if args.feed_name is None else str(args.feed_name)


def is_stream(path: str) -> bool:
    """Return True for standard input and pipes, which cannot be read again."""
    return path == STDIN or (os.path.exists(path) and not os.path.isfile(path))


def check_readable(path: str) -> None:
    """Raise OSError for an unreadable file; leave a pipe alone, whose writer would see it close."""
    if path != STDIN and not stat.S_ISFIFO(os.stat(path).st_mode):
        open(path, "rb").close()


def _check_source(path: str) -> None:
    if _URL.match(path):
        raise RdfliveError(
            f"{path}: --changes takes a file; a SPARQL endpoint is followed by `rdflive watch --endpoint "
            "URL`, and in Python by rdflive.mirror(graph, rdflive.endpoint(URL))"
        )
