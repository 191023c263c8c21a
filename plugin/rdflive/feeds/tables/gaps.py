"""Warnings about differences between a feed and its mapping, most often a name spelled differently."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final, Protocol

from rdflive.feeds.tables.held_rows import TableName
from rdflive.feeds.tables.mapping import RowMapping

__all__ = ["Gaps", "MappingGaps"]

log = logging.getLogger("rdflive")

_SHOWN: Final = 200
"""Maximum characters of a list of names in a warning."""


class Gaps(Protocol):
    """Receives the differences between a feed and its mapping."""

    def warn_of_table(self, table: TableName) -> None:
        """Report a table that the mapping lacks."""

    def warn_of_columns(self, table: TableName, lacking: Iterable[str], seen: Iterable[str]) -> None:
        """Report the mapped columns that a row lacks, and the columns that it has."""


class MappingGaps:
    """Warns once of each table that the mapping lacks, and of each mapped column that rows lack.

    Neither is an error: a feed may hold tables that are not needed, and a missing column counts as NULL.
    """

    def __init__(self, form: str, mapping: RowMapping) -> None:
        self._form = form
        self._mapped = tuple(mapping.tables)
        self._warned: set[tuple[TableName, str | None]] = set()

    def warn_of_table(self, table: TableName) -> None:
        """Warn that the events of a table are ignored."""
        if self._is_new(table):
            log.warning(
                "%s: the events of table %r are ignored; the mapping has: %s",
                self._form,
                ".".join(table),
                _listed(self._mapped),
            )

    def warn_of_columns(self, table: TableName, lacking: Iterable[str], seen: Iterable[str]) -> None:
        """Warn of the mapped columns that rows lack, with the columns that they have."""
        for column in lacking:
            if self._is_new(table, column):
                log.warning(
                    "%s: the rows of table %r lack the mapped column %r, which counts as NULL; they have: %s",
                    self._form,
                    ".".join(table),
                    column,
                    _listed(seen),
                )

    def _is_new(self, table: TableName, column: str | None = None) -> bool:
        if (table, column) in self._warned:
            return False
        self._warned.add((table, column))
        return True


def _listed(names: Iterable[str]) -> str:
    """Return quoted names on one line, truncated."""
    return ", ".join(map(repr, names))[:_SHOWN]
