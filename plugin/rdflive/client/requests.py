"""Requests to a server: for a document, or for a stream of messages that has no end."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from math import inf
from typing import Any, Final

from rdflive.client.address import Address
from rdflive.client.failures import ServerError, refused
from rdflive.client.messages import Message, read_messages
from rdflive.client.question import ServedQuestion
from rdflive.feeds import to_lines
from rdflive.feeds.event_stream import EVENT_STREAM
from rdflive.http import Exchange, Http, HttpFault, media_type

__all__ = ["document", "messages", "open_stream"]

_ERROR_BYTES: Final = 1 << 16
"""Bytes of a refusal that are read."""


def open_stream(
    http: Http, address: Address, question: ServedQuestion, last: str, timeout: float
) -> Exchange:
    """Subscribe to a query, behind the message with the id `last` if there is one.

    Raises `ServerError`, `QuerySyntaxError` or `UnsupportedQueryError`.
    """
    headers = {"Accept": EVENT_STREAM, **({"Last-Event-ID": last} if last else {})}
    stream = _send(http, address, "/subscribe", question, headers, timeout)
    if (kind := media_type(stream.headers)) != EVENT_STREAM:
        stream.close()
        url = address.url("/subscribe")
        raise ServerError(f"{url}: the answer is {kind}, not {EVENT_STREAM}; is it a server of rdflive?")
    return stream


def messages(url: str, stream: Exchange, last: str) -> Iterator[Message]:
    """Read messages up to the end of a stream; `last` is the id of the one before.

    Raises `ServerError` where the connection is lost, or silent for too long, and `MalformedEvent`.
    """
    try:
        # an answer is one line, however large it is
        yield from read_messages(to_lines(stream, url, longest=inf), last)
    except HttpFault as fault:
        raise ServerError(f"{url}: the connection was lost: {fault}") from fault


def document(address: Address, path: str, question: ServedQuestion | None, timeout: float) -> dict[str, Any]:
    """Get a JSON object, by posting a query if there is one; raises `ServerError`."""
    try:
        with _send(Http(), address, path, question, {"Accept": "application/json"}, timeout) as answer:
            found = json.loads(answer.read())
        if not isinstance(found, dict):
            raise ValueError("it is no JSON object")
    except (HttpFault, ValueError, RecursionError) as error:
        raise ServerError(f"{address.url(path)}: the answer cannot be read: {error}") from error
    return found


def _send(
    http: Http,
    address: Address,
    path: str,
    question: ServedQuestion | None,
    headers: Mapping[str, str],
    timeout: float,
) -> Exchange:
    """Send a request; the answer is a success."""
    url, target, method, body, prologue = address.url(path), address.url(path), "GET", None, ""
    if question is not None:
        # by POST: a query may be longer than a URL may be
        target, method, body, prologue = question.target(url), "POST", question.body, question.prologue
        headers = {"Content-Type": "application/sparql-query", **headers}
    try:
        answer = http.send(
            method, target, timeout=timeout, headers={**address.headers(), **headers}, body=body
        )
        if answer.status == 200:
            return answer
        with answer:
            said = answer.read(_ERROR_BYTES)
    except HttpFault as fault:
        raise ServerError(
            f"{url} cannot be reached: {fault}; see that the server runs (rdflive serve) and is "
            "reachable from here"
        ) from fault
    text = "" if question is None else question.text
    raise refused(url, answer.status, answer.headers, said, text=text, prologue=prologue)
