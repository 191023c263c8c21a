"""Extension of griffe: show doctests as code, and options in the table of a function's parameters."""

from __future__ import annotations

import inspect
import pydoc
import re
from collections.abc import Iterator
from typing import Any

from griffe import Docstring, DocstringParameter, DocstringSectionParameters, Extension, Function, Object

from rdflive.api import options

DOCTEST = re.compile(r"^( *)>>> .*(?:\n(?!\s*$).*)*(?:\n\s*\n\1>>> .*(?:\n(?!\s*$).*)*)*", re.MULTILINE)
OPTIONS = re.compile(r"Unpack\[(\w+)\]")


class Docstrings(Extension):
    """Puts a fence around each run of doctests, and lists options after the parameters of `Args:`."""

    def on_object(self, *, obj: Object, **_: Any) -> None:
        """Change the docstring of an object."""
        if obj.docstring is None:
            return
        obj.docstring.value = fenced(obj.docstring.value)
        if isinstance(obj, Function):
            table_of(obj.docstring).extend(rows(obj))


def fenced(text: str) -> str:
    """Fence the doctests of a text."""
    return DOCTEST.sub(lambda run: f"{run[1]}```pycon\n{run[0]}\n{run[1]}```", text)


def table_of(docstring: Docstring) -> list[DocstringParameter]:
    """Return the rows of the parameters that a docstring describes."""
    tables = (part.value for part in docstring.parsed if isinstance(part, DocstringSectionParameters))
    return next(tables, [])


def rows(function: Function) -> Iterator[DocstringParameter]:
    """Describe each option of a function with `**options: Unpack[...]`, as `options.py` declares it."""
    kinds = (OPTIONS.fullmatch(str(each.annotation)) for each in function.parameters)
    for kind in (getattr(options, found[1]) for found in kinds if found and hasattr(options, found[1])):
        shown = inspect.signature(pydoc.locate(function.path)).parameters
        for name, option in kind.__annotations__.items():
            default, meaning = option.__metadata__
            words = "time.time" if callable(default) else repr(default)
            yield DocstringParameter(
                name, annotation=shown[name].annotation, description=meaning, value=words
            )
