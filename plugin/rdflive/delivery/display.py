"""The display of a subscription in a notebook, which follows the answer in place."""

from __future__ import annotations

import logging
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from rdflive.delivery.mailbox import Mailbox
from rdflive.errors import RdfliveError
from rdflive.model import Delta

__all__ = ["Display", "notebook"]

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
