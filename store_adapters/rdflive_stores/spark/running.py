"""Streaming queries whose errors start with rdflive's message instead of Spark's."""

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
# the last line of a task's traceback, and the text that Spark appends
_OURS: Final = re.compile(r"^rdflive[\w.]*: (.+?)\s*(?:SQLSTATE: \w+|^\s*$|\Z)", re.MULTILINE | re.DOTALL)


class DataflowError(RdfliveError, StreamingQueryException):
    """A query ended because of its input or its state; Spark's error is the cause."""


def readable(query: Any) -> StreamingQuery:
    """Make Spark's handle of a query raise readable errors, and return it.

    The object's class becomes a subclass of its own class, of a classic session or of Spark Connect.
    """
    query.__class__ = _of_readable_errors(type(query))
    handle: StreamingQuery = query
    return handle


def _of_readable_errors(kind: type[Any]) -> type[Any]:
    class RunningQuery(kind):  # classic or Connect
        def awaitTermination(self, timeout: int | None = None) -> bool | None:  # noqa: N802 - Spark's name
            """Wait until the query ends or the timeout in seconds; raise the error that ended it."""
            # not in the JVM: Ctrl-C in a JVM call makes Py4J log a traceback and drop the connection
            deadline = inf if timeout is None else monotonic() + timeout
            while self.isActive and monotonic() < deadline:
                sleep(_PAUSE)
            if self.isActive:
                return False
            with readable_errors():
                ended: bool | None = super().awaitTermination(None if timeout is None else 1)
                return ended

        def processAllAvailable(self) -> None:  # noqa: N802 - Spark's name
            """Wait until the query has processed all data of its source; raise the error that ended it."""
            with readable_errors():
                super().processAllAvailable()

        def exception(self) -> StreamingQueryException | None:
            """Return the error that ended the query; None while it runs and after a stop."""
            error = super().exception()
            return error and (_ours(error) or error)

    return RunningQuery


@contextmanager
def readable_errors() -> Iterator[None]:
    """Raise `DataflowError` for an error of rdflive that ended a task."""
    try:
        yield
    except PySparkException as error:
        ours = _ours(error)
        if ours is None:
            raise
        raise ours from error


def _ours(error: PySparkException) -> DataflowError | None:
    """Return rdflive's error within Spark's; None if there is none."""
    found = _OURS.findall(str(error))
    if not found:
        return None
    ours = DataflowError(found[-1])
    ours.__cause__ = error
    return ours
