"""The address of a server of rdflive: the base of its URLs, and the token of the client."""

from __future__ import annotations

from dataclasses import dataclass, field

from rdflive.http.requests import split_url

__all__ = ["Address"]


@dataclass(frozen=True, slots=True)
class Address:
    """The base of a server's URLs, and the token for each request."""

    scheme: str
    host: str
    port: int | None
    path: str
    """Without a trailing slash."""
    token: str | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, url: str, token: str | None) -> Address:
        """Return the address of an http(s) URL; raise ValueError for anything else.

        >>> Address.parse("https://example.org:8000/trains/", None).url("/query")
        'https://example.org:8000/trains/query'
        """
        parts = split_url(url)
        if parts is None:
            raise ValueError(f"expected an http or https URL, as 'http://127.0.0.1:8000', got {url!r}")
        if "@" in parts.netloc:
            # names only the host: the URL contains a password
            raise ValueError(f"the URL of {parts.hostname} contains credentials; give token= instead")
        if parts.query or parts.fragment:
            raise ValueError(f"expected the URL of a server without ? and #, got {url!r}")
        # a line break in a token could add headers
        if token is not None and not (isinstance(token, str) and token and _is_plain(token)):
            raise ValueError("token must be text of ASCII characters without spaces")
        return cls(parts.scheme, parts.hostname or "", parts.port, parts.path.rstrip("/"), token)

    def url(self, path: str = "") -> str:
        """Return the URL of a path of the server."""
        # `urlsplit` removes the brackets of an IPv6 address
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port is None else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.path}{path}"

    def headers(self) -> dict[str, str]:
        """Return the headers of every request."""
        headers = {"Cache-Control": "no-cache"}
        return headers if self.token is None else {**headers, "Authorization": f"Bearer {self.token}"}


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text
