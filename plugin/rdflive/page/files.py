"""The files of the page: its scripts, styles and picture."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Final

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

__all__ = ["FILES", "FOLDER", "SAFE", "files"]

FOLDER: Final = resources.files("rdflive.page").joinpath("static")
SAFE: Final = {
    "X-Content-Type-Options": "nosniff",
    # not no-referrer, which would make browsers send `Origin: null` with the sign-in form
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
"""Headers of every response of the page."""
_TYPES: Final = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


@cache
def files() -> Mapping[str, tuple[bytes, str, str]]:
    """Return content, media type and tag of each file: all at the top of the folder except the documents."""
    found = {}
    for file in FOLDER.iterdir():
        media_type = next((kind for ending, kind in _TYPES.items() if file.name.endswith(ending)), None)
        if media_type and file.is_file():
            content = file.read_bytes()
            found[file.name] = content, media_type, f'W/"{hashlib.sha256(content).hexdigest()[:32]}"'
    return found


async def _show_file(request: Request) -> Response:
    name = request.path_params["name"]
    found = files().get(name)
    if found is None:
        raise HTTPException(404, f"the page has no file {name!r}")
    content, media_type, tag = found
    # no-cache: a new version of the package must not mix with files of the old one
    headers = SAFE | {"Cache-Control": "no-cache", "ETag": tag, "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    if _takes_gzip(request.headers.get("accept-encoding", "")):
        content, headers["Content-Encoding"] = _compressed(name), "gzip"
    return Response(content, media_type=media_type, headers=headers)


FILES: Final = Route("/static/{name}", _show_file)
"""The route of the files."""


def _takes_gzip(accepted: str) -> bool:
    """Return True if a request accepts gzip; `gzip;q=0` refuses it."""
    for one in accepted.lower().split(","):
        name, *parameters = (part.strip() for part in one.split(";"))
        if name == "gzip":
            return not any(re.fullmatch(r"q\s*=\s*0(\.0*)?", parameter) for parameter in parameters)
    return False


@cache
def _compressed(name: str) -> bytes:
    """Return a compressed file; it has no secrets, which its length could leak."""
    return gzip.compress(files()[name][0], mtime=0)
