"""`rdflive watch`: replay a change feed on data and send on how the answer of a query changes."""

from __future__ import annotations

import argparse
import os
import shutil
import stat
import sys
import threading
from collections.abc import Callable
from typing import Final

import rdflib

import rdflive
from rdflive.cli.explain import folded
from rdflive.cli.progress import Progress
from rdflive.cli.query import QueryText, read_query
from rdflive.cli.stored import load_once, opened
from rdflive.cli.targets import open_target
from rdflive.cli.watch_options import check_options
from rdflive.errors import QuerySyntaxError, RdfliveError
from rdflive.feeds import STDIN, FeedFormat, feed_format, feed_format_of
from rdflive.feeds.tables.debezium import debezium
from rdflive.feeds.tables.delta_lake import delta_lake

__all__ = ["run"]

_MAPPED: Final[dict[str, Callable[[str], FeedFormat]]] = {"debezium": debezium, "delta-lake": delta_lake}
"""The formats that need a mapping, and how one of them is made with it."""


def run(args: argparse.Namespace) -> None:
    """Load, subscribe, replay and send; what is wrong with the command is found before the load."""
    query = read_query(args.query)
    check_options(args, query.form())
    _check(query)
    form = _feed_format(args)
    _check_readable(args.changes)
    with (
        opened(args.store, args.store_path, union=args.union) as dataset,
        open_target(args, dataset) as send,
    ):
        load_once(dataset, args.data, store_path=args.store_path, feed=_feed_name(args.changes))
        with _subscribed(dataset, query, args) as subscription:
            if args.explain:
                print(_explained(subscription), file=sys.stderr)
            _replay(dataset, form, Progress(subscription, send, pace=args.pace), args)
            if args.to == "sse":
                print("the feed has ended; Ctrl-C ends the service", file=sys.stderr, flush=True)
                threading.Event().wait()


def _subscribed(dataset: rdflib.Dataset, query: QueryText, args: argparse.Namespace) -> rdflive.Subscription:
    for prefix, namespace in query.prefixes().items():
        dataset.bind(prefix, namespace, override=False)
    with query.placed():
        return rdflive.subscribe(
            dataset, query.text, initial=not args.no_initial, name=args.name, resume=args.resume
        )


def _replay(dataset: rdflib.Dataset, form: FeedFormat, progress: Progress, args: argparse.Namespace) -> None:
    try:
        progress.begin()
        rdflive.mirror(
            dataset,
            args.changes,
            form,
            name=_feed_name(args.changes),
            on_bad=args.on_bad,
            dead_letters=args.dead_letters,
            on_entry=progress.take,
        )
    except (KeyboardInterrupt, RdfliveError):
        print(f"stopped: {progress}", file=sys.stderr)
        raise
    print(progress, file=sys.stderr)


def _explained(subscription: rdflive.Subscription) -> str:
    text = str(subscription.explain())
    if not sys.stderr.isatty():
        return text
    return "\n".join(folded(text, shutil.get_terminal_size().columns))


def _check(query: QueryText) -> None:
    """Refuse what cannot be watched before a long load; a prefix may yet come with the data."""
    with query.placed():
        try:
            rdflive.explain(query.text, initNs=dict(rdflib.Graph().namespaces()))
        except QuerySyntaxError as error:
            if error.line:
                raise


def _feed_format(args: argparse.Namespace) -> FeedFormat:
    if (args.mapping is not None) is not (args.format in _MAPPED):
        raise RdfliveError(f"--mapping FILE and --format {' or '.join(_MAPPED)} go together")
    if args.mapping is not None:
        return _MAPPED[args.format](args.mapping)
    if args.format is not None:
        return feed_format(args.format)
    return feed_format("rdf-patch") if args.changes == STDIN else feed_format_of(args.changes)


def _feed_name(path: str) -> str | None:
    """Name a file wherever the command is run; nothing says that standard input is the same again."""
    return None if path == STDIN else os.path.abspath(path)


def _check_readable(path: str) -> None:
    """Raise OSError for a file that cannot be read; a pipe is left alone, whose writer would see it close."""
    if path != STDIN and not stat.S_ISFIFO(os.stat(path).st_mode):
        open(path, "rb").close()
