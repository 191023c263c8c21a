"""Where a server is, and what proves who asks."""

from __future__ import annotations

from dataclasses import dataclass, field

from rdflive.http import split_url

__all__ = ["Address"]


@dataclass(frozen=True, slots=True)
class Address:
    """The base of a server's URLs, and the token that is sent with each request."""

    scheme: str
    host: str
    port: int | None
    path: str
    """Without a slash at its end."""
    token: str | None = field(default=None, repr=False)

    @classmethod
    def parse(cls, url: str, token: str | None) -> Address:
        """Read a URL; raises ValueError for what is no http(s) URL of a server.

        >>> Address.parse("https://example.org:8000/trains/", None).url("/query")
        'https://example.org:8000/trains/query'
        """
        parts = split_url(url)
        if parts is None:
            raise ValueError(f"expected an http or https URL, as 'http://127.0.0.1:8000', got {url!r}")
        if "@" in parts.netloc:
            # the host alone is named: the URL holds a password
            raise ValueError(f"the URL of {parts.hostname} holds credentials; give token= instead")
        if parts.query or parts.fragment:
            raise ValueError(f"expected the URL of a server without ? and #, got {url!r}")
        # with a line break in it a token could add headers of its own
        if token is not None and not (isinstance(token, str) and token and _is_plain(token)):
            raise ValueError("token must be text of ASCII characters without spaces")
        return cls(parts.scheme, parts.hostname or "", parts.port, parts.path.rstrip("/"), token)

    def url(self, path: str = "") -> str:
        """Give the URL of a path of the server."""
        # `urlsplit` gives an address of IPv6 without its brackets
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port is None else f":{self.port}"
        return f"{self.scheme}://{host}{port}{self.path}{path}"

    def headers(self) -> dict[str, str]:
        """Give the headers of every request."""
        headers = {"Cache-Control": "no-cache"}
        return headers if self.token is None else {**headers, "Authorization": f"Bearer {self.token}"}


def _is_plain(text: str) -> bool:
    return text.isascii() and text.isprintable() and " " not in text
