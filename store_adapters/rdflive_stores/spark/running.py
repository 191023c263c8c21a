"""A streaming query whose error begins with what rdflive has to say, not with how Spark passed it on."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from time import monotonic, sleep
from typing import Any, Final

from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql.streaming.query import StreamingQuery

from rdflive.errors import RdfliveError

__all__ = ["DataflowError", "readable", "readable_errors"]

_PAUSE: Final = 0.05
# the last line of a traceback of a task, and what Spark puts behind it
_OURS: Final = re.compile(r"^rdflive[\w.]*: (.+?)\s*(?:SQLSTATE: \w+|^\s*$|\Z)", re.MULTILINE | re.DOTALL)


class DataflowError(RdfliveError, StreamingQueryException):
    """A query ended because of what rdflive was given, or its state; Spark's error is the cause."""


def readable(query: Any) -> StreamingQuery:
    """Have Spark's handle of a query, of a classic session or of Spark Connect, raise readable errors.

    It stays the object that Spark made, of its own class with these methods in front.
    """
    query.__class__ = _of_readable_errors(type(query))
    handle: StreamingQuery = query
    return handle


def _of_readable_errors(kind: type[Any]) -> type[Any]:
    class RunningQuery(kind):  # type: ignore[misc]  # of whichever kind of session
        def awaitTermination(self, timeout: int | None = None) -> bool | None:  # noqa: N802 - Spark's name
            """Wait until the query ends, or some seconds; raises `DataflowError`, or what else ended it."""
            # not in the JVM: where Ctrl-C meets a call of it, Py4J logs a traceback and drops the connection
            deadline = inf if timeout is None else monotonic() + timeout
            while self.isActive and monotonic() < deadline:
                sleep(_PAUSE)
            if self.isActive:
                return False
            with readable_errors():
                ended: bool | None = super().awaitTermination(None if timeout is None else 1)
                return ended

        def processAllAvailable(self) -> None:  # noqa: N802 - Spark's name
            """Wait until all that the source has is through; raises what ended the query."""
            with readable_errors():
                super().processAllAvailable()

        def exception(self) -> StreamingQueryException | None:
            """Give what ended the query; None while it runs and where it was stopped."""
            error = super().exception()
            return error and (_ours(error) or error)

    return RunningQuery


@contextmanager
def readable_errors() -> Iterator[None]:
    """Raise `DataflowError` for what ended a task because of what rdflive was given, or its state."""
    try:
        yield
    except PySparkException as error:
        ours = _ours(error)
        if ours is None:
            raise
        raise ours from error


def _ours(error: PySparkException) -> DataflowError | None:
    """Find our message in Spark's; None where the error is another's."""
    found = _OURS.findall(str(error))
    if not found:
        return None
    ours = DataflowError(found[-1])
    ours.__cause__ = error
    return ours
