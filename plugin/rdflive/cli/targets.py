"""The sink of `rdflive watch` that its options select."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import TextIO, TypeAlias

from rdflive.cli.out_file import STDOUT, naming, open_out
from rdflive.cli.show import CsvWriter, LineWriter, TableWriter
from rdflive.errors import RdfliveError
from rdflive.model import Delta
from rdflive.sinks import NdjsonSink, PatchSink, SseSink, WebhookSink

__all__ = ["Target", "open_target"]

Target: TypeAlias = Callable[[Delta], object]


@contextmanager
def open_target(args: argparse.Namespace) -> Iterator[Target]:
    """Open the sink, and close it at the end."""
    match args.to:
        case "ndjson":
            with _open_out(args) as stream:
                yield _naming(args.out, NdjsonSink(stream))
        case "patch":
            with _open_out(args) as stream:
                yield _naming(args.out, PatchSink(stream))
        case "sse":
            with closing(SseSink(*args.listen)) as events:
                print(f"serving events at {events.url}", file=sys.stderr, flush=True)
                yield events
        case "webhook":
            with closing(_webhook(args)) as webhook:
                yield webhook
        case "csv":
            yield _naming(None, CsvWriter())
        case "table":
            yield _naming(None, TableWriter(full=args.full))
        case _:
            yield _naming(None, LineWriter(full=args.full))


def _naming(path: str | None, send: Target) -> Target:
    """Return `send` with the name of the output in system errors."""

    def named(delta: Delta) -> None:
        with naming(path or STDOUT):
            send(delta)

    return named


@contextmanager
def _open_out(args: argparse.Namespace) -> Iterator[TextIO]:
    if args.out is None:
        yield sys.stdout
        return
    with open_out(args.out, args.to, resume=args.resume, name=args.name) as stream:
        yield stream


def _webhook(args: argparse.Namespace) -> WebhookSink:
    # raw bytes, which need not be UTF-8
    secret = None if args.secret_env is None else os.fsencode(os.environ[args.secret_env])
    try:
        return WebhookSink(args.url, name=args.name, resume=args.resume, secret=secret)
    except ValueError as error:
        raise RdfliveError(f"--url: {error}") from error
