"""A SPARQL endpoint that `rdflive watch` follows."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, NoReturn

import rdflib

import rdflive
from rdflive.errors import RdfliveError
from rdflive.feeds import Entry
from rdflive.http import HttpFault, without_query

__all__ = ["follow_endpoint", "read_endpoint"]

_FIRST_TRIES: Final = 3
"""Attempts at the first request, whose failure more likely is a wrong URL."""
_PAUSE: Final = 1.0
"""The shortest wait, in seconds, after the attempts of a poll."""
_OPTIONS: Final = {
    "give auth=(user, password), or headers=": "give --auth-env or --token-env",
    "set page=": "in a Python program, set page=",
    "pass them as auth=(user, password)": "pass them as user:password with --auth-env VARIABLE",
}
"""Options of the command in place of arguments in Python."""


def read_endpoint(dataset: rdflib.Dataset, args: argparse.Namespace) -> None:
    """Read what the open subscriptions of the dataset need, once; raise `RdfliveError` if that fails."""
    try:
        rdflive.mirror(dataset, _feed(args, every=None, tries=_FIRST_TRIES))
    except ConnectionError as error:
        _fail(args, error)


def follow_endpoint(
    dataset: rdflib.Dataset, args: argparse.Namespace, on_entry: Callable[[Entry], object]
) -> None:
    """Poll until Ctrl-C, also after failures; raise `RdfliveError` if the endpoint refuses requests."""
    is_away = False
    while True:
        feed = _feed(args, every=args.every)
        try:
            with _without_warnings():
                rdflive.mirror(dataset, feed, on_entry=on_entry)
        except ConnectionError as error:
            fault = error.__cause__
            if not isinstance(fault, HttpFault):
                _fail(args, error)
            if not is_away or feed.seen_until is not None:
                print(f"{without_query(args.endpoint)}: {fault}; trying again", file=sys.stderr, flush=True)
            is_away = True
            time.sleep(max(args.every, _PAUSE, fault.retry_after))


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Leave out the warnings of each feed: the command says itself, once, that the endpoint is away."""
    log = logging.getLogger("rdflive.endpoint")
    log.addFilter(_is_error)
    try:
        yield
    finally:
        log.removeFilter(_is_error)


def _is_error(record: logging.LogRecord) -> bool:
    return record.levelno >= logging.ERROR


def _feed(args: argparse.Namespace, **options: Any) -> Any:
    if args.auth_env is not None:
        user, _, password = os.environ[args.auth_env].partition(":")
        options["auth"] = (user, password)
    if args.token_env is not None:
        options["headers"] = {"Authorization": f"Bearer {os.environ[args.token_env]}"}
    return rdflive.endpoint(args.endpoint, **options)


def _fail(args: argparse.Namespace, error: Exception) -> NoReturn:
    if isinstance(error.__cause__, HttpFault):
        raise RdfliveError(f"{without_query(args.endpoint)}: {error.__cause__}") from error
    reason = str(error)
    for argument, option in _OPTIONS.items():
        reason = reason.replace(argument, option)
    raise RdfliveError(reason) from error
