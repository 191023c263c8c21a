"""What browsers request: the page with the rights of its client, and the cookie of a token."""

from __future__ import annotations

import asyncio
from typing import Any, Final, Literal
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from rdflive.page import FILES, show_page, show_sign_in
from rdflive.server.access import COOKIE, Access, Client
from rdflive.server.bodies import read_body
from rdflive.server.failures import Problem
from rdflive.server.service import Service
from rdflive.syntax.prefixes import writable_prefixes

__all__ = ["PAGE_ROUTES"]


async def _index(request: Request) -> Response:
    client: Client = request.state.client
    service: Service = request.app.state.service
    access: Access = request.app.state.access
    # prefixes show parts of the data, so they need a right to read; in a thread, as a store may be slow
    can_read = client.rights - {"update"}
    prefixes = await asyncio.to_thread(writable_prefixes, service.dataset) if can_read else {}
    return show_page(
        client.rights,
        prefixes,
        has_rules=service.rules is not None,
        shapes=_shapes(service),
        needs_token=access.needs_token,
    )


def _shapes(service: Service) -> Literal["", "idle", "yes"]:
    """Tell the page whether there are shapes, and whether data can fail to conform to them."""
    if service.validation is None:
        return ""
    validation: Any = service.topics.validation.subscription
    return "yes" if validation.validates else "idle"


async def _login(request: Request) -> Response:
    """Set the cookie of a token and redirect to the page, or show the form again."""
    access: Access = request.app.state.access
    fields = parse_qs((await read_body(request)).decode("utf-8", "replace"))
    token = fields.get("token", [""])[0].strip()
    then = fields.get("then", [""])[0]
    try:
        access.holder(token, "")
    except Problem:
        return show_sign_in("Unknown token.", then=then)
    if not token.isascii():  # no cookie can hold it; a server without tokens accepts any other
        return show_sign_in("A token is ASCII text.", then=then)
    # 303, so that the browser gets the page by GET, and a reload does not post the token again
    home = request.scope.get("root_path", "") + "/"  # the path of a mounted application
    # continues to the linked query; the URL never leaves the page
    response = RedirectResponse(f"{home}?{then}" if then else home, 303)
    # browsers ignore a secure cookie without TLS; behind a TLS proxy only its header has the scheme
    forwarded = request.headers.get("x-forwarded-proto", "").partition(",")[0].strip().lower()
    is_secure = "https" in (request.url.scheme, forwarded)
    response.set_cookie(COOKIE, token, path=home, secure=is_secure, httponly=True, samesite="strict")
    return response


PAGE_ROUTES: Final = (Route("/", _index), FILES, Route("/login", _login, methods=["POST"]))
"""The routes of the page, its files and its sign-in form."""
