"""Host names, and the sockets that a server listens on."""

from __future__ import annotations

import os
import re
import socket
from functools import lru_cache
from ipaddress import IPv6Address, ip_address
from typing import Final
from urllib.parse import urlsplit

from rdflive.errors import RdfliveError

__all__ = ["hostname", "is_loopback", "listen", "may_mean", "read_origin"]

_BACKLOG: Final = 2048
_ORIGIN: Final = re.compile(r"(https?)://([a-z0-9._-]+|\[[0-9a-f:.]+\])(?::([1-9][0-9]{0,4}))?/?")
_PORTS: Final = {"http": "80", "https": "443"}
"""The ports that browsers leave out of an origin."""


def hostname(location: str) -> str | None:
    """Return the host of a `host:port`; None if it is missing or malformed.

    >>> hostname("[::1]:8000")
    '::1'
    """
    try:
        return urlsplit(f"//{location}").hostname
    except ValueError:
        return None


def is_loopback(name: str) -> bool:
    """Return True if a host name means this machine.

    >>> is_loopback("127.9.9.9"), is_loopback("example.org")
    (True, False)
    """
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


@lru_cache(maxsize=64)  # most requests have the same Host; the heads of requests bound its length
def may_mean(location: str, host: str) -> bool:
    """Return True if a `host:port` may name a server on this machine that listens on `host`.

    The check stops DNS rebinding: a web page resolves its own name to this machine and reads a local server.

    >>> may_mean("localhost:80", "127.0.0.1"), may_mean("example.org", "127.0.0.1")
    (True, False)
    """
    name = hostname(location)
    # a page under a loopback name comes from this machine, so any such name is accepted
    return name is not None and (name == host.lower() or is_loopback(name))


def read_origin(text: str) -> str:
    """Return the origin of a page as browsers send it; raise ValueError for another text.

    >>> read_origin("HTTP://Localhost:80/"), read_origin("https://[0:0::1]:8443")
    ('http://localhost', 'https://[::1]:8443')
    """
    found = _ORIGIN.fullmatch(text.lower())
    if found is None or int(found[3] or 0) >= 1 << 16:
        raise _no_origin(text)
    scheme, host, port = found.groups()
    if host.startswith("["):
        try:
            host = f"[{IPv6Address(host[1:-1])}]"
        except ValueError as error:
            raise _no_origin(text) from error
    return f"{scheme}://{host}" if port in (None, _PORTS[scheme]) else f"{scheme}://{host}:{port}"


def _no_origin(text: str) -> ValueError:
    remedy = ""
    name = hostname(text.partition("://")[2]) or ""
    if not name.isascii():
        try:
            coded = name.encode("idna").decode()
            # the codec turns some letters into others, and browsers do not
            is_same = coded.encode().decode("idna") == name
        except UnicodeError:
            coded, is_same = "", False
        remedy = f"; write its host in ASCII, as browsers send it: {coded if is_same else 'xn--…'}"
    return ValueError(
        f"the origin of a page, such as http://localhost:3000, without a path, not {text!r}{remedy}"
    )


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; raise `RdfliveError` if the address cannot be used."""
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
    """Return the reason of an error without the address, which the error of a bind repeats."""
    if isinstance(error, OSError) and error.errno and not isinstance(error, socket.gaierror):
        return os.strerror(error.errno)
    return getattr(error, "strerror", None) or error
