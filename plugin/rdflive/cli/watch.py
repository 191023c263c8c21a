"""`rdflive watch`: replay a change feed on data and print how the answer of a query changes."""

from __future__ import annotations

import argparse
import shutil
import sys

import rdflib

import rdflive
from rdflive.cli.explain import folded
from rdflive.cli.load import load, open_dataset
from rdflive.cli.query import QueryText, read_query
from rdflive.cli.replay import Replay
from rdflive.cli.show import Show, TableWriter, show_json, show_lines
from rdflive.errors import QuerySyntaxError, RdfliveError
from rdflive.feeds import STDIN, FeedFormat, feed_format, feed_format_of, open_lines

__all__ = ["run"]


def run(args: argparse.Namespace) -> None:
    """Load, subscribe, replay and print; what is wrong with the command is found before the load."""
    query = read_query(args.query)
    _check(query)
    feed = _feed_format(args.changes, args.format)
    with open_lines(args.changes) as lines:
        dataset = open_dataset(args.store, union=args.union)
        load(dataset, args.data)
        for prefix, namespace in query.prefixes().items():
            dataset.bind(prefix, namespace, override=False)
        source = "standard input" if args.changes == STDIN else args.changes
        replay = Replay(dataset, source, _writer(dataset, args))
        with query.placed():
            subscription = rdflive.subscribe(
                dataset, query.text, replay.received.append, initial=not args.no_initial
            )
        with subscription:
            if args.explain:
                print(_explained(subscription), file=sys.stderr)
            try:
                replay.run(feed.decode(lines, source), pace=args.pace)
            except (KeyboardInterrupt, RdfliveError):
                print(f"stopped: {replay}", file=sys.stderr)
                raise
            print(replay, file=sys.stderr)


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


def _feed_format(path: str, name: str | None) -> FeedFormat:
    if name is not None:
        return feed_format(name)
    return feed_format("rdf-patch") if path == STDIN else feed_format_of(path)


def _writer(dataset: rdflib.Dataset, args: argparse.Namespace) -> Show:
    if args.json:
        return show_json
    return TableWriter(dataset.namespace_manager) if sys.stdout.isatty() else show_lines
