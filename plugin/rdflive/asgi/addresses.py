"""Names of hosts, and where a server may listen."""

from __future__ import annotations

import os
import socket
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from rdflive.errors import RdfliveError

__all__ = ["hostname", "is_loopback", "listen", "may_mean"]

_BACKLOG: Final = 2048


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


def may_mean(location: str, host: str) -> bool:
    """Tell whether a `host:port` may mean a server on this machine that listens on `host`.

    A web page can have its own name point to this machine, and read what listens here only for it.

    >>> may_mean("localhost:80", "127.0.0.1"), may_mean("example.org", "127.0.0.1")
    (True, False)
    """
    name = hostname(location)
    # a page under a name of loopback comes from this machine, so any such name will do
    return name is not None and (name == host.lower() or is_loopback(name))


def listen(host: str, port: int) -> socket.socket:
    """Open a socket to serve on; raises `RdfliveError` where that cannot be."""
    if not 0 <= port < 1 << 16:  # the resolver would take the remainder
        raise RdfliveError(f"cannot listen on port {port}: a port is below 65536, and 0 for any free one")
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(address, family=family, backlog=_BACKLOG)
    except (OSError, UnicodeError) as error:
        raise RdfliveError(
            f"cannot listen on {host} port {port}: {_reason(error)}; choose another"
        ) from error


def _reason(error: OSError | UnicodeError) -> object:
    """Say what is wrong without the address, which the error of a bind names as well."""
    if isinstance(error, OSError) and error.errno and not isinstance(error, socket.gaierror):
        return os.strerror(error.errno)
    return getattr(error, "strerror", None) or error
