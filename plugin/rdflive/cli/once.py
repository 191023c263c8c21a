"""`rdflive query`: the answer of a query, once."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import rdflive
from rdflive.cli.notes import say_query_notes
from rdflive.cli.out_file import STDOUT, naming
from rdflive.cli.query import QueryText, read_query
from rdflive.cli.show import CsvWriter, LineWriter, TableWriter, answered
from rdflive.cli.stored import load_once, opened
from rdflive.cli.watch import check_query, entailed_options, subscribed_there
from rdflive.cli.watch_options import check_query_options, is_url
from rdflive.model import Delta, Rows
from rdflive.sinks import PatchSink
from rdflive.sinks.ndjson import solution_text
from rdflive.syntax.tokens import tokenize

__all__ = ["run"]


def run(args: argparse.Namespace) -> None:
    """Load, and print the answer with which `rdflive watch` would begin."""
    query = read_query(args.query)
    check_query_options(args, query.form())
    check_query(query)
    if any(map(is_url, args.data)):
        with subscribed_there(args, query, initial=True) as served:
            delta = next(served.deltas())
            _print(args, query, delta, served.answers())  # `answers` has the order of ORDER BY
            say_query_notes(served)
        return
    entailed = entailed_options(query, args)
    entailed.pop("provenance", None)  # for deltas only; not shown here
    with opened(args.store, args.store_path, union=args.union) as dataset:
        load_once(dataset, args.data, store_path=args.store_path, feed=None)
        with query.placed(), rdflive.subscribe(dataset, query.text, **entailed) as subscription:
            delta = next(subscription.deltas())
            say_query_notes(subscription)
        _print(args, query, delta, delta.native.added)  # with the lexical forms of the store


def _print(args: argparse.Namespace, query: QueryText, delta: Delta, rows: Rows[Any]) -> None:
    with naming(STDOUT):
        if args.to == "patch":
            PatchSink(sys.stdout)(delta)
        elif args.to == "ndjson":
            is_ask = delta.answer is not None
            for line in [json.dumps({"boolean": delta.answer})] if is_ask else map(solution_text, rows):
                print(line)
        else:
            writer = _writer(args)
            writer.show(answered(delta, rows, writer.texts(delta.prefixes), ordered=_is_ordered(query)))


def _writer(args: argparse.Namespace) -> LineWriter | TableWriter | CsvWriter:
    if args.to == "csv":
        return CsvWriter()
    return LineWriter(full=args.full) if args.to == "text" else TableWriter(full=args.full)


def _is_ordered(query: QueryText) -> bool:
    """Return True if the query, or a subquery, has ORDER BY; rows then keep their order."""
    return any(token.kind == "word" and token.text.upper() == "ORDER" for token in tokenize(query.text))
