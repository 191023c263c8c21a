"""Options of several commands: change feeds, stores and entailment."""

from __future__ import annotations

import argparse
import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, get_args
from urllib.parse import urlsplit

from rdflive.cli.changes import is_stream
from rdflive.cli.load import STORES
from rdflive.cli.stored import RESERVED_NAME
from rdflive.entail.kinds import Strategy
from rdflive.entail.rules import RuleError, load_program
from rdflive.errors import RdfliveError
from rdflive.feeds import STDIN

__all__ = [
    "add_entail_option",
    "add_entailment_options",
    "add_feed_options",
    "add_store_options",
    "address",
    "check_feed_options",
    "check_name",
    "checked_rules",
    "entailment_options",
    "listening_on",
    "seconds",
]

_LAST_PORT: Final = 65_535
_LAST_KEPT_PORT: Final = 1023
_PORT: Final = 8000
_LONGEST_PACE: Final = 86_400.0
_SNAPSHOTS: Final = (".nt", ".nq", ".nt.gz", ".nq.gz")


def add_feed_options(group: argparse._ArgumentGroup, *, follows_servers: bool = False) -> None:
    """Declare the options of the change feed; `--follow` may take the URL of a server."""
    add = group.add_argument
    add(
        "--changes",
        metavar="FILE|-",
        help="the change feed, also .gz; - is standard input",
    )
    grows = "continue at the end of the file, as it grows, until Ctrl-C"
    if follows_servers:
        add(
            "--follow",
            nargs="?",
            const=True,
            default=False,
            metavar="URL",
            help=f"with --changes: {grows}; with the URL of another server: be its replica, with its data, "
            "its changes and the ids of its events, and refuse updates",
        )
    else:
        add("--follow", action="store_true", help=grows)
    add(
        "--feed-name",
        metavar="NAME",
        help="the name for the feed's position in --store-path (default: the real path of the file; "
        "standard input is resumed only with a name, and must begin the same)",
    )
    add(
        "--snapshot",
        metavar="FILE",
        help="N-Triples or N-Quads: the full state before the feed, in place of DATA; it also replaces "
        "the data of --store-path if the feed cannot be resumed",
    )
    add("--format", metavar="NAME", help="the feed's format (default: by file ending; -: rdf-patch)")
    add(
        "--mapping",
        metavar="FILE",
        help="the mapping of rows to triples, for --format debezium and delta-lake",
    )
    add(
        "--on-bad",
        choices=("stop", "skip"),
        default="stop",
        help="action at a bad record (default: %(default)s)",
    )
    add("--dead-letters", metavar="FILE", help="the file for records that --on-bad skip skips")
    add("--pace", type=seconds, default=0.0, metavar="SECONDS", help="pause between entries")


def add_store_options(group: argparse._ArgumentGroup, default: str, *, union: str = "") -> None:
    """Declare the options of the store; `union` is appended to the help of `--union`."""
    add = group.add_argument
    add("--store", choices=STORES, help=f"the store to load into (default: {default})")
    add(
        "--store-path", metavar="DIR", help="an Oxigraph store on disk; the next run resumes where this ended"
    )
    add("--union", action="store_true", help=f"query the union of all graphs, not the default graph{union}")


def check_feed_options(args: argparse.Namespace) -> None:
    """Refuse options of the feed and the store that contradict each other."""
    if args.changes == STDIN and sys.stdin is None:
        raise RdfliveError("standard input is closed: name a file with --changes")
    if args.follow and args.changes == STDIN:
        raise RdfliveError("standard input is read until it closes: leave --follow out")
    if args.follow and (is_stream(args.changes) or args.changes.endswith(".gz")):
        raise RdfliveError(f"--follow is for files that grow, unlike {args.changes}: leave it out")
    if args.feed_name is not None and args.store_path is None:
        raise RdfliveError("--feed-name goes with --store-path DIR, which keeps the positions of feeds")
    if args.feed_name == RESERVED_NAME:
        raise RdfliveError(f"--feed-name {RESERVED_NAME!r} is reserved: choose another")
    if args.snapshot is not None and args.data:
        raise RdfliveError("--snapshot is the full state before the feed: leave DATA out")
    if args.snapshot is not None and not args.snapshot.endswith(_SNAPSHOTS):
        raise RdfliveError(f"--snapshot takes N-Triples or N-Quads ({' '.join(_SNAPSHOTS)}): {args.snapshot}")
    if (args.on_bad == "skip") is not (args.dead_letters is not None):
        raise RdfliveError("--on-bad skip and --dead-letters FILE go together: skipped records are kept")
    if args.store_path is not None and args.store == "memory":
        raise RdfliveError("--store-path is an Oxigraph store: leave --store memory out")
    if args.feed_name is not None:
        check_name("--feed-name", args.feed_name)


def check_name(flag: str, name: str) -> None:
    """Refuse an empty or unprintable name."""
    if not (name and name.isprintable()):
        raise RdfliveError(f"{flag} takes printable characters, at least one, not {name!r}")


def address(text: str) -> tuple[str, int]:
    """Return the host and port of a text."""
    number = text.rpartition(":")[2]
    # for a message about the number; urlsplit refuses it too
    if number.isdecimal() and int(number) > _LAST_PORT:
        raise argparse.ArgumentTypeError(
            f"HOST:PORT with a port from 1 to {_LAST_PORT}, or 0 for any free one, not {text!r}"
        )
    try:
        parts = urlsplit(f"//{text}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host = port = None
    if not host or port is None or parts.netloc != text or parts.username is not None:
        raise argparse.ArgumentTypeError(f"HOST:PORT, such as 127.0.0.1:8000, not {text!r}")
    return host, port


@contextmanager
def listening_on(host: str, port: int) -> Iterator[None]:
    """Add an address to try, as `--listen` takes it, to the error of one that cannot be used."""
    try:
        yield
    except RdfliveError as error:
        fault = error.__cause__
        if fault is None:  # the port is out of range, as the error says
            raise
        if isinstance(fault, OSError) and fault.errno in (errno.EADDRINUSE, errno.EACCES):
            # the system keeps ports below 1024 for itself
            port = port + 1 if _LAST_KEPT_PORT < port < _LAST_PORT else _PORT
        else:
            host = "127.0.0.1"
        place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        raise RdfliveError(f"{error} with --listen {place}") from error


def seconds(text: str) -> float:
    """Return the number of seconds in a text."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= _LONGEST_PACE:
        raise argparse.ArgumentTypeError(f"a number of seconds from 0 to {_LONGEST_PACE:g}, not {text!r}")
    return number


def add_entail_option(group: argparse._ArgumentGroup, use: str = "include entailed triples") -> None:
    """Declare the rule sets of a command; `use` says what it does with them."""
    group.add_argument(
        "--entail",
        "--rules",
        action="append",
        default=[],
        metavar="RULES",
        help=f"{use}: rdfs (subclasses, subproperties, domains, ranges), or the name of another rule set "
        "(rdfs-plus, owl-rl), or a file with rules in N3; may be repeated",
    )


def add_entailment_options(group: argparse._ArgumentGroup) -> None:
    """Declare the rule sets, and how RDFS is maintained."""
    add_entail_option(group)
    group.add_argument(
        "--strategy",
        choices=STRATEGIES,
        help="how --entail rdfs is maintained: store entailed triples, look them up in the graph, or the "
        "cheaper one (default: auto)",
    )


STRATEGIES: Final[tuple[str, ...]] = get_args(Strategy)
_RDFS: Final = "rdfs"


def entailment_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options of entailment for `rdflive.subscribe`; empty without `--entail`.

    Raises `RdfliveError` for unknown rule sets and invalid rules.

    >>> entailment_options(argparse.Namespace(entail=["rdfs"], strategy=None))
    {'entailment': 'rdfs', 'strategy': 'auto'}
    >>> entailment_options(argparse.Namespace(entail=["rdfs-plus"], strategy=None))
    {'rules': ['rdfs-plus']}
    """
    names = checked_rules(args)
    # alone it is the entailment regime; with other rule sets it stands for its rules
    if names == [_RDFS]:
        return {"entailment": _RDFS, "strategy": args.strategy or "auto"}
    if args.strategy is not None and not names:
        raise RdfliveError(f"--strategy {args.strategy} is for entailed triples; add --entail {_RDFS}")
    if args.strategy is not None:
        raise RdfliveError(
            f"--strategy {args.strategy} goes with --entail {_RDFS} only: other rules always store"
        )
    return {"rules": names} if names else {}


def checked_rules(args: argparse.Namespace) -> list[str]:
    """Return the rule sets of `--entail`; raise `RdfliveError` for unknown sets and invalid rules."""
    names = list(dict.fromkeys(args.entail))
    for name in names:
        _check(name)
    return names


def _check(rules: str) -> None:
    """Raise `RdfliveError` that names the file of invalid rules, as there may be several."""
    try:
        load_program(rules)
    except RuleError as error:
        reason = str(error)
        named = os.path.isfile(rules) or repr(rules) in reason
        raise RdfliveError(reason if named else f"--entail: {reason}") from error
