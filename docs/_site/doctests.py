"""Extension of griffe: show the doctests of docstrings as code, not as quotes."""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension, Object

DOCTEST = re.compile(r"^( *)>>> .*(?:\n(?!\s*$).*)*(?:\n\s*\n\1>>> .*(?:\n(?!\s*$).*)*)*", re.MULTILINE)


class Doctests(Extension):
    """Puts a fence around each run of doctests."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Change the docstring of an object."""
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """Fence the doctests of a text."""
    return DOCTEST.sub(lambda run: f"{run[1]}```pycon\n{run[0]}\n{run[1]}```", text)
