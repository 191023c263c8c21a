"""Names of hosts, and where a server may listen."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from rdflive.errors import RdfliveError

__all__ = ["hostname", "is_loopback", "listening_at"]


def hostname(location: str) -> str | None:
    """Give the host of a `host:port`; None for none, or where that cannot be read.

    >>> hostname("[::1]:8000")
    '::1'
    """
    try:
        return urlsplit(f"//{location}").hostname
    except ValueError:
        return None


def is_loopback(name: str) -> bool:
    """Tell whether the name of a host means this machine.

    >>> is_loopback("127.9.9.9"), is_loopback("example.org")
    (True, False)
    """
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


@contextmanager
def listening_at(host: str, port: int) -> Iterator[tuple[socket.AddressFamily, Any]]:
    """Give the family and address to listen at inside the block, whose errors say that it cannot be."""
    if not 0 <= port < 1 << 16:  # the resolver would take the remainder
        raise RdfliveError(f"cannot listen on port {port}: a port is below 65536, and 0 for any free one")
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        yield family, address
    except (OSError, UnicodeError) as error:
        raise RdfliveError(
            f"cannot listen on {host} port {port}: {_reason(error)}; choose another"
        ) from error


def _reason(error: OSError | UnicodeError) -> object:
    """Say what is wrong without the address, which the error of a bind names as well."""
    if isinstance(error, OSError) and error.errno and not isinstance(error, socket.gaierror):
        return os.strerror(error.errno)
    return getattr(error, "strerror", None) or error
