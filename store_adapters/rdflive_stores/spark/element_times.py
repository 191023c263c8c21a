"""The time of elements: the column that tells it, and how far the watermark is behind the largest one."""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from rdflive.time.instants import DurationLike, to_delay
from rdflive_stores.spark.dataflow.event_time import WINDOWS, EventWindow

__all__ = ["event_window", "quoted"]

_DELAY: Final = "spark.watermarkDelayMs"
"""Where `withWatermark` says in the schema how long it waits, with Spark Connect too."""
_MILLISECOND: Final = 10**6


def event_window(
    changes: DataFrame, window: Any, time: str | None, delay: DurationLike | None
) -> EventWindow | None:
    """Find the column and the delay of a window over a stream; None where there is no window.

    Both are those of `withWatermark`, unless they are given. Without any delay there is none.
    """
    if window is None:
        if time is not None or delay is not None:
            raise ValueError("time= and delay= go with a window: give one, as window=rdflive.Sliding('10s')")
        return None
    if not isinstance(window, WINDOWS):
        raise ValueError(
            f"window={window!r} does not go by time: give Sliding, Tumbling or Landmark; elements cannot be "
            "counted on Spark, where they have no order"
        )
    delays = {f.name: f.metadata[_DELAY] for f in changes.schema.fields if _DELAY in f.metadata}
    if time is None:
        if len(delays) != 1:
            which = f"has it for {', '.join(delays)}" if delays else "has none"
            raise ValueError(f"time= must name the column of times, or changes.withWatermark, and it {which}")
        time = next(iter(delays))
    kinds = dict(changes.dtypes)
    if kinds.get(time) != "timestamp":
        found = f"is of type {kinds[time]}" if time in kinds else f"is none of {', '.join(changes.columns)}"
        raise ValueError(f"time= must name a column of type timestamp, and {time!r} {found}")
    if delay is not None and time in delays:
        raise ValueError(f"{time!r} has the delay of withWatermark: leave out delay=, or withWatermark")
    return EventWindow(window, delays.get(time, 0) * _MILLISECOND or to_delay(delay), time)


def quoted(name: str) -> Column:
    """Give a column by its name, whatever characters it has."""
    return F.col(f"`{name.replace('`', '``')}`")
