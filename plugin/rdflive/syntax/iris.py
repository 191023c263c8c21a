"""Resolution of relative references (RFC 3986, 5.2) without other normalization, as SPARQL requires."""

from __future__ import annotations

import re
from typing import Final

__all__ = ["is_absolute", "resolve"]

_PARTS: Final = re.compile(
    r"(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.\-]*):)?(?://(?P<authority>[^/?#]*))?(?P<path>[^?#]*)"
    r"(?:\?(?P<query>[^#]*))?(?:#(?P<fragment>.*))?",
    re.DOTALL,
)
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")


def is_absolute(iri: str) -> bool:
    """True if an IRI has a scheme."""
    return _SCHEME.match(iri) is not None


def resolve(base: str, reference: str) -> str:
    """Return a reference resolved against a base.

    >>> resolve("http://e/a/b?q", "../c#d"), resolve("http://e/a/b?q", "#d"), resolve("http://e", "c")
    ('http://e/c#d', 'http://e/a/b?q#d', 'http://e/c')
    """
    if _SCHEME.match(reference):
        return reference
    found, own = _PARTS.fullmatch(base), _PARTS.fullmatch(reference)
    assert found is not None  # noqa: S101 - the pattern matches any text
    assert own is not None  # noqa: S101 - as above
    scheme, authority, path, query = found["scheme"], found["authority"], found["path"], found["query"]
    if own["authority"] is not None:
        authority, path, query = own["authority"], _without_dots(own["path"]), own["query"]
    elif own["path"]:
        path, query = _without_dots(_merged(path, own["path"], authority)), own["query"]
    elif own["query"] is not None:
        query = own["query"]
    pieces = [
        f"{scheme}:" if scheme is not None else "",
        f"//{authority}" if authority is not None else "",
        path,
    ]
    pieces += [f"{mark}{part}" for mark, part in (("?", query), ("#", own["fragment"])) if part is not None]
    return "".join(pieces)


def _merged(base: str, path: str, authority: str | None) -> str:
    if path.startswith("/"):
        return path
    if authority is not None and not base:
        return f"/{path}"
    return base[: base.rfind("/") + 1] + path


def _without_dots(path: str) -> str:
    """Remove the segments `.` and `..` (5.2.4)."""
    kept: list[str] = []
    segments = path.split("/")
    for at, segment in enumerate(segments):
        is_last = at == len(segments) - 1
        if segment == "..":
            if len(kept) > 1 or (kept and kept != [""]):
                kept.pop()
        elif segment != ".":
            kept.append(segment)
            continue
        if is_last:
            kept.append("")
    return "/".join(kept)
