"""Clients of boto3, and shared parts of both sources: options, pauses between requests, expired records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import monotonic, sleep
from typing import Any, Final

from rdflive.errors import MissingExtraError, RdfliveError, ResyncNeeded
from rdflive.extras import install_command

__all__ = ["Pause", "check_options", "client", "number", "resync"]

_SECONDS: Final = 1.0


class Pause:
    """Limits a source to one request per second while nothing new arrives; Spark itself polls at once."""

    def __init__(self) -> None:
        self._until = 0.0

    def wait(self) -> None:
        """Wait before a request, until a second after one that found nothing."""
        # before the request, so that it finds all that was there when Spark polled
        sleep(max(self._until - monotonic(), 0))

    def looked(self, *, found: bool) -> None:
        """Record if a request has found something."""
        self._until = 0.0 if found else monotonic() + _SECONDS


def client(service: str, options: Mapping[str, str]) -> Any:
    """Return a client; boto3 finds the credentials."""
    try:
        import boto3
    except ImportError as error:
        message = f"sources of AWS need boto3: {install_command('spark-aws')}"
        raise MissingExtraError(message, name=error.name) from error
    return boto3.client(service, region_name=options.get("region"), endpoint_url=options.get("endpointUrl"))


def resync(source: str, reason: str) -> ResyncNeeded:
    """Return the error that explains how to restart reading a stream."""
    error = ResyncNeeded(source, reason)
    # replaces the advice to give a snapshot, which `spark.mirror` does not take
    error.args = (
        f"{source}: {reason}; resync: load the full state again, and read the stream with a new checkpoint; "
        "a mirror also needs another name",
    )
    return error


def check_options(name: str, options: Mapping[str, str], known: Sequence[str], needed: str) -> dict[str, str]:
    """Return the options by their documented names; Spark ignores the case of options."""
    names = {option.lower(): option for option in known}
    found = {}
    for option, value in options.items():
        if option.lower() not in names:
            raise RdfliveError(f"format {name!r} has no option {option!r}; it has {', '.join(known)}")
        found[names[option.lower()]] = value
    if needed not in found:
        raise RdfliveError(f"format {name!r} needs the option {needed}")
    return found


def number(options: Mapping[str, str], option: str, default: int) -> int:
    """Read an option that is a number above 0."""
    given = options.get(option)
    if given is None:
        return default
    if not given.isdecimal() or not int(given):
        raise RdfliveError(f"option {option} must be a number above 0, got {given!r}")
    return int(given)
