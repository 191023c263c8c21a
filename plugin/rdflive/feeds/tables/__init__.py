"""Feeds of table rows, which a mapping turns into triples."""

from __future__ import annotations

from rdflive.feeds.tables.debezium import DEBEZIUM, debezium
from rdflive.feeds.tables.delta_lake import DELTA_LAKE, delta_lake
from rdflive.feeds.tables.mapping import RowMapping, read_mapping
from rdflive.feeds.tables.templates import MappingError

__all__ = ["DEBEZIUM", "DELTA_LAKE", "MappingError", "RowMapping", "debezium", "delta_lake", "read_mapping"]
