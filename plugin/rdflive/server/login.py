"""Signing in to the page: a form takes the token, a cookie keeps it."""

from __future__ import annotations

from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from rdflive.server.access import COOKIE, Access
from rdflive.server.bodies import read_body
from rdflive.server.failures import Problem
from rdflive.server.page import sign_in

__all__ = ["login"]


async def login(request: Request) -> Response:
    """Give a browser the cookie of a token, and lead it to the page; or the form again."""
    access: Access = request.app.state.access
    fields = parse_qs((await read_body(request)).decode("utf-8", "replace"))
    token = fields.get("token", [""])[0].strip()
    then = fields.get("then", [""])[0]
    try:
        access.holder(token, "")
    except Problem:
        return sign_in("This server does not know the token.", then=then)
    if not token.isascii():  # no cookie can hold it, and where there are no tokens any other will do
        return sign_in("A token has ASCII characters only.", then=then)
    # 303, so that the browser asks for the page by GET, and a reload does not post the token again
    home = request.scope.get("root_path", "") + "/"  # where a server has mounted this
    # a link to a query is followed on; it never leads away from the page
    response = RedirectResponse(f"{home}?{then}" if then else home, 303)
    # a browser keeps a secure cookie from pages without TLS, so signing in would come to nothing there
    # behind a proxy that does TLS, only its header tells what the browser sees
    told = request.headers.get("x-forwarded-proto", "").partition(",")[0].strip().lower()
    is_secure = "https" in (request.url.scheme, told)
    response.set_cookie(COOKIE, token, path=home, secure=is_secure, httponly=True, samesite="strict")
    return response
