"""The errors of rdflive; all derive from `RdfliveError` and from the builtin error that callers expect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

__all__ = [
    "AuditError",
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
    """The base of all errors of rdflive."""


class _PositionedError(RdfliveError, ValueError):
    """An error at a position in a query; `line` and `column` count from 1, 0 if unknown."""

    def __init__(self, message: str, *, line: int = 0, column: int = 0) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class QuerySyntaxError(_PositionedError):
    """The text is not SPARQL.

    The first line of the message names the position, the token found and the tokens expected. Below it are
    the line of the query and a caret.
    """

    def saying(self, more: str) -> QuerySyntaxError:
        """Return the error with text appended to its first line."""
        first, *excerpt = str(self).split("\n", 1)
        return QuerySyntaxError("\n".join([f"{first}; {more}", *excerpt]), line=self.line, column=self.column)


class QueryTypeError(QuerySyntaxError, TypeError):
    """The query is neither a string nor a file path."""


class UnsupportedQueryError(_PositionedError):
    """The query is SPARQL, but rdflive cannot maintain it exactly; `construct` names the obstacle."""

    def __init__(self, message: str, *, construct: str, line: int = 0, column: int = 0) -> None:
        super().__init__(message, line=line, column=column)
        self.construct = construct


class PlanError(RdfliveError, ValueError):
    """The requested algorithm or key does not apply to the query."""


class MissingExtraError(RdfliveError, ImportError):
    """An import or call needs an extra that is not installed; the message has the install command."""


class UnsupportedStoreError(RdfliveError, TypeError):
    """No adapter can watch this store exactly."""


class ClosedError(RdfliveError, RuntimeError):
    """The subscription is closed."""


class AuditError(RdfliveError, RuntimeError):
    """The answer that a subscription kept is not the answer to its query; `audit` has the difference."""

    def __init__(self, audit: Any) -> None:
        super().__init__(str(audit))
        self.audit = audit


class BudgetError(ClosedError):
    """The subscription has ended because it would have exceeded its budget."""


class FeedError(RdfliveError, ValueError):
    """A change feed is malformed at `source`, `line` (from 1) and `offset` (bytes before the line).

    For a feed that cannot be opened, the line is 0.
    """

    def __init__(self, source: str, line: int, reason: str, *, offset: int = 0) -> None:
        place = f", line {line}" if line else ""
        super().__init__(f"{source}{place}: {reason}" + (f" (byte {offset})" if offset else ""))
        self.source = source
        self.line = line
        self.offset = offset
        self.reason = reason


class ResyncNeeded(RdfliveError, RuntimeError):  # noqa: N818 - named after the remedy
    """A feed cannot continue from its cursor and needs a new snapshot of the full state."""

    def __init__(self, source: str, reason: str) -> None:
        super().__init__(f"{source}: {reason}; resync: pass a snapshot of the full state to mirror")
        self.source = source
        self.reason = reason


class ValidationError(RdfliveError, ValueError):
    """A guard refused a commit, which was undone; `results` are the rows that it would have added."""

    def __init__(
        self, message: str, results: tuple[Any, ...] = (), reports: tuple[Callable[[], Any], ...] = ()
    ) -> None:
        super().__init__(message)
        self.results = results
        self._reports = reports

    @classmethod
    def joined(cls, errors: Sequence[ValidationError]) -> ValidationError:
        """Combine the errors of several guards."""
        results = tuple(row for error in errors for row in error.results)
        reports = tuple(report for error in errors for report in error._reports)
        return cls("\n".join(map(str, errors)), results, reports)

    @property
    def graph(self) -> Any:
        """The results of shapes as an `rdflib.Graph` with a sh:ValidationReport; None for guard queries."""
        written = [report() for report in self._reports]
        for other in written[1:]:  # each guard has a report
            written[0] += other
        return written[0] if written else None


class WaitError(RdfliveError, RuntimeError):
    """Two threads would wait for each other forever; the raising call has changed nothing."""


def is_interruption(error: BaseException | None) -> bool:
    """True for an exception from outside of the failed code: Ctrl-C, or a lack of memory or stack.

    Also true if the cleanup after such an exception raised another one. A retry may succeed.

    >>> is_interruption(KeyboardInterrupt()), is_interruption(MemoryError()), is_interruption(KeyError())
    (True, True, False)
    """
    while error is not None:
        if not isinstance(error, Exception) or isinstance(error, MemoryError | RecursionError):
            return True
        error = error.__context__
    return False


class SchemaError(RdfliveError, ValueError):
    """A schema triple is outside of the supported fragment."""


class UnnameableTermError(RdfliveError, ValueError):
    """A SPARQL text would have to refer to a blank node of the data, which is impossible."""


class ReformulationSizeError(RdfliveError, ValueError):
    """A reformulation has more members than the limit."""
