"""`rdflive serve`: a graph over HTTP, with subscriptions."""

from __future__ import annotations

import argparse
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any, Final

import rdflib

import rdflive
from rdflive.cli.changes import check_readable, feed_name, format_of
from rdflive.cli.serve_options import check_serve_options
from rdflive.cli.stored import load_once, opened
from rdflive.errors import RdfliveError
from rdflive.feeds import Entry

__all__ = ["run"]

_LOOKS: Final = 0.5
"""Seconds between two looks for more at the end of a file."""
_GRACE: Final = 10.0
"""Seconds that an entry of the feed has at the end, which must not be cut in two."""


def run(args: argparse.Namespace) -> None:
    """Load and serve until Ctrl-C; what is wrong with the command is found before the load."""
    try:
        from rdflive.server import run as server
        from rdflive.server.access import is_loopback, read_tokens
        from rdflive.server.app import make_app
        from rdflive.server.settings import Limits
    except ImportError as error:
        raise RdfliveError(f"serving needs {error.name}: pip install 'rdflive[server]'") from error
    check_serve_options(args)
    host, port = args.listen
    tokens = None if args.tokens is None else read_tokens(args.tokens)
    if tokens is None and not is_loopback(host):
        raise RdfliveError(
            f"--listen {host}: other machines are served with --tokens FILE only, which says who may do what"
        )
    given = {field.name: getattr(args, field.name, None) for field in fields(Limits)}
    limits = Limits(**{name: value for name, value in given.items() if value is not None})
    form = None if args.changes is None else format_of(args)
    for path in filter(None, (args.changes, args.snapshot, args.certificate, args.key)):
        check_readable(path)
    listener = server.listen(host, port)
    with listener, opened(args.store, args.store_path, union=args.union) as dataset:
        name = None if form is None else feed_name(args)
        paths = args.data if args.snapshot is None else [args.snapshot]
        load_once(
            dataset, paths, store_path=args.store_path, feed=name, is_snapshot=args.snapshot is not None
        )
        app = make_app(dataset, tokens=tokens, limits=limits, host=host)
        with _fed(dataset, form, args, name):
            print(_welcome(listener.getsockname(), args), file=sys.stderr, flush=True)
            server.allow_files()
            server.make_server(app, certificate=args.certificate, key=args.key).run([listener])


@contextmanager
def _fed(dataset: rdflib.Dataset, form: Any, args: argparse.Namespace, name: str | None) -> Iterator[None]:
    """Have the dataset follow the feed beside the block, in a thread."""
    if form is None:
        yield
        return
    is_over = threading.Event()

    def applied(_: Entry) -> None:
        if is_over.wait(args.pace):
            raise _Over

    thread = threading.Thread(
        target=_follow, args=(dataset, form, args, name, applied), name="rdflive-feed", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join(_GRACE if not args.follow else 2 * _LOOKS)


class _Over(Exception):  # noqa: N818 - it is no error
    """The server ends."""


def _follow(
    dataset: rdflib.Dataset, form: Any, args: argparse.Namespace, name: str | None, applied: Any
) -> None:
    try:
        done = rdflive.mirror(
            dataset,
            args.changes,
            form,
            name=name,
            snapshot=args.snapshot,
            on_bad=args.on_bad,
            dead_letters=args.dead_letters,
            follow=_LOOKS if args.follow else None,
            on_entry=applied,
        )
    except _Over:
        return
    except (RdfliveError, OSError) as error:
        # what was applied is served on
        print(f"rdflive: error: the feed has stopped: {error}", file=sys.stderr, flush=True)
    else:
        print(f"the feed has ended: {done.changes:,} changes", file=sys.stderr, flush=True)


def _welcome(address: Any, args: argparse.Namespace) -> str:
    host, port = address[:2]
    scheme = "http" if args.certificate is None else "https"
    shown = f"[{host}]" if ":" in host else host
    who = "everybody on this machine" if args.tokens is None else f"the clients of {os.fspath(args.tokens)}"
    return f"serving {scheme}://{shown}:{port}/ to {who}; Ctrl-C ends it"
