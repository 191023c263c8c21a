"""The page at `/` for subscribing in a browser, and its sign-in form."""

from __future__ import annotations

import asyncio
import gzip
import hashlib
import json
import re
import secrets
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any, Final
from urllib.parse import parse_qs

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from rdflive.server.access import COOKIE, Access, Client
from rdflive.server.bodies import read_body
from rdflive.server.failures import Problem
from rdflive.server.service import Service
from rdflive.syntax.prefixes import writable_prefixes

__all__ = ["login", "page_routes", "sign_in"]

_PAGE: Final = files("rdflive.server").joinpath("page")
_BUNDLES: Final = {"editor": "editor.js", "graph": "graph.js"}
"""Bundles of the build, which a package may lack, by their names in the document."""
_TYPES: Final = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_SAFE: Final = {
    "X-Content-Type-Options": "nosniff",
    # not no-referrer, which would make browsers send `Origin: null` with the sign-in form
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; connect-src 'self'; "
    "img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def page_routes() -> list[BaseRoute]:
    """Return the routes of the page and its files.

    >>> [route.path for route in page_routes()]
    ['/', '/static/{name}']
    """
    return [Route("/", _index), Route("/static/{name}", _static)]


def sign_in(problem: str = "", *, then: str = "") -> Response:
    """Respond 401 with a form that posts a token to `/login`; `problem` is the error of the last token.

    `then` is the query part of the page's URL, for example of a link to a query.
    """
    shown = f'<p class="problem" role="alert">{escape(problem)}</p>' if problem else ""
    parts = {"problem": shown, "then": escape(then)}
    return _html("sign_in.html", parts, 401, {"WWW-Authenticate": 'Bearer realm="rdflive"'})


async def _index(request: Request) -> Response:
    """Respond with the page, with the client's rights and the prefixes for queries in it."""
    client: Client = request.state.client
    service: Service = request.app.state.service
    access: Access = request.app.state.access
    dataset = service.dataset
    # prefixes show parts of the data, so they need a right to read; in a thread, as a store may be slow
    prefixes = await asyncio.to_thread(writable_prefixes, dataset) if client.rights - {"update"} else {}
    parts = {
        **{part: name if name in _assets() else "" for part, name in _BUNDLES.items()},
        "rights": " ".join(sorted(client.rights)),
        "rules": "" if service.rules is not None else " hidden",
        "shapes": _shapes(service),
        "token": "yes" if access.needs_token else "",
        # the last one, so that no text in it is replaced
        "prefixes": escape(json.dumps(prefixes)),
    }
    return _html("index.html", parts)


def _shapes(service: Service) -> str:
    """Tell the page whether there are shapes, and whether data can fail to conform to them."""
    if service.validation is None:
        return ""
    validation: Any = service.topics.validation.subscription
    return "yes" if validation.validates else "idle"


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    found = _assets().get(name)
    if found is None:
        raise HTTPException(404, f"the page has no file {name!r}")
    content, media_type, tag = found
    # no-cache: a new version of the package must not mix with files of the old one
    headers = _SAFE | {"Cache-Control": "no-cache", "ETag": tag, "Vary": "Accept-Encoding"}
    if request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    if _takes_gzip(request.headers.get("accept-encoding", "")):
        content, headers["Content-Encoding"] = _compressed(name), "gzip"
    return Response(content, media_type=media_type, headers=headers)


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
    return gzip.compress(_assets()[name][0], mtime=0)


@cache
def _assets() -> Mapping[str, tuple[bytes, str, str]]:
    """Return the files of the page: all at the top of its folder except the documents."""
    found = {}
    for file in _PAGE.iterdir():
        media_type = next((kind for ending, kind in _TYPES.items() if file.name.endswith(ending)), None)
        if media_type and file.is_file():
            content = file.read_bytes()
            found[file.name] = content, media_type, f'W/"{hashlib.sha256(content).hexdigest()[:32]}"'
    return found


def _html(
    name: str, parts: Mapping[str, str], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Fill the placeholders `{part}` of a document, with a nonce for the styles of the editor."""
    nonce = secrets.token_urlsafe(16)
    text = _PAGE.joinpath(name).read_text(encoding="utf-8")
    for part, value in {"nonce": nonce, **parts}.items():
        text = text.replace(f"{{{part}}}", value)
    return HTMLResponse(
        text,
        status,
        {
            **_SAFE,
            "Content-Security-Policy": _POLICY.format(nonce=nonce),
            "Cache-Control": "no-store",
            **(headers or {}),
        },
    )


async def login(request: Request) -> Response:
    """Set the cookie of a token and redirect to the page, or show the form again."""
    access: Access = request.app.state.access
    fields = parse_qs((await read_body(request)).decode("utf-8", "replace"))
    token = fields.get("token", [""])[0].strip()
    then = fields.get("then", [""])[0]
    try:
        access.holder(token, "")
    except Problem:
        return sign_in("Unknown token.", then=then)
    if not token.isascii():  # no cookie can hold it; a server without tokens accepts any other
        return sign_in("A token is ASCII text.", then=then)
    # 303, so that the browser gets the page by GET, and a reload does not post the token again
    home = request.scope.get("root_path", "") + "/"  # the path of a mounted application
    # continues to the linked query; the URL never leaves the page
    response = RedirectResponse(f"{home}?{then}" if then else home, 303)
    # browsers ignore a secure cookie without TLS; behind a TLS proxy only its header has the scheme
    forwarded = request.headers.get("x-forwarded-proto", "").partition(",")[0].strip().lower()
    is_secure = "https" in (request.url.scheme, forwarded)
    response.set_cookie(COOKIE, token, path=home, secure=is_secure, httponly=True, samesite="strict")
    return response
