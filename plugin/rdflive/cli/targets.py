"""Where `rdflive watch` sends deltas: the sink that its options ask for."""

from __future__ import annotations

import argparse
import mmap
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from io import TextIOWrapper
from typing import Final, TextIO, TypeAlias

import rdflib

from rdflive.cli.outputs import STDOUT, naming
from rdflive.cli.show import TableWriter, show_lines
from rdflive.errors import RdfliveError
from rdflive.model import Delta
from rdflive.sinks import NdjsonSink, PatchSink, SseSink, WebhookSink

__all__ = ["Target", "open_target"]

Target: TypeAlias = Callable[[Delta], object]

_UNITS: Final = {"ndjson": (b'{"sequence": ', b"\n"), "patch": (b"TX .\n", b"\nTC .\n")}
"""What each unit of a file begins with, and what ends it."""


@contextmanager
def open_target(args: argparse.Namespace, dataset: rdflib.Dataset) -> Iterator[Target]:
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
        case _:
            show = TableWriter(dataset.namespace_manager) if sys.stdout.isatty() else show_lines
            yield _naming(None, show)


def _naming(path: str | None, send: Target) -> Target:
    """Have what the system says of a file that is being written name it."""

    def named(delta: Delta) -> None:
        with naming(path or STDOUT):
            send(delta)

    return named


def _webhook(args: argparse.Namespace) -> WebhookSink:
    secret = None if args.secret_env is None else os.fsencode(os.environ[args.secret_env])
    try:
        return WebhookSink(args.url, name=args.name, secret=secret)
    except ValueError as error:
        raise RdfliveError(f"--url: {error}") from error


@contextmanager
def _open_out(args: argparse.Namespace) -> Iterator[TextIO]:
    if args.out is None:
        yield sys.stdout
        return
    with open(args.out, "ab") as raw:
        if raw.tell() and args.resume is None:
            raise RdfliveError(
                f"{args.out}: is not empty; --resume goes on in it, else move it away or name another file"
            )
        if raw.tell():
            _cut(args.out, *_UNITS[args.to])
        kind = _DurableText if args.resume else TextIOWrapper
        stream = kind(raw, encoding="utf-8", errors="backslashreplace", newline="\n")
        try:
            yield stream
        finally:
            with naming(args.out):
                stream.close()


class _DurableText(TextIOWrapper):
    """A text file whose `flush` returns when the text is on disk: what is acknowledged then must be."""

    def flush(self) -> None:
        super().flush()
        os.fsync(self.fileno())


def _cut(path: str, begin: bytes, end: bytes) -> None:
    """Cut off a unit that a killed run left unfinished; what it was to hold is delivered again."""
    with open(path, "r+b") as file:
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            place = content.rfind(end)
            whole = place + len(end) if place >= 0 else 0
            starts = content[: len(begin)], content[whole : whole + len(begin)]
        if not all(begin.startswith(start) for start in starts):
            raise RdfliveError(f"{path}: is not what an earlier run wrote; name another --out file")
        file.truncate(whole)
