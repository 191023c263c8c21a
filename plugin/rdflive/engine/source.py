"""Functions generated as Python source: an access plan becomes straight-line code.

An update of a pattern probes a handful of dictionaries, and interpreting a plan would cost more than the
probes. Constants and containers are bound to names and never written into the code, so plans of the same
shape have the same text and share one compiled code object. The names are arguments with defaults: a function
is the code and a tuple of values, which takes less memory than a namespace.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import CodeType, FunctionType
from typing import Any, Final

__all__ = ["FunctionSource", "bind"]

_BUILTINS: Final[dict[str, Any]] = {"__builtins__": builtins}
"""The globals of all generated functions."""


@lru_cache(maxsize=4096)
def _compiled(text: str) -> CodeType:
    module = compile(text, "<rdflive plan>", "exec")
    return next(part for part in module.co_consts if isinstance(part, CodeType))


class FunctionSource:
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
        """Add `head` and indent the lines written inside the `with`."""
        self.line(head)
        self._margin += 1
        yield
        self._margin -= 1

    def enter(self, head: str) -> None:
        """Add `head` and indent all following lines, to the end of the function."""
        self.line(head)
        self._margin += 1

    def leave(self) -> None:
        """Return to the depth of the function's first line."""
        self._margin = 1

    def __len__(self) -> int:
        """Count the lines."""
        return len(self._lines)

    def name(self, value: object) -> str:
        """Bind `value` to a name for use in the code."""
        name = f"k{len(self._names)}"
        self._names[name] = value
        return name

    @property
    def code(self) -> CodeType:
        """The compiled function, whose last arguments are the values of the names."""
        head, *body = self._lines
        arguments = ", ".join((head.removesuffix("):"), *self._names))
        return _compiled("\n".join((f"{arguments}):", *body)) + "\n")

    def function(self) -> Callable[..., Any]:
        """Compile the code and return the function."""
        return bind(self.code, self._names.values())


def bind(code: CodeType, values: Iterable[object]) -> Callable[..., Any]:
    """Return the function of a source's code with these values for its names, in their order."""
    return FunctionType(code, _BUILTINS, None, tuple(values))
