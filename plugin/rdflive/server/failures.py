"""Errors of requests, as problem documents (RFC 9457)."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse

from rdflive.errors import BudgetError, QuerySyntaxError, RdfliveError, UnsupportedQueryError, ValidationError
from rdflive.sinks.ndjson import to_json
from rdflive.store.stored_log import ChangeLogError

__all__ = ["Problem", "Refused", "answer_problem", "problem_of", "server_ends", "server_fails"]


class Problem(RdfliveError):  # noqa: N818 - the term of RFC 9457
    """An error response. `line` and `column` of a query count from 1; 0 if unknown.

    `construct` names the unsupported part of a valid SPARQL query.

    >>> Problem(400, "the query is empty").members()
    {'title': 'Bad Request', 'status': 400, 'detail': 'the query is empty'}
    """

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        line: int = 0,
        column: int = 0,
        construct: str = "",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.line = line
        self.column = column
        self.construct = construct
        self.headers = dict(headers or {})

    def members(self) -> dict[str, Any]:
        """Return the members of the problem document."""
        shown: dict[str, Any] = {
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
        }
        if self.line:
            shown |= {"line": self.line, "column": self.column}
        if self.construct:
            shown["construct"] = self.construct
        return shown

    def response(self) -> JSONResponse:
        """Return the response."""
        return JSONResponse(self.members(), self.status, self.headers, media_type="application/problem+json")


def server_ends() -> Problem:
    """Return the problem for requests to a server that is shutting down."""
    return Problem(503, "the server is shutting down", headers={"Retry-After": "5"})


def server_fails() -> Problem:
    """Return the problem for requests that met a fault of the server; the log has the details."""
    return Problem(500, "the server failed; its log has the reason")


def problem_of(error: RdfliveError) -> Problem:
    """Return the problem of an error; all but a full disk concern the client's input."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, QuerySyntaxError | UnsupportedQueryError):
        construct = error.construct if isinstance(error, UnsupportedQueryError) else ""
        return Problem(400, str(error), line=error.line, column=error.column, construct=construct)
    if isinstance(error, BudgetError):
        # 403, so that clients give up: the same query would fail again
        return Problem(403, f"the subscription exceeds the limits of this server: {error}")
    if isinstance(error, ChangeLogError):
        return Problem(507, f"nothing was changed: {error}", headers={"Retry-After": "60"})
    return Problem(400, str(error))


async def answer_problem(request: Request, error: Exception) -> JSONResponse:  # noqa: ARG001 - Starlette's signature
    """Respond to a request that ended with an error of rdflive."""
    assert isinstance(error, RdfliveError)  # noqa: S101 - registered for this class
    return problem_of(error).response()


class Refused(Problem):
    """A guard refused an update that would add results."""

    def __init__(self, error: ValidationError) -> None:
        super().__init__(422, str(error))
        # a copy without the frames, whose objects Oxigraph must free in the writing thread
        self.error = ValidationError.joined([error])

    def members(self) -> dict[str, Any]:
        """Return the members of the problem document, with results as in the events of the validation."""
        rows = [row.asdict().items() for row in self.error.results]
        return {**super().members(), "results": [{name: to_json(term) for name, term in row} for row in rows]}
