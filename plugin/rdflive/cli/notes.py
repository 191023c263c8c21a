"""Notes of commands on standard error."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from rdflive.cli.changes import feed_name
from rdflive.client import RemoteSubscription, ServerError
from rdflive.delivery.subscription import Subscription
from rdflive.feeds import STDIN, FeedFormat
from rdflive.model import to_printable

__all__ = ["introduce", "say_notes", "say_query_notes"]

_LISTED: Final = 3
"""Up to this number of DATA files are named; more are counted."""


def introduce(args: argparse.Namespace, query: str, form: FeedFormat | None) -> None:
    """Print the watched query and data on a terminal, and what the next run cannot resume."""
    if sys.stderr.isatty():
        print(_introduction(args, query, form), file=sys.stderr)
    source = _source(args)
    if args.store_path is not None and form is not None and feed_name(args) is None:
        print(
            f"{source} is not resumed: the next run applies its full input; with --feed-name NAME it resumes "
            "an input that begins the same",
            file=sys.stderr,
        )
    if args.resume is not None and args.store_path is None and form is not None:
        print(
            f"without --store-path DIR the next run loads the data again and reads {source} from its "
            "beginning; --resume delivers the difference",
            file=sys.stderr,
        )


def say_notes(notes: Iterable[str]) -> None:
    """Print notes, such as names that may be misspelt."""
    for note in notes:
        print(f"note: {to_printable(note)}", file=sys.stderr, flush=True)


def say_query_notes(subscription: Subscription | RemoteSubscription) -> None:
    """Print the names in the query that are missing from the data."""
    with suppress(ServerError):  # a server may refuse to explain but still answer
        say_notes(subscription.explain().notes)


def _introduction(args: argparse.Namespace, query: str, form: FeedFormat | None) -> str:
    paths = [args.snapshot] if args.snapshot is not None else args.data
    loaded = ", ".join(paths) if len(paths) <= _LISTED else f"{len(paths)} files"
    store = args.store_path or ("memory" if args.store == "memory" else "Oxigraph in memory")
    rules = ", ".join("rules of your own" if "{" in given else given for given in args.entail)
    entailed = f" and what it entails by {rules}" if rules else ""
    parts = [
        f"watching {query} on {loaded or 'no data'}{entailed}",
        f"changes: {_source(args)}" + (f" ({form.name})" if form is not None else ""),
        f"store: {store}",
    ]
    if args.follow or args.changes in (None, STDIN) or args.to == "sse":
        parts.append("Ctrl-C ends")
    return "; ".join(parts)


def _source(args: argparse.Namespace) -> str:
    if args.changes is None:
        return "the edits of these files"
    return "standard input" if args.changes == STDIN else str(args.changes)
