"""The time of elements: its column, and the delay of the watermark."""

from __future__ import annotations

from typing import Any, Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rdflive.time.instants import DurationLike, to_delay
from rdflive_stores.spark.dataflow.event_time import WINDOWS, EventWindow

__all__ = ["event_window", "quoted"]

_DELAY: Final = "spark.watermarkDelayMs"
"""The key in the schema's metadata for the delay of `withWatermark`, also with Spark Connect."""
_MILLISECOND: Final = 10**6


def event_window(
    changes: DataFrame, window: Any, time: str | None, delay: DurationLike | None
) -> EventWindow | None:
    """Return the time column and the delay of a window over a stream; None without a window.

    Both default to those of `withWatermark`, and the delay to none.
    """
    if window is None:
        if time is not None or delay is not None:
            raise ValueError("time= and delay= need a window, such as window=rdflive.Sliding('10s')")
        return None
    if not isinstance(window, WINDOWS):
        raise ValueError(
            f"window={window!r} does not go by time: use Sliding, Tumbling or Landmark; Spark cannot count "
            "elements, because they have no order"
        )
    delays = {f.name: f.metadata[_DELAY] for f in changes.schema.fields if _DELAY in f.metadata}
    if time is None:
        if len(delays) != 1:
            which = f"is set for {', '.join(delays)}" if delays else "is not set"
            raise ValueError(f"time= must name the column of times: withWatermark {which}")
        time = next(iter(delays))
    kinds = dict(changes.dtypes)
    if kinds.get(time) != "timestamp":
        found = f"is of type {kinds[time]}" if time in kinds else f"is none of {', '.join(changes.columns)}"
        raise ValueError(f"time= must name a column of type timestamp, and {time!r} {found}")
    if delay is not None and time in delays:
        raise ValueError(f"{time!r} has the delay of withWatermark: leave out delay=, or withWatermark")
    return EventWindow(window, delays.get(time, 0) * _MILLISECOND or to_delay(delay), time)


def quoted(name: str) -> Column:
    """Return a column by its name, which may have any characters."""
    return F.col(f"`{name.replace('`', '``')}`")
