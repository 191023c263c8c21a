"""Functions that are generated as Python source: an access plan becomes straight-line code.

An update of a pattern touches a handful of dictionaries, and interpreting a plan would cost more than the
probes. Constants and containers are bound to names and never written into the text, so plans of the same
shape have the same text and share one compiled code object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import CodeType
from typing import Any

__all__ = ["Source"]


@lru_cache(maxsize=4096)
def _compiled(text: str) -> CodeType:
    return compile(text, "<rdflive plan>", "exec")


class Source:
    """One function under construction: indented lines and the objects that they name."""

    __slots__ = ("_lines", "_margin", "_names")

    def __init__(self, head: str) -> None:
        self._lines = [head]
        self._margin = 1
        self._names: dict[str, Any] = {}

    def line(self, text: str) -> None:
        """Add one line at the current depth."""
        self._lines.append("    " * self._margin + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Add `head` and indent what is written inside the `with`."""
        self.line(head)
        self._margin += 1
        yield
        self._margin -= 1

    def enter(self, head: str) -> None:
        """Add `head` and indent everything that follows, to the end of the function."""
        self.line(head)
        self._margin += 1

    def leave(self) -> None:
        """Go back to the depth of the function's first line."""
        self._margin = 1

    def __len__(self) -> int:
        """Count the lines."""
        return len(self._lines)

    def name(self, value: object) -> str:
        """Bind `value` to a name that the text can use."""
        name = f"k{len(self._names)}"
        self._names[name] = value
        return name

    @property
    def text(self) -> str:
        """The source as Python would read it."""
        return "\n".join(self._lines) + "\n"

    def function(self, name: str) -> Callable[..., Any]:
        """Compile the text and return the function called `name`."""
        namespace = dict(self._names)
        exec(_compiled(self.text), namespace)  # noqa: S102 - the text comes from the planner, never from input
        # taken out, for it would be a circle that keeps what the text names until garbage is collected
        function: Callable[..., Any] = namespace.pop(name)
        return function
