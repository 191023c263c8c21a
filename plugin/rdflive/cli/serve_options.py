"""The options of `rdflive serve`, and their checks."""

from __future__ import annotations

import argparse
import os
from importlib.util import find_spec
from ipaddress import ip_address, ip_network
from typing import Final

from rdflive.asgi.addresses import read_origin
from rdflive.cli.common_options import (
    add_entail_option,
    add_feed_options,
    add_store_options,
    address,
    check_feed_options,
)
from rdflive.cli.shapes import add_selection_options
from rdflive.errors import RdfliveError

__all__ = ["add_serve_options", "check_serve_options", "is_replica"]

_LISTEN: Final = ("127.0.0.1", 8000)


def add_serve_options(command: argparse.ArgumentParser) -> None:
    """Declare the arguments of `rdflive serve`."""
    command.add_argument(
        "data",
        nargs="*",
        metavar="DATA_OR_STORE",
        help="RDF files: .ttl .nt .nq .trig .rdf .jsonld ..., also .gz; or the folder of an Oxigraph store",
    )
    _add_file(command.add_argument_group("the configuration"))
    _add_server(command.add_argument_group("the server"))
    _add_shapes(command.add_argument_group("shapes"))
    add_entail_option(
        command.add_argument_group("entailment"),
        "for subscriptions with entailment=rules, the rules by which the graph entails triples",
    )
    _add_limits(command.add_argument_group("the limits of one client"))
    _add_log(command.add_argument_group("the change log beside a store on disk (STORE.rdflive-log)"))
    feed = command.add_argument_group("a feed that the graph follows")
    add_feed_options(feed, follows_servers=True)
    feed.add_argument(
        "--token-env",
        metavar="VARIABLE",
        help="the environment variable with the token for the server of --follow URL, with the rights read "
        "and subscribe",
    )
    add_store_options(
        command.add_argument_group("the store"),
        "oxigraph if it is installed",
        union="; a triple in several graphs counts once, but /query on oxigraph returns it once for each",
    )


def _add_file(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--config",
        metavar="FILE",
        help="TOML with names of options as keys, without the dashes, and data for DATA; paths are relative "
        "to the file, and the command line wins; at SIGHUP the server reads tokens, limits and the "
        "certificate again",
    )
    group.add_argument(
        "--check",
        action="store_true",
        help="check all options and files, also those that --config names, and end; DATA in memory are read",
    )


def _add_server(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--listen",
        type=address,
        default=_LISTEN,
        metavar="HOST:PORT",
        help="address to serve on (default: 127.0.0.1:8000); port 0 takes any free port",
    )
    add(
        "--tokens",
        metavar="FILE",
        help="TOML with a table for each client: token (or its sha256) and rights, a list of read, update, "
        "subscribe and backup; without it all users of this machine have all rights",
    )
    add(
        "--allow-origin",
        type=_origin,
        action="append",
        default=[],
        metavar="URL",
        help="origin of another site whose pages may use the server, such as http://localhost:3000; may be "
        "repeated",
    )
    add("--certificate", metavar="FILE", help="serve HTTPS with this certificate (PEM)")
    add("--key", metavar="FILE", help="the key of the certificate, if in its own file")
    add(
        "--proxy",
        type=_network,
        action="append",
        default=[],
        metavar="ADDRESS",
        help="address or network of a reverse proxy, whose X-Forwarded-For and X-Forwarded-Proto are "
        "believed; may be repeated",
    )
    add(
        "--access-log",
        metavar="FILE|-",
        help="a line of JSON for each request, without query, token and body; - is standard output; SIGHUP "
        "opens the file again",
    )
    add(
        "--backups",
        metavar="DIR",
        help="the folder for backups of --store-path, which clients with the right to backup may make",
    )


def _add_shapes(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--shapes",
        action="append",
        default=[],
        metavar="FILE",
        help="RDF files with SHACL shapes, whose results clients may follow; may be repeated",
    )
    add_selection_options(group)
    group.add_argument(
        "--guard", action="store_true", help="refuse updates, and entries of the feed, that would add results"
    )


def _add_limits(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--query-seconds", type=_positive, metavar="N", help="time for a query and its result (default: 30)")
    add("--query-bytes", type=_positive, metavar="N", help="memory for a query (default: 1 GiB)")
    add("--queries", type=_positive, metavar="N", help="queries at once (default: 4)")
    add("--requests-per-second", type=_positive, metavar="N", help="requests in a second (default: no limit)")
    add("--request-bytes", type=_positive, metavar="N", help="size of a request (default: 1,000,000)")
    add("--store-bytes", type=_positive, metavar="N", help="size of a document at /store (default: 4 GB)")
    add(
        "--store-triples",
        type=_positive,
        metavar="N",
        help="triples of one commit of /store (default: 1,000,000)",
    )
    add("--header-seconds", type=_positive, metavar="N", help="time for a request's head (default: 10)")
    add("--body-seconds", type=_positive, metavar="N", help="time for a request's body (default: 30)")
    for option, what, most in (
        ("--body-bytes", "bytes of bodies that have not arrived in full", 16 << 20),
        ("--all-body-bytes", "the same for all clients together", 128 << 20),
        ("--connections", "open connections of an address, and requests under way of a client", 5000),
        ("--all-connections", "open connections of all clients together", 20_000),
    ):
        add(option, type=_positive, metavar="N", help=f"{what} (default: {most:,})")
    add("--subscriptions", type=_positive, metavar="N", help="open subscriptions (default: 1,000)")
    add("--rows", type=_positive, metavar="N", help="answer of one subscription (default: 1,000,000)")
    add(
        "--update-seconds",
        type=_positive,
        metavar="N",
        help="processor time of all subscriptions of all clients together for one update (default: 10); "
        "then the client that takes most loses its most expensive subscriptions",
    )
    add(
        "--commit-seconds",
        type=_positive,
        metavar="N",
        help="processor time of one subscription for one commit (default: 2), beyond which it is ended",
    )
    for option, what, most in (
        ("--commit-rows", "rows that one subscription may create or compare for one commit", 1_000_000),
        ("--commit-characters", "characters that its functions may create for one commit", 20_000_000),
        ("--kept-rows", "rows that it may keep", 4_000_000),
        ("--kept-characters", "characters of strings from its functions that it may keep", 100_000_000),
    ):
        add(option, type=_positive, metavar="N", help=f"{what} (default: {most:,})")


def _add_log(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--change-log-bytes",
        type=_whole,
        default=256 << 20,
        metavar="N",
        help="size of the log (default: 256 MiB), older commits are dropped; 0 keeps no log",
    )
    add(
        "--change-log-hours",
        type=_positive,
        default=168,
        metavar="N",
        help="age of its commits (default: 168), beyond which they are dropped",
    )


def check_serve_options(args: argparse.Namespace) -> None:
    """Refuse options that contradict each other; set dependent defaults."""
    folders = [path for path in args.data if os.path.isdir(path)]
    if folders and (len(args.data) > 1 or args.store_path is not None):
        raise RdfliveError(
            f"{folders[0]}: a store is served alone; leave the other DATA and --store-path out"
        )
    if folders:
        args.data, args.store_path = [], folders[0]
    if is_replica(args):
        _check_replica(args)
    else:
        if args.changes is None:
            _check_no_feed(args)
        check_feed_options(args)
        if args.token_env is not None:
            raise RdfliveError("--token-env goes with --follow URL")
    if (args.shape or args.focus) and not args.shapes:
        raise RdfliveError("--shape and --focus go with --shapes FILE")
    if args.guard and not args.shapes:
        raise RdfliveError("--guard goes with --shapes FILE")
    if args.key is not None and args.certificate is None:
        raise RdfliveError("--key goes with --certificate")
    if args.proxy and args.tokens is None:
        raise RdfliveError("--proxy makes the server known to other machines, so it needs --tokens FILE")
    if args.backups is not None and args.store_path is None:
        raise RdfliveError("--backups goes with --store-path DIR: only a store on disk has backups")
    if args.store_path is not None:
        args.store = "oxigraph"
    elif args.store is None:
        args.store = "oxigraph" if find_spec("oxrdflib") is not None else "memory"


def is_replica(args: argparse.Namespace) -> bool:
    """Return True if the server follows another one."""
    return isinstance(args.follow, str)


def _check_replica(args: argparse.Namespace) -> None:
    """Refuse what would change a replica otherwise than its primary."""
    if args.changes is not None:
        raise RdfliveError(
            "--follow URL makes a replica, which has no --changes; with --changes, --follow takes no URL"
        )
    if args.guard:
        raise RdfliveError("--guard is for the primary: a replica takes every commit of it")
    if args.data:
        raise RdfliveError(
            f"--follow URL takes the data of that server: leave DATA out (got {' '.join(args.data)}), or put "
            "it before --follow if it goes with --changes"
        )
    for option in ("feed_name", "snapshot", "format", "mapping", "dead_letters", "pace"):
        if getattr(args, option):
            raise RdfliveError(f"--{option.replace('_', '-')} is for --changes FILE, not for --follow URL")
    if args.store_path is not None and args.store == "memory":
        raise RdfliveError("--store-path is an Oxigraph store: leave --store memory out")


def _check_no_feed(args: argparse.Namespace) -> None:
    for option in ("follow", "feed_name", "snapshot", "format", "mapping", "dead_letters", "pace"):
        if getattr(args, option):
            raise RdfliveError(f"--{option.replace('_', '-')} goes with --changes FILE")


def _origin(text: str) -> str:
    try:
        return read_origin(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _network(text: str) -> str:
    try:
        return str(ip_network(text)) if "/" in text else str(ip_address(text))
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"an address or network such as 127.0.0.1 or 10.0.0.0/8, not {text!r}"
        ) from error


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"a number from 0, not {text!r}")
    return int(text)


def _positive(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"a number from 1, not {text!r}")
    return number
