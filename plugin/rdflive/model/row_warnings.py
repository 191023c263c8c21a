"""The warning about variables that are not readable as row attributes."""

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
    """Log the variables of a SELECT query that are not readable as attributes, once per query text."""
    if not _UNREAD.get():
        _warn(query, names)


@contextmanager
def rows_unread() -> Iterator[None]:
    """Disable the warning within a block whose subscriptions read rows only by position."""
    token = _UNREAD.set(True)
    try:
        yield
    finally:
        _UNREAD.reset(token)


def rows_are_unread() -> bool:
    """True within `rows_unread`."""
    return _UNREAD.get()


@lru_cache(maxsize=1024)  # bounds the memory of endless new texts
def _warn(query: str, names: tuple[str, ...]) -> None:
    hidden = hidden_names(names)
    if hidden:
        log.warning(
            "rows have another attribute named %s: read %s; the query is %.200r",
            ", ".join(f"?{name}" for name in hidden),
            ", ".join(f'row["{name}"]' for name in hidden),
            query,
        )
