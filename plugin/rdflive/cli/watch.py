"""`rdflive watch`: follow a feed, edited files, a server or an endpoint, and send an answer's changes."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import threading
from typing import Any, Final

import rdflib

import rdflive
from rdflive.cli.changes import check_readable, feed_name, format_of
from rdflive.cli.common_options import entailment_options
from rdflive.cli.edited import EditedFiles
from rdflive.cli.endpoint import follow_endpoint, read_endpoint
from rdflive.cli.explain import folded
from rdflive.cli.notes import introduce, say_query_notes
from rdflive.cli.progress import Progress
from rdflive.cli.query import QueryText, read_query
from rdflive.cli.shapes import check_guards, guarded
from rdflive.cli.stored import load_once, opened
from rdflive.cli.targets import open_target
from rdflive.cli.watch_options import check_options, is_url
from rdflive.client.subscription import RemoteSubscription
from rdflive.errors import RdfliveError, ResyncNeeded, UnsupportedQueryError
from rdflive.feeds import FeedFormat, Snapshot
from rdflive.http import without_query

__all__ = ["LOOKS", "check_query", "entailed_options", "replay", "run", "subscribed_there"]

LOOKS: Final = 0.5
"""Seconds between two checks of a file for more content."""


def run(args: argparse.Namespace) -> None:
    """Load, subscribe, replay and send; errors of the command are raised before the load."""
    query = read_query(args.query)
    check_options(args, query.form())
    check_query(query)
    if any(map(is_url, args.data)):
        _follow_server(args, query)
        return
    entailed = entailed_options(query, args)
    if args.endpoint is not None:
        _follow_endpoint(args, query, entailed)
        return
    if args.changes is None:
        _follow_data(args, query, entailed)
        return
    form = format_of(args)
    guards = check_guards(args.guard)
    for path in filter(None, (args.changes, args.snapshot)):
        check_readable(path)
    with (
        opened(args.store, args.store_path, union=args.union) as dataset,
        open_target(args) as send,
    ):
        introduce(args, query.source, form)
        name = feed_name(args)
        paths = args.data if args.snapshot is None else [args.snapshot]
        is_new = load_once(
            dataset, paths, store_path=args.store_path, feed=name, is_snapshot=args.snapshot is not None
        )
        with _subscribed(dataset, query, args, entailed) as subscription:
            if args.explain:
                print(_explained(subscription), file=sys.stderr)
            else:
                say_query_notes(subscription)
            progress = Progress(subscription, send, pace=args.pace)
            with guarded(dataset, guards):
                # a snapshot that was loaded above need not replace anything
                replay(dataset, form, progress, args, name=name, snapshot=None if is_new else args.snapshot)
            if args.to == "sse":
                print("the feed has ended; Ctrl-C ends the service", file=sys.stderr, flush=True)
                threading.Event().wait()


def _follow_data(args: argparse.Namespace, query: QueryText, entailed: dict[str, Any]) -> None:
    """Follow the files as they are edited."""
    guards = check_guards(args.guard)
    with opened(args.store, None, union=args.union) as dataset, open_target(args) as send:
        introduce(args, query.source, None)
        files = EditedFiles(dataset, args.data, LOOKS)
        files.load()
        with _subscribed(dataset, query, args, entailed) as subscription:
            if args.explain:
                print(_explained(subscription), file=sys.stderr)
            else:
                say_query_notes(subscription)
            progress = Progress(subscription, send, pace=0)
            progress.begin()
            with guarded(dataset, guards):
                for _ in files.looks():  # also without an edit: time may have changed the answer
                    progress.resynced()


def _follow_endpoint(args: argparse.Namespace, query: QueryText, entailed: dict[str, Any]) -> None:
    """Follow a SPARQL endpoint, until Ctrl-C."""
    with opened(args.store, None, union=args.union) as dataset, open_target(args) as send:
        # the endpoint is asked for what open subscriptions need, and the first answer comes after it was read
        with query.placed():
            needing = rdflive.subscribe(dataset, query.text, initial=False, **entailed)
        with needing:
            read_endpoint(dataset, args)
            subscription = _subscribed(dataset, query, args, entailed)
        with subscription:
            if args.explain:
                print(_explained(subscription), file=sys.stderr)
            else:
                say_query_notes(subscription)
            if sys.stderr.isatty():
                print(
                    f"watching {query.source} on {without_query(args.endpoint)}; Ctrl-C ends", file=sys.stderr
                )
            progress = Progress(subscription, send, pace=0)
            progress.begin()
            try:
                follow_endpoint(dataset, args, progress.take)
            except KeyboardInterrupt:
                print(f"stopped: {progress}", file=sys.stderr)
                raise


def _follow_server(args: argparse.Namespace, query: QueryText) -> None:
    """Follow a server, until it ends the subscription."""
    with (
        open_target(args) as send,
        subscribed_there(args, query, initial=not args.no_initial) as subscription,
    ):
        if args.explain:
            print(_explained(subscription), file=sys.stderr)
        else:
            say_query_notes(subscription)
        if sys.stderr.isatty():
            print(f"watching {query.source} on {args.data[0]}; Ctrl-C ends", file=sys.stderr)
        for delta in subscription.deltas():
            send(delta)
        if subscription.last_error is not None:
            raise subscription.last_error


def _subscribed(
    dataset: rdflib.Dataset, query: QueryText, args: argparse.Namespace, entailed: dict[str, Any]
) -> rdflive.Subscription:
    with query.placed():
        return rdflive.subscribe(
            dataset,
            query.text,
            initial=not args.no_initial,
            name=args.name,
            resume=args.resume,
            audit=args.audit,
            **entailed,
        )


def replay(
    dataset: rdflib.Dataset,
    form: FeedFormat,
    progress: Progress,
    args: argparse.Namespace,
    *,
    name: str | None,
    snapshot: str | None,
) -> None:
    """Apply a feed, entry by entry, and print a summary at the end."""

    def resynced(_: Snapshot) -> None:
        print(f"{snapshot} has replaced the data of {args.store_path}", file=sys.stderr, flush=True)
        progress.resynced()

    try:
        progress.begin()
        rdflive.mirror(
            dataset,
            args.changes,
            form,
            name=name,
            snapshot=snapshot,
            on_bad=args.on_bad,
            dead_letters=args.dead_letters,
            follow=LOOKS if args.follow else None,
            on_entry=progress.take,
            on_resync=resynced,
        )
    except (KeyboardInterrupt, RdfliveError) as error:
        print(f"stopped: {progress}", file=sys.stderr)
        # its own text names an argument of `mirror`, not an option of the command
        if isinstance(error, ResyncNeeded):
            raise RdfliveError(_advised(error)) from error
        raise
    print(progress, file=sys.stderr)


def _explained(subscription: rdflive.Subscription | RemoteSubscription) -> str:
    text = str(subscription.explain())
    if not sys.stderr.isatty():
        return text
    return "\n".join(folded(text, shutil.get_terminal_size().columns))


def check_query(query: QueryText) -> None:
    """Refuse an unsupported query before a long load; the data may still declare its prefixes."""
    with query.placed():
        rdflive.explain(query.text, initNs=query.assumed())


def subscribed_there(args: argparse.Namespace, query: QueryText, *, initial: bool) -> RemoteSubscription:
    """Subscribe at the server whose URL is in place of DATA."""
    token = None if args.token_env is None else os.environ[args.token_env]
    try:
        server = rdflive.connect(args.data[0], token)
    except ValueError as error:
        raise RdfliveError(str(error).replace("token= instead", "--token-env instead")) from error
    with query.placed():
        entailment = args.entail[0] if args.entail else None
        return server.subscribe(query.text, initial=initial, entailment=entailment)


def entailed_options(query: QueryText, args: argparse.Namespace) -> dict[str, Any]:
    """Return the options of entailment; refuse queries that they do not support before a long load.

    Text and tables show the provenance of solutions, if the query supports that.
    """
    options = entailment_options(args)
    if not options:
        return {}
    with query.placed():
        if args.to in ("text", "table") and getattr(args, "resume", None) is None:
            try:
                _try(query, provenance=True, **options)
                return {**options, "provenance": True}
            except UnsupportedQueryError as error:
                if error.construct != "provenance":
                    raise
        _try(query, **options)
    return options


def _try(query: QueryText, **options: Any) -> None:
    """Subscribe to an empty dataset, to raise errors early."""
    rdflive.subscribe(rdflib.Dataset(), query.text, initial=False, initNs=query.assumed(), **options).close()


def _advised(error: ResyncNeeded) -> str:
    return (
        f"{error.source}: {error.reason}; give the full state before this feed as --snapshot FILE (N-Quads) "
        "in place of DATA, or name another feed with --feed-name if this one continues from the present data"
    )
