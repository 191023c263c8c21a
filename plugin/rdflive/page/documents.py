"""The documents: the page itself, and the form for a token."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping
from html import escape
from typing import Final, Literal

from starlette.responses import HTMLResponse, Response

from rdflive.page.files import FOLDER, SAFE, files

__all__ = ["show_page", "show_sign_in"]

_BUNDLES: Final = {"editor": "editor.js", "graph": "graph.js"}
"""Bundles of the build, which a package may lack, by their names in the document."""
_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; connect-src 'self'; "
    "img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


def show_page(
    rights: Iterable[str],
    prefixes: Mapping[str, str],
    *,
    has_rules: bool,
    shapes: Literal["", "idle", "yes"],
    needs_token: bool,
) -> Response:
    """Respond with the page for a client with these rights, and with prefixes for its queries.

    `shapes` is empty if the server has none, and `idle` if no data can fail to conform to them.
    """
    parts = {
        **{part: name if name in files() else "" for part, name in _BUNDLES.items()},
        "rights": " ".join(sorted(rights)),
        "rules": "" if has_rules else " hidden",
        "shapes": shapes,
        "token": "yes" if needs_token else "",
        # the last one, so that no text in it is replaced
        "prefixes": escape(json.dumps(dict(prefixes))),
    }
    return _html("index.html", parts)


def show_sign_in(problem: str = "", *, then: str = "") -> Response:
    """Respond 401 with a form that posts a token to `/login`; `problem` is the error of the last token.

    `then` is the query part of the page's URL, for example of a link to a query.
    """
    shown = f'<p class="problem" role="alert">{escape(problem)}</p>' if problem else ""
    parts = {"problem": shown, "then": escape(then)}
    return _html("sign_in.html", parts, 401, {"WWW-Authenticate": 'Bearer realm="rdflive"'})


def _html(
    name: str, parts: Mapping[str, str], status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Fill the placeholders `{part}` of a document, with a nonce for the styles of the editor."""
    nonce = secrets.token_urlsafe(16)
    text = FOLDER.joinpath(name).read_text(encoding="utf-8")
    for part, value in {"nonce": nonce, **parts}.items():
        text = text.replace(f"{{{part}}}", value)
    return HTMLResponse(
        text,
        status,
        {
            **SAFE,
            "Content-Security-Policy": _POLICY.format(nonce=nonce),
            "Cache-Control": "no-store",
            **(headers or {}),
        },
    )
