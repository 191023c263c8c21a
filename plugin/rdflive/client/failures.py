"""Refusals of a server, as exceptions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rdflive.errors import QuerySyntaxError, RdfliveError, UnsupportedQueryError
from rdflive.http import may_pass, problem_of, refusal, shown
from rdflive.syntax.excerpt import with_excerpt

__all__ = ["MalformedEvent", "ServerError", "ended", "refused"]

_PATIENCE: Final = 600.0
"""The longest wait in seconds that a server may request."""
_ADVICE: Final = {
    401: "give the token of the server: connect(url, token=…), or --token-env VARIABLE",
    403: "the token lacks the right for this; ask for one that has it",
    404: "nothing is served under this address: check the URL",
    429: "wait, or close subscriptions",
    503: "the server is overloaded; try again",
}


class ServerError(RdfliveError, OSError):
    """A server cannot be reached, refuses a request, or sends responses unlike those of rdflive.

    `status` is the HTTP status, 0 without a response.
    """

    def __init__(self, message: str, *, status: int = 0, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after = retry_after
        """Seconds that the server requests as a wait; 0 without a `Retry-After`."""

    @property
    def is_final(self) -> bool:
        """True if the server would refuse the same request again."""
        return self.status >= 300 and not may_pass(self.status)


class MalformedEvent(Exception):  # noqa: N818 - never leaves the client
    """An event that is malformed or does not fit the answer; only a full answer can follow it."""


def refused(
    url: str, status: int, headers: Mapping[str, str], body: bytes, *, text: str = "", prologue: str = ""
) -> ServerError | QuerySyntaxError | UnsupportedQueryError:
    """Return the exception for an unsuccessful response.

    `text` is the query of the caller, `prologue` the prefixes that were put in front of its first line.

    >>> str(refused("http://e/", 404, {}, b""))
    'http://e/: HTTP 404; nothing is served under this address: check the URL'
    """
    problem = problem_of(headers, body)
    detail = str(problem.get("detail") or shown(body))
    # not isinstance, for which `true` is an integer
    if status == 400 and type(problem.get("line")) is type(problem.get("column")) is int:
        return _at_place(detail, problem, text, prologue)
    fault = refusal(status, headers, detail)
    advice = f"; {_ADVICE[status]}" if status in _ADVICE else ""
    asked = min(fault.retry_after, _PATIENCE)
    return ServerError(f"{url}: {fault}{advice}", status=status, retry_after=asked)


def ended(url: str, members: Mapping[str, Any]) -> ServerError:
    """Return the exception for a subscription that the server has ended, from its last event.

    >>> ended("http://e/", {"detail": "too large"}).status
    0
    """
    status = members.get("status")
    reason = members.get("detail") or "it gave no reason"
    return ServerError(
        f"{url}: the server ended the subscription: {reason}", status=status if type(status) is int else 0
    )


def _at_place(
    detail: str, problem: Mapping[str, Any], text: str, prologue: str
) -> QuerySyntaxError | UnsupportedQueryError | ServerError:
    line, column = problem["line"], problem["column"]
    # the server counts columns from the start of the prologue, which the user has not written
    if line == 1 and prologue:
        if column <= len(prologue):
            return ServerError(f"the server cannot read the prefixes of initNs: {detail}", status=400)
        given = column - len(prologue)
        detail = detail.replace(f"line 1, column {column}", f"line 1, column {given}").replace(prologue, "")
        column = given
    construct = problem.get("construct")
    if isinstance(construct, str):
        return UnsupportedQueryError(detail, construct=construct, line=line, column=column)
    # the server's excerpt contains the prologue
    said = with_excerpt(detail, text, line, column) if "\n" in detail else detail
    return QuerySyntaxError(said, line=line, column=column)
