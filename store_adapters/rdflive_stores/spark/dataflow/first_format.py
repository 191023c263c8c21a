"""State as the first format had it, to be read once, by what makes state anew.

A bucket was a base and the changes of the micro-batches behind it, each a sorted table of today's columns.
"""

from __future__ import annotations

import re
from typing import Final

from rdflive_stores.spark.dataflow.files import Folder
from rdflive_stores.spark.dataflow.runs import Run

__all__ = ["runs_after"]

_FILE: Final = re.compile(r"(base|delta)-(\d+)\.arrow")


def runs_after(folder: Folder, batch: int) -> list[Run]:
    """Read the state of a bucket after a micro-batch."""
    found = [(int(m[2]), m[1], m[0]) for name in folder.names() if (m := _FILE.fullmatch(name)) is not None]
    base = max((number for number, kind, _ in found if kind == "base" and number <= batch), default=-1)
    names = [
        name
        for number, kind, name in sorted(found)
        if (kind == "base" and number == base) or (kind == "delta" and base < number <= batch)
    ]
    tables = [folder.table(name) for name in names]
    return [Run(table) for table in tables if table.num_rows]
