"""The widget of a subscription, for notebooks: its first solutions as bars and as a table."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from rdflive.delivery.display import Display
from rdflive.delivery.mailbox import Mailbox
from rdflive.errors import MissingExtraError
from rdflive.extras import install_command
from rdflive.model import Delta, Glimpse, TermWriter, python_value, to_printable
from rdflive.model.tables import CELL

__all__ = ["contents", "make_widget", "widget_type"]


@cache
def widget_type() -> Any:
    """Make the class, which needs anywidget; raises `MissingExtraError`."""
    try:
        base, traitlets = import_module("anywidget").AnyWidget, import_module("traitlets")
    except ImportError as error:
        message = f"a widget needs anywidget: {install_command('notebook')}"
        raise MissingExtraError(message, name=error.name) from error
    members = {
        "__module__": __name__,
        "_esm": Path(__file__).with_suffix(".js"),
        "shown": traitlets.Dict().tag(sync=True),
    }
    return type("LiveWidget", (base,), members)


def make_widget(kind: Any, mailbox: Mailbox, show: Callable[[Delta | None], dict[str, Any]]) -> Any:
    """Make a widget that follows a mailbox until it is closed.

    `show` gives what its views show; it is given the last delta, None at first. A thread of the display sets
    it, as ipywidgets allows: the kernel has a thread of its own that writes to the front end.
    """
    widget = kind(shown=show(None))
    # None when it is closed
    widget.observe(lambda change: mailbox.stop() if change.new is None else None, "comm")
    Display(mailbox, lambda delta: setattr(widget, "shown", show(delta)))
    return widget


def contents(glimpse: Glimpse, delta: Delta | None, title: str, chart: str | None) -> dict[str, Any]:
    """Give what a view shows, as JSON: texts, and for each row the label and the number of its bar.

    The number is None where the term is none, or no finite one.
    """
    header = glimpse.header
    place = None if chart is None else header.variables.index(chart)
    write = TermWriter(header.prefixes(), most=CELL)
    rows = [
        {
            "sign": line.sign,
            "cells": ["" if term is None else write(term) for term in line.terms],
            "label": " ".join(_label(term, write) for n, term in enumerate(line.terms) if n != place),
            "number": None if place is None else _number(line.terms[place]),
        }
        for line in glimpse.lines(delta)
    ]
    return {
        "caption": to_printable(f"{title}: {glimpse.caption(delta)}"),
        "titles": [to_printable(name) for name in header.titles],
        "chart": place,
        "rows": rows,
        "prefixes": to_printable(" · ".join(f"{p}: <{name}>" for p, name in sorted(write.used.items()))),
    }


def _label(term: Any, write: TermWriter) -> str:
    """Write a term without the quotes, language and datatype of a literal."""
    if term is None:
        return ""
    text = write(term)
    return to_printable(str(python_value(term)))[:CELL] if text.startswith('"') else text


def _number(term: Any) -> float | None:
    value = python_value(term)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
