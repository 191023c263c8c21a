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
    """Return the class of widgets; raises `MissingExtraError` without anywidget."""
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
    """Make a widget that follows a mailbox until the widget is closed.

    `show` takes the last delta, at first None, and returns the content of the views. The thread of the
    display sets it. ipywidgets allows this: the kernel writes to the front end in a thread of its own.
    """
    widget = kind(shown=show(None))
    # `comm` becomes None when the widget is closed
    widget.observe(lambda change: mailbox.stop() if change.new is None else None, "comm")
    Display(mailbox, lambda delta: setattr(widget, "shown", show(delta)))
    return widget


def contents(glimpse: Glimpse, delta: Delta | None, title: str, chart: str | None) -> dict[str, Any]:
    """Return the content of a view as JSON: texts, and for each row the label and the number of its bar.

    The number is None if the term is not a finite number.
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
"""Seconds between the first change and its display, so that the commits of one cell are shown together."""
_PAUSE: Final = 0.2
"""Least number of seconds between two updates: people cannot follow more."""
_SHARE: Final = 4
"""Seconds of pause after an update, per second that the update took."""


def notebook() -> Any:
    """Return IPython's module for displays in a notebook; None elsewhere."""
    ipython: Any = sys.modules.get("IPython")  # a notebook has imported it
    shell = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is None:  # IPython in a terminal has no display to update
        return None
    import IPython.display  # type: ignore[import-not-found,unused-ignore]  # optional

    return IPython.display


class Display:
    """Keeps a display in a notebook up to date: a thread calls `update` with each delta of a mailbox.

    The mailbox merges the deltas that arrive during an update, and in the first moment after a change. When
    the mailbox ends, the display keeps its last content.
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
        except RdfliveError:  # the subscription was closed, or has failed
            return
        except Exception:
            log.exception("a display in a notebook is not updated any more")
        finally:
            self._mailbox.stop()
