"""`rdflive watch`: replay a change feed on data and print how the answer of a query changes."""

from __future__ import annotations

import argparse
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

import rdflib

import rdflive
from rdflive.cli.load import load, open_dataset
from rdflive.cli.query import QueryText, read_query
from rdflive.cli.show import Show, TableWriter, show_json, show_lines
from rdflive.errors import QuerySyntaxError, RdfliveError
from rdflive.feeds import STDIN, FeedFormat, feed_format, feed_format_of, open_lines
from rdflive.model import Batch, Delta

__all__ = ["run"]


@dataclass(slots=True)
class Tally:
    """What a replay has done."""

    batches: int = 0
    changes: int = 0
    deltas: int = 0
    start: float = field(default_factory=time.perf_counter)

    def __str__(self) -> str:
        seconds = time.perf_counter() - self.start
        return f"{self.batches} batches, {self.changes} changes, {self.deltas} deltas in {seconds:.2f} s"


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
        batches = feed.decode(lines, "standard input" if args.changes == STDIN else args.changes)
        _watch(dataset, query, batches, args)


def _watch(
    dataset: rdflib.Dataset, query: QueryText, batches: Iterator[Batch], args: argparse.Namespace
) -> None:
    show = _writer(dataset, args)
    deltas: deque[Delta] = deque()  # a callback that prints would have its errors (a closed pipe) logged
    with query.placed():
        subscription = rdflive.subscribe(dataset, query.text, deltas.append, initial=not args.no_initial)
    with subscription:
        if args.explain:
            print(subscription.explain(), file=sys.stderr)
        while deltas:
            show(deltas.popleft())
        tally = Tally()
        try:
            _replay(dataset, batches, args.pace, deltas, show, tally)
        except (KeyboardInterrupt, RdfliveError):
            print(f"stopped: {tally}", file=sys.stderr)
            raise
        print(tally, file=sys.stderr)


def _replay(
    dataset: rdflib.Dataset,
    batches: Iterator[Batch],
    pace: float,
    deltas: deque[Delta],
    show: Show,
    tally: Tally,
) -> None:
    for batch in batches:
        time.sleep(pace)
        _apply(dataset, batch)
        tally.batches += 1
        tally.changes += len(batch.changes)
        tally.deltas += len(deltas)
        while deltas:
            show(deltas.popleft())


def _apply(dataset: rdflib.Dataset, batch: Batch) -> None:
    """Make the changes of a feed's batch one commit."""
    with rdflive.batch(dataset):
        for sign, (s, p, o, name) in batch.changes:
            graph = dataset.default_graph if name is None else dataset.graph(name)
            try:
                if sign > 0:
                    graph.add((s, p, o))
                else:
                    graph.remove((s, p, o))
            except ValueError as error:  # Oxigraph is stricter about IRIs and language tags
                reason = f"the store refuses {s.n3()} {p.n3()} {o.n3()}: {error}"
                raise RdfliveError(f"batch {batch.sequence}: {reason}") from error


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
