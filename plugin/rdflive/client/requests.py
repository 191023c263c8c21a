"""Requests to a server: for a document, or for a stream of messages that has no end."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse
from math import inf
from typing import Any, Final, TypeAlias

from rdflive.client.address import Address
from rdflive.client.failures import ServerError, refused
from rdflive.client.messages import Message, read_messages
from rdflive.client.question import Question
from rdflive.errors import FeedError
from rdflive.feeds import to_lines
from rdflive.feeds.event_stream import EVENT_STREAM

__all__ = ["Stream", "ask", "get", "open_stream"]

Headers: TypeAlias = "dict[str, str | bytes]"

_ERROR_BYTES: Final = 1 << 16
"""Bytes of a refusal that are read."""


class Stream:
    """The messages of one connection."""

    def __init__(
        self, url: str, connection: HTTPConnection, response: HTTPResponse, line: socket.socket
    ) -> None:
        self._url = url
        self._connection = connection
        self._response = response
        self._line = line

    def messages(self, last: str) -> Iterator[Message]:
        """Read messages up to the end of the connection; `last` is the id of the one before.

        Raises `ServerError` where the connection is lost, or silent for too long, and `MalformedEvent`.
        """
        try:
            # an answer is one line, however large it is
            lines = to_lines(self._response, self._url, longest=inf)
            yield from read_messages(lines, last)
        except (FeedError, HTTPException, OSError, ValueError) as error:
            raise ServerError(f"{self._url}: the connection was lost: {_text(error)}") from error

    def wait_up_to(self, seconds: float) -> None:
        """Take silence for longer than this for a lost connection."""
        with suppress(OSError):  # it has ended already
            self._line.settimeout(seconds)

    def cut(self) -> None:
        """End the connection at once, from any thread; who reads comes to the end."""
        with suppress(OSError):  # it has ended already
            self._line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Free the connection, in the thread that reads."""
        self.cut()
        self._response.close()
        self._connection.close()


def open_stream(address: Address, question: Question, last: str, timeout: float) -> Stream:
    """Subscribe to a query, behind the message with the id `last` if there is one.

    Raises `ServerError`, `QuerySyntaxError` or `UnsupportedQueryError`.
    """
    headers: Headers = {"Accept": EVENT_STREAM}
    if last:
        headers["Last-Event-ID"] = last.encode()  # whatever it is; http.client would have it in Latin-1
    url = address.url("/subscribe")
    connection = address.connection(timeout)
    try:
        response, line = _send(address, connection, "/subscribe", question, headers)
        if (kind := response.headers.get_content_type()) != EVENT_STREAM:
            response.close()
            raise ServerError(f"{url}: the answer is {kind}, not {EVENT_STREAM}; is it a server of rdflive?")
    except BaseException:
        connection.close()
        raise
    return Stream(url, connection, response, line)


def get(address: Address, path: str, timeout: float) -> dict[str, Any]:
    """Get a JSON object; raises `ServerError`."""
    return _document(address, path, None, timeout)


def ask(address: Address, path: str, question: Question, timeout: float) -> dict[str, Any]:
    """Post a query and get a JSON object; raises `ServerError`."""
    return _document(address, path, question, timeout)


def _document(address: Address, path: str, question: Question | None, timeout: float) -> dict[str, Any]:
    connection = address.connection(timeout)
    try:
        response, _ = _send(address, connection, path, question, {"Accept": "application/json"})
        with response:
            found = json.loads(response.read())
        if not isinstance(found, dict):
            raise ValueError("it is no JSON object")
    except (OSError, HTTPException, ValueError, RecursionError) as error:
        if isinstance(error, ServerError):
            raise
        raise ServerError(f"{address.url(path)}: the answer cannot be read: {_text(error)}") from error
    finally:
        connection.close()
    return found


def _send(
    address: Address,
    connection: HTTPConnection,
    path: str,
    question: Question | None,
    headers: Headers,
) -> tuple[HTTPResponse, socket.socket]:
    """Send a request; give the answer, which is a success, and the socket that it comes on."""
    url = address.url(path)
    try:
        connection.connect()
        line = connection.sock  # which the connection lets go of when it has seen the headers
        target, headers = address.path + path, {**address.headers(), **headers}
        if question is None:
            connection.request("GET", target, headers=headers)
        else:
            headers["Content-Type"] = "application/sparql-query"
            connection.request("POST", question.target(target), question.body, headers)
        response = connection.getresponse()
        if response.status == 200:
            return response, line
        with response:
            body = response.read(_ERROR_BYTES)
    except (OSError, HTTPException, UnicodeError) as error:
        raise ServerError(
            f"{url} cannot be reached: {_text(error)}; see that the server runs (rdflive serve) and is "
            "reachable from here"
        ) from error
    prologue = question.prologue if question else ""
    raise refused(url, response.status, response.headers, body, prologue=prologue)


def _text(error: Exception) -> str:
    if isinstance(error, FeedError):
        return error.reason
    return " ".join(str(error).split()) or type(error).__name__
