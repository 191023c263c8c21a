"""The warning about variables that a row cannot give as attributes."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Final

from rdflive.model.solution import hidden_names

__all__ = ["rows_are_unread", "rows_unread", "warn_of_hidden_names"]

log = logging.getLogger("rdflive")

_UNREAD: Final[ContextVar[bool]] = ContextVar("unread", default=False)


def warn_of_hidden_names(query: str, names: tuple[str, ...]) -> None:
    """Log which variables of a SELECT query are read by name only; once for each text of a query."""
    if not _UNREAD.get():
        _warn(query, names)


@contextmanager
def rows_unread() -> Iterator[None]:
    """Warn of nothing inside: what is subscribed to there is written out, by place."""
    token = _UNREAD.set(True)
    try:
        yield
    finally:
        _UNREAD.reset(token)


def rows_are_unread() -> bool:
    """Tell whether this is inside `rows_unread`."""
    return _UNREAD.get()


@lru_cache(maxsize=1024)  # so that texts without end do not fill the memory
def _warn(query: str, names: tuple[str, ...]) -> None:
    hidden = hidden_names(names)
    if hidden:
        log.warning(
            "rows have something else under the name of %s: read %s; the query is %.200r",
            ", ".join(f"?{name}" for name in hidden),
            ", ".join(f'row["{name}"]' for name in hidden),
            query,
        )
