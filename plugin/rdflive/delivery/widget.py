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
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

from rdflive.delivery.mailbox import Mailbox
from rdflive.errors import MissingExtraError, RdfliveError
from rdflive.extras import install_command
from rdflive.model import Delta, Glimpse, TermWriter, python_value, to_printable
from rdflive.model.tables import CELL

__all__ = ["Display", "bars", "make_widget", "notebook", "widget_type"]


_BARS: Final = "display:grid;grid-template-columns:max-content 1fr max-content;gap:3px 8px;margin:4px 0 10px"
_TEXT: Final = "max-width:16em;overflow:hidden;white-space:nowrap;text-overflow:ellipsis"


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
        "_ipython_display_": _display_with_copy,
        "html": traitlets.Unicode().tag(sync=True),
        "copy": traitlets.Unicode().tag(sync=True),
        "bundle": traitlets.Dict(),
        "is_displayed": traitlets.Bool(),
    }
    return type("LiveWidget", (base,), members)


def make_widget(kind: Any, mailbox: Mailbox, show: Callable[[Delta | None], dict[str, str]]) -> Any:
    """Make a widget that follows a mailbox until the widget is closed.

    `show` takes the last delta, at first None, and returns the content by media type. The thread of the
    display sets it. ipywidgets allows this: the kernel writes to the front end in a thread of its own.
    """
    widget = kind(copy=f"rdflive-{uuid4().hex}")
    _set(widget, show(None))
    # `comm` becomes None when the widget is closed
    widget.observe(lambda change: mailbox.stop() if change.new is None else None, "comm")

    def update(delta: Delta) -> None:
        _set(widget, show(delta))
        if widget.is_displayed:
            import_module("IPython.display").update_display(widget.bundle, display_id=widget.copy, raw=True)

    Display(mailbox, update)
    return widget


def _display_with_copy(widget: Any) -> None:
    """Display a view of a widget, and a copy of its content for exports of the notebook.

    An export has no kernel, and often no network from which to load the program of the view. A view hides the
    copy; see widget.js. An output with both would not do: exports prefer the view.
    """
    display = import_module("IPython.display").display
    if widget.comm is not None:  # a closed widget has no view
        view, metadata = widget._repr_mimebundle_()
        display({**view, "text/plain": ""}, metadata=metadata, raw=True)
    widget.is_displayed = True
    display(widget.bundle, display_id=widget.copy, raw=True)


def _set(widget: Any, content: dict[str, str]) -> None:
    """Set the content of the views of a widget, and of the copy."""
    widget.html = content["text/html"]
    widget.bundle = {**content, "text/html": f'<div id="{widget.copy}">{widget.html}</div>'}


def bars(glimpse: Glimpse, delta: Delta | None, chart: str) -> str:
    """Return HTML with a bar for each shown solution that has a finite number in the variable `chart`."""
    place = glimpse.header.variables.index(chart)
    write = TermWriter(glimpse.header.prefixes(), most=CELL)
    rows = [
        (number, line.terms)
        for line in glimpse.lines(delta)
        if line.sign != "−" and (number := _number(line.terms[place])) is not None
    ]
    numbers = [0.0, *(number for number, _ in rows)]
    low = min(numbers)
    share = 100 / ((max(numbers) - low) or 1)
    parts = ""
    for number, terms in rows:
        label = " ".join(_label(term, write) for n, term in enumerate(terms) if n != place)
        left, width = share * (min(0.0, number) - low), share * abs(number)
        bar = f"margin-left:{left:.2f}%;width:{width:.2f}%;min-width:1px;height:100%;background:#4278c8"
        parts += (
            f'<div class="label" style="{_TEXT}">{escape(label)}</div>'
            f'<div><div class="bar" style="{bar}"></div></div>'
            f'<div style="text-align:right">{escape(write(terms[place]))}</div>'
        )
    # the table says the same to those who do not see the bars; see html_table for the other classes
    name = escape(f"{to_printable(glimpse.header.titles[place])} as bars")
    classes = "rdflive-bars tex2jax_ignore mathjax_ignore"
    return f'<div class="{classes}" role="img" aria-label="{name}" style="{_BARS}">{parts}</div>'


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
_PATIENCE: Final = 2
"""Most seconds that the end of a cell waits for an update."""


def _shell() -> Any:
    """Return the running shell of IPython; None outside of one."""
    ipython: Any = sys.modules.get("IPython")  # a notebook has imported it
    return None if ipython is None else ipython.get_ipython()


def notebook() -> Any:
    """Return IPython's module for displays in a notebook; None elsewhere."""
    if getattr(_shell(), "kernel", None) is None:  # IPython in a terminal has no display to update
        return None
    import IPython.display  # type: ignore[import-not-found,unused-ignore]  # optional

    return IPython.display


class Display:
    """Keeps a display in a notebook up to date: a thread calls `update` with each delta of a mailbox.

    The mailbox merges the deltas that arrive during an update, and in the first moment after a change. When
    a cell of the notebook ends, its changes are shown before the next cell begins: a program that runs all
    cells and exports the notebook sees no later updates. When the mailbox ends, the display keeps its last
    content.
    """

    def __init__(self, mailbox: Mailbox, update: Callable[[Delta], object]) -> None:
        self._mailbox = mailbox
        self._update = update
        self._lock = threading.Lock()
        self._shell = _shell()
        if self._shell is not None:
            self._shell.events.register("post_run_cell", self._end_cell)
        threading.Thread(target=self._follow, name="rdflive-display", daemon=True).start()

    def _follow(self) -> None:
        goes_on = True
        while goes_on:
            self._mailbox.wait()
            if self._mailbox.waits:
                time.sleep(_GATHER)
            begin = time.perf_counter()
            with self._lock:
                goes_on = self._catch_up()
            time.sleep(max(_PAUSE, _SHARE * (time.perf_counter() - begin)))
        self._mailbox.stop()
        if self._shell is not None:
            self._shell.events.unregister("post_run_cell", self._end_cell)

    def _end_cell(self, _: object) -> None:
        # the thread cannot finish an update while the cells hold a batch open
        if self._lock.acquire(timeout=_PATIENCE):
            try:
                self._catch_up()
            finally:
                self._lock.release()

    def _catch_up(self) -> bool:
        """Show what waits; return False at the end."""
        try:
            delta, goes_on = self._mailbox.take_now(self._mailbox.wake)
            if delta is not None:
                self._update(delta)
            return goes_on
        except RdfliveError:  # the subscription was closed, or has failed
            return False
        except Exception:
            log.exception("a display in a notebook is not updated any more")
            return False
