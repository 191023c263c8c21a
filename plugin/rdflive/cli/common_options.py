"""Options that several commands have: of change feeds, of the store that they go into, and of entailment."""

from __future__ import annotations

import argparse
import os
import sys
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
    "STRATEGIES",
    "add_feed_options",
    "add_store_options",
    "address",
    "check_feed_options",
    "check_name",
    "entailment_options",
]

_LAST_PORT: Final = 65_535
_LONGEST_PACE: Final = 86_400.0
_SNAPSHOTS: Final = (".nt", ".nq", ".nt.gz", ".nq.gz")


def add_feed_options(group: argparse._ArgumentGroup) -> None:
    """Declare the options of the change feed."""
    add = group.add_argument
    add(
        "--changes",
        metavar="FILE|-",
        help="the change feed, also .gz; - is standard input",
    )
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


def add_store_options(group: argparse._ArgumentGroup, default: str, *, union: str = "") -> None:
    """Declare the options of the store; `union` goes behind the help of that option."""
    add = group.add_argument
    add("--store", choices=STORES, help=f"the store to load into (default: {default})")
    add(
        "--store-path", metavar="DIR", help="an Oxigraph store on disk; the next run goes on where this ended"
    )
    add("--union", action="store_true", help=f"query the union of all graphs, not the default graph{union}")


def check_feed_options(args: argparse.Namespace) -> None:
    """Refuse options of the feed and the store that contradict each other."""
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
    if (args.on_bad == "skip") is not (args.dead_letters is not None):
        raise RdfliveError("--on-bad skip and --dead-letters FILE go together: nothing is thrown away")
    if args.store_path is not None and args.store == "memory":
        raise RdfliveError("--store-path is a store of Oxigraph: leave --store memory out")
    if args.feed_name is not None:
        check_name("--feed-name", args.feed_name)


def check_name(flag: str, name: str) -> None:
    """Refuse a name that could not be shown."""
    if not (name and name.isprintable()):
        raise RdfliveError(f"{flag} takes printable characters, at least one, not {name!r}")


def address(text: str) -> tuple[str, int]:
    """Read a host and a port."""
    number = text.rpartition(":")[2]
    # urlsplit refuses it too, but the message below would not say that it is the number
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


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= _LONGEST_PACE:
        raise argparse.ArgumentTypeError(f"a number of seconds from 0 to {_LONGEST_PACE:g}, not {text!r}")
    return seconds


STRATEGIES: Final[tuple[str, ...]] = get_args(Strategy)
_RDFS: Final = "rdfs"


def entailment_options(args: argparse.Namespace) -> dict[str, Any]:
    """Give the options of `rdflive.subscribe`; none where nothing is to be entailed.

    Raises `RdfliveError` for what is no rule set, and for rules that cannot be used.

    >>> entailment_options(argparse.Namespace(entail=["rdfs"], strategy=None))
    {'entailment': 'rdfs', 'strategy': 'auto'}
    >>> entailment_options(argparse.Namespace(entail=["rdfs-plus"], strategy=None))
    {'rules': ['rdfs-plus']}
    """
    names = list(dict.fromkeys(args.entail))
    # alone it is the entailment regime; beside other rule sets it stands for its rules
    if names == [_RDFS]:
        return {"entailment": _RDFS, "strategy": args.strategy or "auto"}
    if args.strategy is not None and not names:
        raise RdfliveError(
            f"--strategy {args.strategy} says how to keep what is entailed; add --entail {_RDFS}"
        )
    if args.strategy is not None:
        raise RdfliveError(
            f"--strategy {args.strategy} goes with --entail {_RDFS} alone: what rules entail is stored"
        )
    for name in names:
        _check(name)
    return {"rules": names} if names else {}


def _check(rules: str) -> None:
    """Refuse rules with their file: several may be given."""
    try:
        load_program(rules)
    except RuleError as error:
        reason = str(error)
        named = os.path.isfile(rules) or repr(rules) in reason
        raise RdfliveError(reason if named else f"--entail: {reason}") from error
