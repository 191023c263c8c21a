"""Every error of rdflive has one root; each also derives from the builtin that callers expect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = [
    "BudgetError",
    "ClosedError",
    "FeedError",
    "MissingExtraError",
    "PlanError",
    "QuerySyntaxError",
    "QueryTypeError",
    "RdfliveError",
    "ReformulationSizeError",
    "ResyncNeeded",
    "SchemaError",
    "UnnameableTermError",
    "UnsupportedQueryError",
    "UnsupportedStoreError",
    "ValidationError",
    "WaitError",
    "is_interruption",
]


class RdfliveError(Exception):
    """The root of all errors of rdflive."""


class _PositionedError(RdfliveError, ValueError):
    """An error at a place of a query: `line` and `column` count from 1, 0 when unknown."""

    def __init__(self, message: str, *, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class QuerySyntaxError(_PositionedError):
    """The text is not SPARQL.

    The first line of the message says it all: where, what was met, what could stand there. Below stand the
    line of the query and a caret.
    """

    def saying(self, more: str) -> QuerySyntaxError:
        """Make the same error with something more at the end of its first line."""
        first, *excerpt = str(self).split("\n", 1)
        return QuerySyntaxError("\n".join([f"{first}; {more}", *excerpt]), line=self.line, column=self.column)


class QueryTypeError(QuerySyntaxError, TypeError):
    """What was given for a query is neither a text nor the path of a file."""


class UnsupportedQueryError(_PositionedError):
    """The query is SPARQL, but it cannot be maintained exactly; `construct` names what stands in the way."""

    def __init__(self, message: str, *, construct: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message, line=line, column=column)
        self.construct = construct


class PlanError(RdfliveError, ValueError):
    """The algorithm or the key that was asked for does not apply to the query."""


class MissingExtraError(RdfliveError, ImportError):
    """What was imported or called needs an extra that is not installed; the message has the command."""


class UnsupportedStoreError(RdfliveError, TypeError):
    """No adapter can watch this store exactly."""


class ClosedError(RdfliveError, RuntimeError):
    """The subscription was closed."""


class BudgetError(ClosedError):
    """The subscription would have taken more than its budget allows, so it has ended."""


class FeedError(RdfliveError, ValueError):
    """A change feed is malformed: `source`, `line` (from 1) and `offset` (bytes before it) say where.

    One that cannot be opened has line 0.
    """

    def __init__(self, source: str, line: int, reason: str, *, offset: int = 0) -> None:
        place = f", line {line}" if line else ""
        super().__init__(f"{source}{place}: {reason}" + (f" (byte {offset})" if offset else ""))
        self.source = source
        self.line = line
        self.offset = offset
        self.reason = reason


class ResyncNeeded(RdfliveError, RuntimeError):  # noqa: N818 - it says what to do, not what went wrong
    """A feed cannot go on from its cursor; only a new snapshot of the whole state leads on."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"{source}: {reason}; resync: give mirror a snapshot of the whole state")
        self.source = source
        self.reason = reason


class ValidationError(RdfliveError, ValueError):
    """A guard refused a commit, which has been undone: `results` are the rows that it would have added."""

    def __init__(
        self, message: str, results: tuple[Any, ...] = (), reports: tuple[Callable[[], Any], ...] = ()
    ) -> None:
        super().__init__(message)
        self.results = results
        self._reports = reports

    @classmethod
    def joined(cls, errors: Sequence[ValidationError]) -> ValidationError:
        """Make one error of those of several guards."""
        results = tuple(row for error in errors for row in error.results)
        reports = tuple(report for error in errors for report in error._reports)
        return cls("\n".join(map(str, errors)), results, reports)

    @property
    def graph(self) -> Any:
        """The results of shapes as a sh:ValidationReport, an `rdflib.Graph`; None where queries refused."""
        written = [report() for report in self._reports]
        for other in written[1:]:  # of several guards each has a report
            written[0] += other
        return written[0] if written else None


class WaitError(RdfliveError, RuntimeError):
    """Two threads would wait for each other for ever; the one that is told so has changed nothing."""


def is_interruption(error: BaseException | None) -> bool:
    """Tell whether an exception came from outside of what it ended: Ctrl-C, or too little memory or stack.

    Also where the cleaning up behind one raised another one. What failed so may well go the next time.

    >>> is_interruption(KeyboardInterrupt()), is_interruption(MemoryError()), is_interruption(KeyError())
    (True, True, False)
    """
    while error is not None:
        if not isinstance(error, Exception) or isinstance(error, MemoryError | RecursionError):
            return True
        error = error.__context__
    return False


class SchemaError(RdfliveError, ValueError):
    """A schema triple lies outside the fragment that is reasoned with."""


class UnnameableTermError(RdfliveError, ValueError):
    """SPARQL text would have to name a term that it cannot: a blank node of the data."""


class ReformulationSizeError(RdfliveError, ValueError):
    """A reformulation has more members than may be listed."""
