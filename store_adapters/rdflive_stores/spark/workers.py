"""What the functions that Spark runs in its Python workers do first."""

from __future__ import annotations

import gc
import sys
from itertools import count
from typing import Final

__all__ = ["spare_collections"]

_FIRST: Final = 16
"""So many tasks of a process load what later ones use."""
_tasks: Final = count()


def spare_collections() -> None:
    """Keep what a worker has loaded out of its garbage collections.

    PySpark's workers collect all garbage after each task. With rdflib, pandas and PyArrow loaded that took 60
    ms, more than most tasks of a small micro-batch.
    """
    # not in each task, as what is frozen is never collected; and not in the program that runs Spark
    spark = sys.modules.get("pyspark")  # a worker has imported it; the stages themselves run without
    if spark is not None and spark.TaskContext.get() is not None and next(_tasks) < _FIRST:
        gc.freeze()
