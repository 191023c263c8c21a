"""Clients of boto3, and the options that both sources share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rdflive.errors import RdfliveError
from rdflive.extras import install_command

__all__ = ["check_options", "client", "number"]


def client(service: str, options: Mapping[str, str]) -> Any:
    """Make a client; credentials are found as boto3 finds them."""
    try:
        import boto3
    except ImportError as error:
        raise RdfliveError(f"sources of AWS need boto3: {install_command('spark-aws')}") from error
    return boto3.client(service, region_name=options.get("region"), endpoint_url=options.get("endpointUrl"))


def check_options(name: str, options: Mapping[str, str], known: Sequence[str], needed: str) -> dict[str, str]:
    """Give the options by the names that are documented; Spark does not tell capitals apart."""
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
        raise RdfliveError(f"option {option} is a number above 0, got {given!r}")
    return int(given)
