"""What a feed and its mapping do not have in common: most often a name that one of them spells otherwise."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Final, Protocol

from rdflive.feeds.tables.held_rows import TableName
from rdflive.feeds.tables.mapping import RowMapping

__all__ = ["Gaps", "MappingGaps"]

log = logging.getLogger("rdflive")

_SHOWN: Final = 200
"""Characters of a list of names that a warning shows."""


class Gaps(Protocol):
    """Is told what a feed and its mapping do not share."""

    def warn_of_table(self, table: TableName) -> None:
        """Take a table that the mapping lacks."""

    def warn_of_columns(self, table: TableName, lacking: Iterable[str], seen: Iterable[str]) -> None:
        """Take the mapped columns that a row lacks, and the columns that it has."""


class MappingGaps:
    """Warns once of each table that the mapping lacks, and of each mapped column that rows lack.

    Neither is an error: a feed may hold tables that nobody wants, and a missing column counts as NULL.
    """

    def __init__(self, form: str, mapping: RowMapping) -> None:
        self._form = form
        self._mapped = tuple(mapping.tables)
        self._told: set[tuple[TableName, str | None]] = set()

    def warn_of_table(self, table: TableName) -> None:
        """Say that the events of a table are ignored."""
        if self._is_new(table):
            log.warning(
                "%s: the events of table %r are ignored; the mapping has: %s",
                self._form,
                ".".join(table),
                _listed(self._mapped),
            )

    def warn_of_columns(self, table: TableName, lacking: Iterable[str], seen: Iterable[str]) -> None:
        """Say which of the mapped columns rows lack, and which columns they have."""
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
        if (table, column) in self._told:
            return False
        self._told.add((table, column))
        return True


def _listed(names: Iterable[str]) -> str:
    """Write names on one line, whatever is in them."""
    return ", ".join(map(repr, names))[:_SHOWN]
