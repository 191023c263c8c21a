"""A subscription in a notebook: a display that follows the answer, and a widget with bars and a table."""

from __future__ import annotations

import logging
import math
import sys
import threading
import time
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from rdflive.delivery.mailbox import Mailbox
from rdflive.errors import MissingExtraError, RdfliveError
from rdflive.extras import install_command
from rdflive.model import Delta, Glimpse, TermWriter, python_value, to_printable
from rdflive.model.tables import CELL

__all__ = ["Display", "contents", "make_widget", "notebook", "widget_type"]


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


log = logging.getLogger("rdflive")

_GATHER: Final = 0.05
"""Seconds between the first change and what shows it: commits of one cell are shown, and marked, together."""
_PAUSE: Final = 0.2
"""Seconds between two updates, at least: people see no more."""
_SHARE: Final = 4
"""After an update the display rests for so many times as long as it took."""


def notebook() -> Any:
    """Give IPython's module for displays if this runs in a notebook; None elsewhere."""
    ipython: Any = sys.modules.get("IPython")  # a notebook has imported it
    shell = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is None:  # IPython in a terminal has no display to update
        return None
    import IPython.display  # type: ignore[import-not-found,unused-ignore]  # optional

    return IPython.display


class Display:
    """Has what a notebook shows follow the answer: a thread calls `update` when a delta has come.

    Deltas that come meanwhile, and for a moment after the first, are added together. What is shown stays as
    it is when the mailbox ends.
    """

    def __init__(self, mailbox: Mailbox, update: Callable[[Delta], object]) -> None:
        self._mailbox = mailbox
        self._update = update
        threading.Thread(target=self._follow, name="rdflive-display", daemon=True).start()

    def _follow(self) -> None:
        try:
            while True:
                self._mailbox.wait()
                if self._mailbox.waits:
                    time.sleep(_GATHER)
                delta = self._mailbox.take()
                if delta is None:
                    return
                begin = time.perf_counter()
                self._update(delta)
                time.sleep(max(_PAUSE, _SHARE * (time.perf_counter() - begin)))
        except RdfliveError:  # the subscription was closed, or gave up: what is shown stays
            return
        except Exception:
            log.exception("a display in a notebook is not updated any more")
        finally:
            self._mailbox.stop()
