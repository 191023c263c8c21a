"""The options of `rdflive watch` and `rdflive query`, and their checks."""

from __future__ import annotations

import argparse
import os
import re
from typing import Final, get_args

from rdflive.cli.common_options import (
    add_audit_option,
    add_entailment_options,
    add_feed_options,
    add_store_options,
    address,
    check_feed_options,
    check_name,
    seconds,
)
from rdflive.cli.files import check_distinct
from rdflive.cli.server_address import token_in
from rdflive.cli.targets import listed_sinks, sink_choices
from rdflive.errors import RdfliveError
from rdflive.sinks.choice import SinkOption

__all__ = ["add_query_options", "add_watch_options", "check_options", "check_query_options", "is_url"]

ANSWERS: Final = ("table", "text", "ndjson", "csv", "patch")
_NO_TRIPLES: Final = "--to patch writes triples: it needs a CONSTRUCT query, not {}"
_LISTEN: Final = ("127.0.0.1", 8000)
_EVERY: Final = 5.0
"""Seconds between two polls of an endpoint."""

_FEED: Final = ("feed_name", "snapshot", "format", "mapping", "dead_letters", "pace")
"""Options that need --changes."""
_OWN: Final = ("changes", "follow", "store", "store_path", "union", "resume", "strategy", "guard", "audit")
"""Options that do not apply to the data of a server."""
_URL: Final = re.compile("https?://", re.IGNORECASE)


def add_watch_options(command: argparse.ArgumentParser) -> None:
    """Declare the arguments of `rdflive watch`."""
    _add_question(command)
    add_entailment_options(command.add_argument_group("entailment"))
    _add_guard(command.add_argument_group("guards"))
    _add_endpoint(command.add_argument_group("a SPARQL endpoint"))
    add_feed_options(command.add_argument_group("the feed"))
    add_store_options(command.add_argument_group("the store"), "memory")
    _add_target(command.add_argument_group("output"))


def add_query_options(command: argparse.ArgumentParser) -> None:
    """Declare the arguments of `rdflive query`."""
    _add_question(command)
    add_entailment_options(command.add_argument_group("entailment"))
    add_store_options(command.add_argument_group("the store"), "memory")
    group = command.add_argument_group("output")
    group.add_argument("--to", choices=ANSWERS, default="table", help="default: %(default)s")
    _add_full(group)


def is_url(path: str) -> bool:
    """Return True for the URL of a server, False for a file."""
    return _URL.match(path) is not None


def _add_question(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add(
        "data",
        nargs="*",
        metavar="DATA",
        help="RDF files: .ttl .nt .nq .trig .rdf .jsonld ..., also .gz; or the URL of a server",
    )
    add("--query", required=True, metavar="FILE_OR_TEXT", help="a file with the query, or its text")
    add(
        "--token-env",
        metavar="VARIABLE",
        help="the environment variable with the token for the server or endpoint",
    )


def _add_full(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--full",
        action="store_true",
        default=None,
        help="write full terms as in N-Triples, without prefixes",
    )


def _add_guard(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--guard",
        action="append",
        default=[],
        metavar="SHAPES",
        help="refuse an entry of the feed, or an edit, that would add a validation result: an RDF file with "
        "shapes, or a query (.rq, or its text): SELECT must stay empty, ASK false; may be repeated",
    )


def _add_endpoint(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add("--endpoint", metavar="URL", help="poll this endpoint, in place of DATA, for what the query needs")
    add("--every", type=seconds, metavar="SECONDS", help="the time between polls (default: 5)")
    add("--auth-env", metavar="VARIABLE", help="the environment variable with user:password for the endpoint")


def _add_target(group: argparse._ArgumentGroup) -> None:
    add = group.add_argument
    add(
        "--to",
        choices=tuple(listed_sinks()) or None,
        default="text",
        help="how to send deltas (default: %(default)s)",
    )
    _add_full(group)
    add("--out", metavar="FILE", help="write ndjson or patch to FILE, not to standard output")
    add(
        "--listen",
        type=address,
        metavar="HOST:PORT",
        help="address of the sse server (default: 127.0.0.1:8000)",
    )
    add("--url", help="the URL for the posts of webhook")
    add("--secret-env", metavar="VARIABLE", help="the environment variable with the secret that signs posts")
    add("--resume", metavar="FILE", help="keep delivered positions in FILE, and resume from there")
    add("--name", help="the name of this subscriber in the --resume file")
    add("--no-initial", action="store_true", help="leave out the answer before the first change")
    add("--explain", action="store_true", help="show the plan on standard error first")
    add_audit_option(group, "compare the answer with one by the store's own engine")


def check_options(args: argparse.Namespace, form: str) -> None:
    """Refuse options that contradict each other or the query's form; set dependent defaults."""
    _check_source(args)
    _check_endpoint(args)
    if args.changes is None:
        _check_unfed(args)
    else:
        check_feed_options(args)
    if args.name is not None:
        check_name("--name", args.name)
    _check_sink_options(args)
    _check_target(args, form)
    args.full = bool(args.full)
    if (args.resume is None) is not (args.name is None):
        raise RdfliveError("--resume FILE and --name NAME go together: the file lists subscribers by name")
    check_distinct(args)
    args.store = "oxigraph" if args.store_path is not None else args.store or "memory"


def check_query_options(args: argparse.Namespace, form: str) -> None:
    """Refuse options of `rdflive query` that contradict each other or the query's form."""
    _check_source(args)
    _check_sink_options(args)
    if args.to == "patch" and form != "CONSTRUCT":
        raise RdfliveError(_NO_TRIPLES.format(form or "this one"))
    if args.store_path is not None and args.store == "memory":
        raise RdfliveError("--store-path is an Oxigraph store: leave --store memory out")
    if args.store_path is None and not args.data:
        raise RdfliveError("no data: give DATA, files or the URL of a server, or --store-path DIR")
    if args.store_path is not None and not args.data and not os.path.isdir(args.store_path):
        raise RdfliveError(f"{args.store_path}: no such store; give DATA to load into a new one")
    args.full = bool(args.full)
    args.store = "oxigraph" if args.store_path is not None else args.store or "memory"


def _check_sink_options(args: argparse.Namespace) -> None:
    """Refuse an option that the selected sink does not take."""
    choices = sink_choices()
    for option in get_args(SinkOption):
        if getattr(args, option, None) is not None and option not in choices[args.to].options:
            takers = " or ".join(choice.name for choice in choices.values() if option in choice.options)
            raise RdfliveError(
                f"--{option.replace('_', '-')} goes with --to {takers}, not with --to {args.to}"
            )


def _check_source(args: argparse.Namespace) -> None:
    """Refuse options that do not apply to a server, or that need one."""
    urls = [path for path in args.data if is_url(path)]
    if args.token_env is not None:
        if not urls and getattr(args, "endpoint", None) is None:
            raise RdfliveError("--token-env goes with the URL of a server in place of DATA, or --endpoint")
        token_in(args.token_env)
    if not urls:
        return
    if len(args.data) > 1:
        raise RdfliveError(f"{urls[0]}: a server has its own graph; leave the other DATA out")
    for option in _OWN:
        if getattr(args, option, None):
            raise RdfliveError(f"--{option.replace('_', '-')} goes with DATA of your own, not with {urls[0]}")
    if len(set(args.entail)) > 1:
        raise RdfliveError(f"a server entails by one rule set: give --entail once with {urls[0]}")


def _check_endpoint(args: argparse.Namespace) -> None:
    """Refuse options that go with an endpoint only, and those that do not."""
    if args.endpoint is None:
        for option in ("every", "auth_env"):
            if getattr(args, option) is not None:
                raise RdfliveError(f"--{option.replace('_', '-')} goes with --endpoint URL")
        return
    for option in ("data", "changes", "follow", "store_path", "guard"):
        if getattr(args, option):
            shown = "DATA" if option == "data" else f"--{option.replace('_', '-')}"
            raise RdfliveError(f"--endpoint has its own data: leave {shown} out")
    if args.auth_env is not None and args.token_env is not None:
        raise RdfliveError("--auth-env and --token-env exclude each other: an endpoint takes one of the two")
    if args.auth_env is not None and ":" not in os.environ.get(args.auth_env, ""):
        raise RdfliveError(
            f"the environment variable {args.auth_env} of --auth-env is not set to user:password"
        )
    args.every = _EVERY if args.every is None else args.every


def _check_unfed(args: argparse.Namespace) -> None:
    """Refuse options that need a feed: without one DATA is followed."""
    if not args.data and args.endpoint is None:
        raise RdfliveError(
            "nothing to follow: give DATA, which is followed as it is edited, --changes or --endpoint"
        )
    given = [option for option in _FEED if getattr(args, option)] + ["on_bad"] * (args.on_bad != "stop")
    if given:
        raise RdfliveError(f"--{given[0].replace('_', '-')} goes with --changes FILE")
    if args.store_path is not None:
        raise RdfliveError(
            "--store-path keeps the changes of a feed: give --changes FILE, or leave it out to follow DATA"
        )


def _check_target(args: argparse.Namespace, form: str) -> None:
    if args.to == "patch" and form != "CONSTRUCT":
        raise RdfliveError(_NO_TRIPLES.format(form or "this one"))
    if args.to == "webhook" and args.url is None:
        raise RdfliveError("--to webhook needs the --url to post to")
    if args.to == "sse":
        if args.resume is not None:
            raise RdfliveError(
                "--resume is for one consumer, and --to sse has many: each resumes by its Last-Event-ID"
            )
        if args.no_initial:
            raise RdfliveError("--to sse sends each client the current answer first: leave --no-initial out")
        args.listen = args.listen or _LISTEN
    if args.secret_env is not None and not os.environ.get(args.secret_env):
        raise RdfliveError(
            f"the environment variable {args.secret_env}, the secret of --secret-env, is not set"
        )
