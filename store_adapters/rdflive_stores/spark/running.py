"""A streaming query whose error begins with what rdflive has to say, not with how Spark passed it on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from rdflive.errors import RdfliveError

__all__ = ["DataflowError", "RunningQuery"]

# the last line of a traceback of a task, and what Spark puts behind it
_OURS: Final = re.compile(r"^rdflive[\w.]*: (.+?)\s*(?:SQLSTATE: \w+|^\s*$|\Z)", re.MULTILINE | re.DOTALL)


class DataflowError(RdfliveError, StreamingQueryException):
    """A query ended because of what rdflive was given, or its state; Spark's error is the cause."""


class RunningQuery(StreamingQuery):
    """Spark's handle of a mirror or of a subscription's query, with readable errors."""

    def awaitTermination(self, timeout: int | None = None) -> bool | None:  # noqa: N802 - Spark's name
        """Wait until the query ends, or some seconds; raises `DataflowError`, or what else ended it."""
        with _readable():
            return super().awaitTermination(timeout)

    def processAllAvailable(self) -> None:  # noqa: N802 - Spark's name
        """Wait until all that the source has is through; raises `DataflowError`, or what else ended it."""
        with _readable():
            super().processAllAvailable()

    def exception(self) -> StreamingQueryException | None:
        """Give what ended the query; None while it runs and where it was stopped."""
        error = super().exception()
        return error and (_ours(error) or error)


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except StreamingQueryException as error:
        ours = _ours(error)
        if ours is None:
            raise
        raise ours from error


def _ours(error: StreamingQueryException) -> DataflowError | None:
    """Find our message in Spark's; None where the error is another's."""
    found = _OURS.findall(str(error))
    if not found:
        return None
    ours = DataflowError(found[-1])
    ours.__cause__ = error
    return ours
