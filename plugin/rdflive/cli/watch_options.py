"""The options of `rdflive watch`, and which of them go together."""

from __future__ import annotations

import argparse
import os
from typing import Final

from rdflive.cli.entail_options import STRATEGIES
from rdflive.cli.feed_options import (
    add_feed_options,
    add_store_options,
    address,
    check_feed_options,
    check_name,
)
from rdflive.cli.files import check_distinct
from rdflive.errors import RdfliveError

__all__ = ["add_watch_options", "check_options"]

TARGETS: Final = ("text", "ndjson", "patch", "sse", "webhook")
_LISTEN: Final = ("127.0.0.1", 8000)

_ONLY: Final = {
    "out": ("ndjson", "patch"),
    "listen": ("sse",),
    "url": ("webhook",),
    "secret_env": ("webhook",),
}
"""Options that mean something to some targets only."""


def add_watch_options(command: argparse.ArgumentParser) -> None:
    """Declare what `rdflive watch` takes."""
    add = command.add_argument
    add("data", nargs="*", metavar="DATA", help="RDF files: .ttl .nt .nq .trig .rdf .jsonld ..., also .gz")
    add("--query", required=True, metavar="FILE_OR_TEXT", help="a file with the query, or its text")
    _add_entailment(command.add_argument_group("what the data entail"))
    add_feed_options(command.add_argument_group("the feed"), required=True)
    add_store_options(command.add_argument_group("the store"), "memory")
    _add_target(command.add_argument_group("where deltas go"))


def _add_entailment(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--entail",
        action="append",
        default=[],
        metavar="RULES",
        help="answer over what the data entail: rdfs (subclasses, subproperties, domains, ranges), or the "
        "name of another rule set (rdfs-plus, owl-rl), or a file with rules in N3; may be repeated",
    )
    add(
        "--strategy",
        choices=STRATEGIES,
        help="how --entail rdfs is kept: store what is entailed, ask the graph, or whichever costs less "
        "(default: auto)",
    )


def _add_target(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--to", choices=TARGETS, default="text", help="how to send deltas (default: %(default)s)")
    add("--out", metavar="FILE", help="write ndjson or patch to FILE, not to standard output")
    add("--listen", type=address, metavar="HOST:PORT", help="where sse is served (default: 127.0.0.1:8000)")
    add("--url", help="where webhook posts to")
    add("--secret-env", metavar="VARIABLE", help="the environment variable with the secret that signs posts")
    add("--resume", metavar="FILE", help="remember in FILE what was delivered, and go on from there")
    add("--name", help="the name of this subscriber in the --resume file")
    add("--no-initial", action="store_true", help="leave out the answer before the first change")
    add("--explain", action="store_true", help="show the plan on standard error first")


def check_options(args: argparse.Namespace, form: str) -> None:
    """Refuse options that contradict each other or the query's form; fill in what depends on others."""
    check_feed_options(args)
    if args.name is not None:
        check_name("--name", args.name)
    for option, targets in _ONLY.items():
        if getattr(args, option) is not None and args.to not in targets:
            raise RdfliveError(
                f"--{option.replace('_', '-')} goes with --to {' or '.join(targets)}, not with --to {args.to}"
            )
    _check_target(args, form)
    if (args.resume is None) is not (args.name is None):
        raise RdfliveError(
            "--resume FILE and --name NAME go together: the file remembers subscribers by name"
        )
    check_distinct(args)
    args.store = "oxigraph" if args.store_path is not None else args.store or "memory"


def _check_target(args: argparse.Namespace, form: str) -> None:
    if args.to == "patch" and form != "CONSTRUCT":
        raise RdfliveError(f"--to patch writes triples: it needs a CONSTRUCT query, not {form or 'this one'}")
    if args.to == "webhook" and args.url is None:
        raise RdfliveError("--to webhook needs the --url to post to")
    if args.to == "sse":
        if args.resume is not None:
            raise RdfliveError(
                "--resume remembers one consumer, and --to sse has many: each resumes by its Last-Event-ID"
            )
        if args.no_initial:
            raise RdfliveError("--to sse tells each client the current answer first: leave --no-initial out")
        args.listen = args.listen or _LISTEN
    if args.secret_env is not None and not os.environ.get(args.secret_env):
        raise RdfliveError(
            f"the environment variable {args.secret_env}, the secret of --secret-env, is not set"
        )
