"""The sinks of `rdflive watch --to`: those of rdflive, and how the selected one is opened."""

from __future__ import annotations

import argparse
import inspect
import logging
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any, Final, TextIO, TypeAlias, cast, get_args

from rdflive.cli.common_options import listening_on
from rdflive.cli.out_file import STDOUT, naming, open_out
from rdflive.cli.show import CsvWriter, LineWriter, TableWriter
from rdflive.errors import RdfliveError
from rdflive.model import Delta
from rdflive.plugins.hookspecs import hookimpl
from rdflive.plugins.manager import plugin_manager
from rdflive.sinks import NdjsonSink, PatchSink, SinkChoice, SseSink, WebhookSink
from rdflive.sinks.choice import SinkOption

__all__ = ["Target", "listed_sinks", "open_target", "rdflive_sinks", "sink_choices"]

log: Final = logging.getLogger("rdflive")

Target: TypeAlias = Callable[[Delta], object]

_NAME: Final = re.compile(r"[A-Za-z0-9][\w-]*")


def sink_choices() -> dict[str, SinkChoice]:
    """Return the sinks of all plugins, by name.

    >>> list(sink_choices())
    ['text', 'table', 'ndjson', 'csv', 'patch', 'sse', 'webhook']
    """
    manager, own = plugin_manager(), sys.modules[__name__]
    if not manager.is_registered(own):
        manager.register(own)
    choices: dict[str, SinkChoice] = {}
    owners: dict[str, str] = {}
    for implementation in reversed(manager.hook.rdflive_sinks.get_hookimpls()):
        plugin = implementation.plugin_name
        try:
            given = tuple(cast(Iterable[Any], implementation.function()))
        except Exception as error:
            raise RdfliveError(
                f"plugin {plugin} cannot list its sinks: {_said(error)}; repair or uninstall it"
            ) from error
        for choice in given:
            _check(choice, plugin)
            if choice.name in choices:
                raise RdfliveError(
                    f"two plugins provide the sink {choice.name!r}: {owners[choice.name]} and {plugin}; "
                    "rename one or uninstall it"
                )
            choices[choice.name], owners[choice.name] = choice, plugin
    return choices


def listed_sinks() -> dict[str, SinkChoice]:
    """Return the sinks for help and completion; none if a plugin fails, since only `watch` reports that."""
    try:
        return sink_choices()
    except RdfliveError:
        return {}


def _check(choice: object, plugin: str) -> None:
    if not isinstance(choice, SinkChoice):
        raise RdfliveError(
            f"plugin {plugin}: rdflive_sinks returns objects of rdflive.sinks.SinkChoice, not {choice!r}"
        )
    if not isinstance(choice.name, str) or not _NAME.fullmatch(choice.name):
        raise RdfliveError(
            f"plugin {plugin}: {choice.name!r} cannot be the name of a sink, which has letters, digits and -"
        )
    if not callable(choice.open) or not isinstance(choice.options, tuple):
        raise RdfliveError(
            f"plugin {plugin}: the sink {choice.name!r} needs a function as open and a tuple as options"
        )
    unknown = set(choice.options) - set(get_args(SinkOption))
    if unknown:
        raise RdfliveError(
            f"plugin {plugin}: the sink {choice.name!r} takes no option {min(unknown)!r}; accepted: "
            f"{', '.join(get_args(SinkOption))}"
        )


@contextmanager
def open_target(args: argparse.Namespace) -> Iterator[Target]:
    """Open the sink, and close it at the end."""
    choice = sink_choices()[args.to]
    with _naming_sink(choice):
        opened = choice.open(args)
        send = opened.__enter__()

    def named(delta: Delta) -> None:
        with _naming_sink(choice):
            returned = send(delta)
            if inspect.iscoroutine(returned):
                returned.close()
                raise ValueError("its callback is an async function, which the command does not await")

    with ExitStack() as stack:

        @stack.push
        def close(kind: Any, error: Any, trace: Any) -> None:  # a sink cannot suppress errors of the run
            try:
                with _naming_sink(choice):
                    opened.__exit__(kind, error, trace)
            except Exception as failed:
                if error is None:
                    raise
                log.warning("the sink could not be closed: %s", failed)  # the first error is the cause

        yield named


@contextmanager
def _naming_sink(choice: SinkChoice) -> Iterator[None]:
    """Name the sink in an error that is not meant for users; the command then ends with exit code 2."""
    try:
        yield
    except RdfliveError:
        raise
    except Exception as error:
        if isinstance(error, OSError) and choice in _SINKS:  # they name the file; a closed pipe is quiet
            raise
        raise RdfliveError(f"--to {choice.name}: {_said(error)}") from error


def _said(error: Exception) -> str:
    return str(error) if isinstance(error, ValueError | OSError) else f"{type(error).__name__}: {error}"


@contextmanager
def _text(args: argparse.Namespace) -> Iterator[Target]:
    yield _naming(None, LineWriter(full=args.full))


@contextmanager
def _table(args: argparse.Namespace) -> Iterator[Target]:
    yield _naming(None, TableWriter(full=args.full))


@contextmanager
def _csv(_: argparse.Namespace) -> Iterator[Target]:
    yield _naming(None, CsvWriter())


@contextmanager
def _ndjson(args: argparse.Namespace) -> Iterator[Target]:
    with _open_out(args) as stream:
        yield _naming(args.out, NdjsonSink(stream))


@contextmanager
def _patch(args: argparse.Namespace) -> Iterator[Target]:
    with _open_out(args) as stream:
        yield _naming(args.out, PatchSink(stream))


@contextmanager
def _sse(args: argparse.Namespace) -> Iterator[Target]:
    with listening_on(*args.listen):
        sink = SseSink(*args.listen)
    with closing(sink) as events:
        print(f"serving events at {events.url}", file=sys.stderr, flush=True)
        yield events


@contextmanager
def _webhook(args: argparse.Namespace) -> Iterator[Target]:
    # raw bytes, which need not be UTF-8
    secret = None if args.secret_env is None else os.fsencode(os.environ[args.secret_env])
    try:
        webhook = WebhookSink(args.url, name=args.name, resume=args.resume, secret=secret)
    except ValueError as error:
        raise RdfliveError(f"--url: {error}") from error
    with closing(webhook):
        yield webhook


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


_SINKS: Final = (
    SinkChoice(
        "text",
        "a line for each solution, with the number of the commit: #7  + :T101 :Dunes",
        _text,
        ("full",),
    ),
    SinkChoice("table", "the same in columns", _table, ("full",)),
    SinkChoice("ndjson", "a line of JSON for each delta", _ndjson, ("out",)),
    SinkChoice("csv", "a line for each solution, with the number of the commit, and + or -", _csv),
    SinkChoice(
        "patch",
        "the triples of a CONSTRUCT query as RDF Patch, which is a change feed itself",
        _patch,
        ("out",),
    ),
    SinkChoice("sse", "server-sent events, for any number of clients", _sse, ("listen",)),
    SinkChoice(
        "webhook",
        "a POST of JSON for each delta, at least once, with an Idempotency-Key",
        _webhook,
        ("url", "secret_env"),
    ),
)


@hookimpl(tryfirst=True)
def rdflive_sinks() -> tuple[SinkChoice, ...]:
    """Return the sinks of rdflive."""
    return _SINKS
