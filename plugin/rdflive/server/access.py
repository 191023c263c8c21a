"""Access rights: bearer tokens, and protection against cross-site requests."""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, get_args
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from rdflive.asgi.addresses import is_loopback, may_mean
from rdflive.errors import RdfliveError
from rdflive.server.failures import Problem

__all__ = ["COOKIE", "Access", "Client", "Right", "digest", "read_tokens"]

log = logging.getLogger("rdflive")

Right: TypeAlias = Literal["read", "update", "subscribe", "backup"]
RIGHTS: Final = frozenset(get_args(Right))
COOKIE: Final = "rdflive_token"
"""The cookie with the token of the page. The browser sends it, and no script can read it."""

_LOGGED: Final = 100
"""The most sites whose refusal is logged, as a client can invent any number."""
_SHORTEST: Final = 16
"""Characters of the shortest accepted token."""
_DIGEST: Final = re.compile("[0-9a-f]{64}")
_SAMPLE: Final = "replace-me"
"""How the tokens of examples/service begin, which are public."""


@dataclass(frozen=True, slots=True)
class Client:
    """The sender of a request: a name of the token file, or an address on a server without tokens."""

    name: str
    rights: frozenset[Right]

    def need(self, right: Right) -> None:
        """Raise `Problem` 403 unless the client has the right."""
        if right not in self.rights:
            raise Problem(403, f"the token of {self.name!r} has no right to {right}")


class Access:
    """Finds the client of a request. Without `tokens` every client has all rights.

    `host` is the name that the server listens on. On a loopback address without tokens a request must name
    the machine itself, against DNS rebinding. `origins` are those of other sites whose pages may use the
    server.
    """

    def __init__(self, tokens: Mapping[str, Client] | None, host: str, origins: Iterable[str] = ()) -> None:
        self._tokens = tokens
        self._host = host.lower()
        self._origins = frozenset(origins)
        self._refused: set[str] = set()
        """The sites whose refusal is already logged."""

    @property
    def needs_token(self) -> bool:
        """True if requests must have a token."""
        return self._tokens is not None

    def replace_tokens(self, tokens: Mapping[str, Client]) -> dict[str, frozenset[Right]]:
        """Take other tokens, on a server that has some; return the rights that each client has lost."""
        lost: dict[str, frozenset[Right]] = {}
        for key, client in (self._tokens or {}).items():
            now = tokens.get(key)
            kept = now.rights if now is not None and now.name == client.name else frozenset()
            if client.rights - kept:
                lost[client.name] = client.rights - kept
        self._tokens = tokens
        return lost

    def client(self, headers: Headers, cookies: Mapping[str, str], address: str) -> Client:
        """Return the client of a request; raise `Problem` 401."""
        given = headers.get("authorization")
        token = cookies.get(COOKIE) if given is None else _bearer(given)
        return self.holder(token, address)

    def holder(self, token: str | None, address: str) -> Client:
        """Return the client of a token; raise `Problem` 401."""
        if self._tokens is None:
            return Client(address, RIGHTS)
        if token is None:
            raise _unknown("this server requires a token: send Authorization: Bearer TOKEN")
        found = self._tokens.get(digest(token))
        if found is None:
            raise _unknown("the token is unknown to this server", error="invalid_token")
        return found

    def check_site(
        self, headers: Headers, *, scheme: str = "http", method: str = "GET", shared: bool = True
    ) -> bool:
        """Raise `Problem` 403 for requests that a page of another site caused, or that use another host name.

        Return False for a page of another site that may use the server: the cookie is not its own. Only pages
        of the server may use what is not `shared`.

        `scheme` and `method` are those of the request: another scheme is another site, and links are followed
        by GET. Behind a proxy `X-Forwarded-Proto` has the browser's scheme; pages cannot set that header. The
        first refusal of each site is logged, as a browser does not show it.
        """
        host = headers.get("host", "")
        # with tokens it may be that of a proxy, and such a page has no token and no cookie
        if self._tokens is None and is_loopback(self._host) and not may_mean(host, self._host):
            raise Problem(403, f"the Host {host!r} is not that of this server")
        # browsers send this also for pictures, scripts and links, which have no Origin
        is_other = headers.get("sec-fetch-site") in ("cross-site", "same-site")
        origin = headers.get("origin")
        seen = headers.get("x-forwarded-proto", scheme).lower()
        is_elsewhere = origin is not None and _origin(origin) != (seen, host.lower())
        if shared and is_elsewhere and origin in self._origins:
            return False
        if is_elsewhere or (is_other and not _is_visit(headers, method)):
            raise self._refuse("another site" if origin is None else repr(origin)[:200])
        return True

    def _refuse(self, site: str) -> Problem:
        problem = Problem(
            403,
            f"a page of {site} may not use this server: allow its origin with --allow-origin, or serve the "
            "page from the server's own address (docs/server.md, Pages of other sites)",
        )
        if site not in self._refused and len(self._refused) < _LOGGED:
            self._refused.add(site)
            log.warning("%s", problem.detail)
        return problem


def read_tokens(path: str | os.PathLike[str]) -> dict[str, Client]:
    """Return the clients of a token file by the SHA-256 of their tokens.

    The file is TOML, with a table per client of `token` (or its `sha256`) and `rights`. Raises `RdfliveError`
    for an invalid file.
    """
    try:
        with open(path, "rb") as file:
            tables = tomllib.load(file)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise RdfliveError(f"{path}: cannot be read as a token file: {reason}") from error
    if not tables:
        raise RdfliveError(f"{path}: has no client: write a table like [alice] with token and rights")
    clients: dict[str, Client] = {}
    for name, table in tables.items():
        key, client = _client(f"{path}: [{name}]", name, table)
        if key in clients:
            raise RdfliveError(f"{path}: [{name}] and [{clients[key].name}] have the same token")
        clients[key] = client
    return clients


def _client(place: str, name: str, table: Any) -> tuple[str, Client]:
    if not isinstance(table, dict) or not table.keys() <= {"token", "sha256", "rights"}:
        # for a `token = …` outside any table, `table` is the token itself
        given = sorted(table) if isinstance(table, dict) else type(table).__name__  # no secret in a message
        raise RdfliveError(f"{place} must be a table of token (or sha256) and rights, got {given}")
    rights = table.get("rights")
    if not isinstance(rights, list) or not rights or not RIGHTS.issuperset(map(str, rights)):
        raise RdfliveError(f"{place}: rights must list some of {_listed(RIGHTS)}, got {rights!r}")
    token, key = table.get("token"), table.get("sha256")
    if (token is None) == (key is None):
        raise RdfliveError(f"{place} must have one of token and sha256")
    if token is not None:
        if not isinstance(token, str) or len(token) < _SHORTEST or not token.isascii() or " " in token:
            raise RdfliveError(f"{place}: token must be {_SHORTEST} or more ASCII characters without spaces")
        if token.startswith(_SAMPLE):
            raise RdfliveError(
                f"{place}: token is the public one of the example; replace it by one of your own"
            )
        key = digest(token)
    if not isinstance(key, str) or not _DIGEST.fullmatch(key):
        raise RdfliveError(f"{place}: sha256 must be 64 digits 0-9a-f, got {key!r}")
    return key, Client(name, frozenset(rights))


def digest(token: str) -> str:
    """Return the SHA-256 of a token; look-ups by it do not leak the token by their timing."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def _is_visit(headers: Headers, method: str) -> bool:
    """Return True for a followed link: the response is a page of its own, which no other page can read.

    A form sent by POST is a navigation too, so the method matters.
    """
    is_read = method in ("GET", "HEAD")
    return (
        is_read
        and headers.get("sec-fetch-mode") == "navigate"
        and headers.get("sec-fetch-dest") == "document"
    )


def _origin(origin: str) -> tuple[str, str] | None:
    """Return the scheme of an origin, and its host and port in lower case; None for another text."""
    try:
        parts = urlsplit(origin)
    except ValueError:
        return None
    return parts.scheme, parts.netloc.lower()


def _bearer(header: str) -> str | None:
    scheme, _, token = header.partition(" ")
    return token.strip() if hmac.compare_digest(scheme.lower().encode(), b"bearer") else None


def _unknown(detail: str, error: str = "") -> Problem:
    challenge = f'Bearer realm="rdflive", error="{error}"' if error else 'Bearer realm="rdflive"'
    return Problem(401, detail, headers={"WWW-Authenticate": challenge})


def _listed(words: Iterable[str]) -> str:
    return ", ".join(map(repr, sorted(words)))
