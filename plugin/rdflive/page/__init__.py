"""The page for subscribing in a browser, and its sign-in form, as responses; it knows no server."""

from __future__ import annotations

from rdflive.page.documents import show_page, show_sign_in
from rdflive.page.files import FILES

__all__ = ["FILES", "show_page", "show_sign_in"]
