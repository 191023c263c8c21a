"""`rdflive validate`: a SHACL report, and its changes with a feed or edits of DATA."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Final

import rdflive
from rdflive.cli.changes import check_readable, feed_name, format_of
from rdflive.cli.common_options import (
    add_entailment_options,
    add_feed_options,
    add_store_options,
    check_feed_options,
    entailment_options,
)
from rdflive.cli.edited import EditedFiles
from rdflive.cli.notes import say_notes
from rdflive.cli.out_file import STDOUT, naming
from rdflive.cli.progress import Progress
from rdflive.cli.shapes import add_selection_options, read_files, selected
from rdflive.cli.show import CsvWriter
from rdflive.cli.stored import load_once, opened
from rdflive.cli.watch import LOOKS, replay
from rdflive.errors import RdfliveError
from rdflive.model import Delta, rows_unread
from rdflive.shacl import LiveValidation
from rdflive.sinks import NdjsonSink

__all__ = ["add_validate_options", "run"]

_TARGETS: Final = ("text", "ndjson", "csv", "turtle")
_DIFFERS: Final = 1
"""The exit code for data with results."""
_FEED: Final = ("feed_name", "snapshot", "format", "mapping", "dead_letters", "pace")
"""Options that need --changes."""


def add_validate_options(command: argparse.ArgumentParser) -> None:
    """Declare the arguments of `rdflive validate`."""
    add = command.add_argument
    add("data", nargs="*", metavar="DATA", help="RDF files: .ttl .nt .nq .trig .rdf .jsonld ..., also .gz")
    add(
        "--shapes",
        action="append",
        default=[],
        metavar="FILE",
        help="RDF files with shapes; may be repeated (default: the shapes in DATA)",
    )
    add_selection_options(command.add_argument_group("selection"))
    add("--allow-empty", action="store_true", help="go on where no shape has a target and a constraint")
    add("--to", choices=_TARGETS, default="text", help="how to write results (default: %(default)s)")
    add_entailment_options(command.add_argument_group("entailment"))
    add_feed_options(command.add_argument_group("the feed"))
    add_store_options(command.add_argument_group("the store"), "memory")


def run(args: argparse.Namespace) -> int:
    """Load, validate and report; with a feed or --follow continue. Return 1 for results at the end.

    Raises `ShapesError` for unsupported shapes.
    """
    _check(args)
    options = entailment_options(args)
    form = None if args.changes is None else format_of(args)
    for path in filter(None, (args.changes, args.snapshot, *args.shapes)):
        check_readable(path)
    shapes = read_files(args.shapes) if args.shapes else None
    with opened(args.store, args.store_path, union=args.union) as dataset:
        files = EditedFiles(dataset, args.data, LOOKS) if form is None and args.follow else None
        is_new = True
        if files is not None:
            files.load()
        else:
            paths = args.data if args.snapshot is None else [args.snapshot]
            is_new = load_once(
                dataset,
                paths,
                store_path=args.store_path,
                feed=None if form is None else feed_name(args),
                is_snapshot=args.snapshot is not None,
            )
        with rows_unread():
            validation = rdflive.validate(dataset, shapes, **options, **selected(args))
        with validation:
            if not (validation.validates or validation.errors or args.allow_empty):
                raise RdfliveError(
                    "nothing was validated: no shape has both a target and an active constraint; name the "
                    "shapes with --shapes FILE, or go on with --allow-empty"
                )
            say_notes(validation.notes)
            send = _sender(args.to, validation, always=form is None)
            progress = Progress(validation, send, pace=args.pace)
            if form is not None:
                snapshot = None if is_new else args.snapshot
                replay(dataset, form, progress, args, name=feed_name(args), snapshot=snapshot)
            else:
                progress.begin()
            for _ in files.looks() if files is not None else ():
                progress.resynced()
            if args.to == "turtle" and form is not None:
                _print(_turtle(validation))
            return 0 if validation.conforms else _DIFFERS


def _check(args: argparse.Namespace) -> None:
    if args.changes is not None:
        check_feed_options(args)
    else:
        given = [option for option in _FEED if getattr(args, option)] + ["on_bad"] * (args.on_bad != "stop")
        if given:
            raise RdfliveError(f"--{given[0].replace('_', '-')} goes with --changes FILE")
        if args.follow and args.store_path is not None:
            raise RdfliveError(
                "--follow follows DATA as it is edited: leave --store-path out, or give --changes"
            )
    if not args.data and args.store_path is None and args.snapshot is None:
        raise RdfliveError("no data: give DATA, --snapshot FILE or --store-path DIR")
    args.store = "oxigraph" if args.store_path is not None else args.store or "memory"


def _sender(to: str, validation: LiveValidation, *, always: bool) -> Callable[[Delta], object]:
    """Return the function that writes each delta; the first delta holds the full answer.

    A report in Turtle is written at the beginning and at the end of a feed, or `always`.
    """
    writers: dict[str, Callable[[Delta], object]] = {
        "ndjson": NdjsonSink(sys.stdout),
        "csv": CsvWriter(),
        "turtle": lambda delta: _print(_turtle(validation)) if always or delta.initial else None,
        "text": lambda delta: _print(_text(validation, delta)),
    }

    def send(delta: Delta) -> None:
        with naming(STDOUT):
            writers[to](delta)

    return send


def _text(validation: LiveValidation, delta: Delta) -> str:
    return f"{validation.report()}\n" if delta.initial else validation.changes(delta)


def _turtle(validation: LiveValidation) -> str:
    return validation.graph.serialize(format="turtle")


def _print(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()
