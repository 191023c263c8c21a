"""The options of `rdflive watch`, and which of them go together."""

from __future__ import annotations

import argparse
import os
import sys
from typing import Final
from urllib.parse import urlsplit

from rdflive.cli.changes import is_stream
from rdflive.cli.entail_options import STRATEGIES
from rdflive.cli.files import check_distinct
from rdflive.cli.load import STORES
from rdflive.cli.stored import RESERVED_NAME
from rdflive.errors import RdfliveError
from rdflive.feeds import STDIN

__all__ = ["add_watch_options", "check_options"]

TARGETS: Final = ("text", "ndjson", "patch", "sse", "webhook")
_LISTEN: Final = ("127.0.0.1", 8000)
_LONGEST_PACE: Final = 86_400.0

_SNAPSHOTS: Final = (".nt", ".nq", ".nt.gz", ".nq.gz")

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
    _add_feed(command.add_argument_group("the feed"))
    _add_store(command.add_argument_group("the store"))
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


def _add_feed(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--changes", required=True, metavar="FILE|-", help="the change feed, also .gz; - is standard input")
    add("--follow", action="store_true", help="go on at the end of the file, as it grows, until Ctrl-C")
    add(
        "--feed-name",
        metavar="NAME",
        help="under which --store-path remembers how far the feed was read (default: the real path of "
        "the file; standard input is only resumed with a name, and must begin the same)",
    )
    add(
        "--snapshot",
        metavar="FILE",
        help="N-Triples or N-Quads: the whole state in front of the feed, in place of DATA; also of what "
        "--store-path holds where the feed cannot be gone on with",
    )
    add("--format", metavar="NAME", help="the feed's format, else by file ending (-: rdf-patch)")
    add("--mapping", metavar="FILE", help="how rows become triples, for --format debezium and delta-lake")
    add("--on-bad", choices=("stop", "skip"), default="stop", help="at a bad record (default: %(default)s)")
    add("--dead-letters", metavar="FILE", help="where --on-bad skip puts what it skips")
    add("--pace", type=_seconds, default=0.0, metavar="SECONDS", help="pause between entries, to watch them")


def _add_store(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--store", choices=STORES, help="the store to load into (default: memory)")
    add(
        "--store-path", metavar="DIR", help="an Oxigraph store on disk; the next run goes on where this ended"
    )
    add("--union", action="store_true", help="query the union of all graphs, not the default graph")


def _add_target(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--to", choices=TARGETS, default="text", help="how to send deltas (default: %(default)s)")
    add("--out", metavar="FILE", help="write ndjson or patch to FILE, not to standard output")
    add("--listen", type=_address, metavar="HOST:PORT", help="where sse is served (default: 127.0.0.1:8000)")
    add("--url", help="where webhook posts to")
    add("--secret-env", metavar="VARIABLE", help="the environment variable with the secret that signs posts")
    add("--resume", metavar="FILE", help="remember in FILE what was delivered, and go on from there")
    add("--name", help="the name of this subscriber in the --resume file")
    add("--no-initial", action="store_true", help="leave out the answer before the first change")
    add("--explain", action="store_true", help="show the plan on standard error first")


def check_options(args: argparse.Namespace, form: str) -> None:
    """Refuse options that contradict each other or the query's form; fill in what depends on others."""
    _check_feed(args)
    for option, targets in _ONLY.items():
        if getattr(args, option) is not None and args.to not in targets:
            raise RdfliveError(
                f"{_flag(option)} goes with --to {' or '.join(targets)}, not with --to {args.to}"
            )
    _check_target(args, form)
    if (args.resume is None) is not (args.name is None):
        raise RdfliveError(
            "--resume FILE and --name NAME go together: the file remembers subscribers by name"
        )
    for option in ("name", "feed_name"):
        name = getattr(args, option)
        if name is not None and not (name and name.isprintable()):
            raise RdfliveError(f"{_flag(option)} takes printable characters, at least one, not {name!r}")
    if (args.on_bad == "skip") is not (args.dead_letters is not None):
        raise RdfliveError("--on-bad skip and --dead-letters FILE go together: nothing is thrown away")
    if args.store_path is not None and args.store == "memory":
        raise RdfliveError("--store-path is a store of Oxigraph: leave --store memory out")
    check_distinct(args)
    args.store = "oxigraph" if args.store_path is not None else args.store or "memory"


def _check_feed(args: argparse.Namespace) -> None:
    if args.changes == STDIN and sys.stdin is None:
        raise RdfliveError("standard input is closed: name a file with --changes")
    if args.follow and args.changes == STDIN:
        raise RdfliveError("standard input is read until it is closed: leave --follow out")
    if args.follow and (is_stream(args.changes) or args.changes.endswith(".gz")):
        raise RdfliveError(f"--follow is for files that grow, and {args.changes} is none: leave it out")
    if args.feed_name is not None and args.store_path is None:
        raise RdfliveError("--feed-name goes with --store-path DIR, which remembers how far feeds were read")
    if args.feed_name == RESERVED_NAME:
        raise RdfliveError(f"--feed-name {RESERVED_NAME!r} is that of the load itself: choose another")
    if args.snapshot is not None and args.data:
        raise RdfliveError("--snapshot is the whole state in front of the feed: leave DATA out")
    if args.snapshot is not None and not args.snapshot.endswith(_SNAPSHOTS):
        raise RdfliveError(f"--snapshot takes N-Triples or N-Quads ({' '.join(_SNAPSHOTS)}): {args.snapshot}")


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


def _flag(option: str) -> str:
    return f"--{option.replace('_', '-')}"


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= _LONGEST_PACE:
        raise argparse.ArgumentTypeError(f"a number of seconds from 0 to {_LONGEST_PACE:g}, not {text!r}")
    return seconds


def _address(text: str) -> tuple[str, int]:
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or port is None or parts.netloc != text or parts.username is not None:
        raise argparse.ArgumentTypeError(f"HOST:PORT, such as 127.0.0.1:8000, not {text!r}")
    return host, port
