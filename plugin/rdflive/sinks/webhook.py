"""Deltas as HTTP requests to another server, each at least once."""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import uuid
from itertools import count
from time import monotonic
from typing import Final

from rdflive.delivery.resume import subscriber_token
from rdflive.errors import RdfliveError
from rdflive.http import Http, HttpFault, RetryPace, split_url
from rdflive.model import Delta
from rdflive.sinks.ndjson import to_ndjson

__all__ = ["WebhookError", "WebhookSink"]

log = logging.getLogger("rdflive")

_PACE: Final = RetryPace(first=0.5, longest=60.0)


class WebhookError(RdfliveError, OSError):
    """A delta was not delivered: the server refused it, or did not accept it in time."""


class WebhookSink:
    """Posts each delta to a URL as JSON (`to_ndjson`) and returns when the server has accepted it (2xx).

    The header `Idempotency-Key` identifies the delta: it is the same for all tries of one delta. For a
    resumed subscription pass the `name` and `resume` of `subscribe` here too, so that keys stay the same
    across restarts. With a `secret` the header `X-Rdflive-Signature` is `sha256=` and the hexadecimal
    HMAC-SHA-256 of the key, a dot and the body.

    After temporary failures (no connection, no full response within `timeout` seconds, 408, 425, 429, 5xx)
    the sink tries again: first after half a second, then less and less often, never before `Retry-After`, for
    up to `patience` seconds. The writer waits meanwhile. Then, and at once for any other response (redirects
    included), it raises `WebhookError`, or `ResumeError` if it cannot read the file of `resume`. Raises
    ValueError for anything but an HTTP URL.

    >>> sink = WebhookSink("https://example.org/deltas", secret="a secret")
    >>> sink.close()
    """

    def __init__(
        self,
        url: str,
        *,
        name: str | None = None,
        resume: str | os.PathLike[str] | None = None,
        secret: str | bytes | None = None,
        timeout: float = 10.0,
        patience: float = 600.0,
    ) -> None:
        self._url = _checked(url)
        self._keys = _keys(name, resume)
        self._secret = secret.encode() if isinstance(secret, str) else secret
        self._timeout = timeout
        self._patience = patience
        self._http = Http({"Content-Type": "application/json"}, proxies=True)

    def __call__(self, delta: Delta) -> None:
        """Deliver one delta; block until the server has accepted it."""
        body = to_ndjson(delta).encode()
        headers = self._headers(delta, body)
        begun, most = monotonic(), self._timeout
        for tried in count(1):
            try:
                # `total` too: a server that sends single bytes is never silent for `timeout`
                with self._http.send(
                    "POST", self._url, timeout=most, total=most, headers=headers, body=body
                ) as answer:
                    if 200 <= answer.status < 300:
                        return
                    raise answer.refusal()
            except HttpFault as fault:
                if reason := self._wait(fault, tried, monotonic() - begun):
                    raise WebhookError(
                        f"{self._url}: delta {delta.sequence} was not delivered: {reason}"
                    ) from fault

    def close(self) -> None:
        """Abort a running delivery, from any thread; it fails, and so do later ones."""
        self._http.close()

    def _wait(self, fault: HttpFault, tried: int, spent: float) -> str:
        """Wait before another try and return "", or return the reason to stop."""
        if self._http.closed.is_set() or not fault.passes:
            return str(fault)
        pause = _PACE.pause(tried, fault.retry_after)
        # before a wait that would use up the patience
        if spent + pause > self._patience:
            return (
                f"{fault}; tried {tried} times in {spent:.1f} s; the next time would be in {pause:.1f} s, "
                f"past the patience of {self._patience:g} s"
            )
        log.warning("%s: %s; trying again in %.1f s", self._url, fault, pause)
        return str(fault) if self._http.closed.wait(pause) else ""

    def _headers(self, delta: Delta, body: bytes) -> dict[str, str]:
        key = self._keys.key(delta.sequence, body)
        headers = {"Idempotency-Key": key}
        if self._secret is not None:
            # signs the key as well: else an attacker could repeat a body under another key
            signature = hmac.new(self._secret, key.encode() + b"." + body, hashlib.sha256).hexdigest()
            headers["X-Rdflive-Signature"] = f"sha256={signature}"
        return headers


class _ResumedKeys:
    """Keys of a resumed subscriber, from its token in the file and the number of the delta.

    The text of the delta is left out: its rows may have another order after a restart.
    """

    def __init__(self, name: str, resume: str | os.PathLike[str]) -> None:
        self._name = name
        # absolute: the process may change its folder before the first delta
        self._path = os.path.abspath(os.fsdecode(resume))
        self._token = ""

    def key(self, sequence: int, _: bytes) -> str:
        if sequence == 1 or not self._token:  # a new file counts from 1 again, and has a new token
            self._token = subscriber_token(self._path, self._name)
        return _key(self._token, str(sequence))


class _OwnKeys:
    """Keys of one sink; they use the text too, as after a resync two deltas may have the same number."""

    def __init__(self) -> None:
        self._token = uuid.uuid4().hex

    def key(self, sequence: int, body: bytes) -> str:
        return _key(self._token, str(sequence), hashlib.sha256(body).hexdigest())


def _keys(name: str | None, resume: str | os.PathLike[str] | None) -> _ResumedKeys | _OwnKeys:
    if name and resume is not None:
        return _ResumedKeys(name, resume)
    if name is None and resume is None:
        return _OwnKeys()
    raise ValueError(
        f"a webhook takes name and resume of its subscription together or not at all: got "
        f"name={name!r} and resume={resume!r}"
    )


def _key(*parts: str) -> str:
    # receivers remember keys across versions: do not change this
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "\n".join(parts)))


def _checked(url: str) -> str:
    parts = split_url(url)
    if parts is None:
        raise ValueError(
            f"a webhook needs the URL of a server, as https://example.org/path in ASCII, not {url!r}"
        )
    if parts.username is not None:
        raise ValueError(
            "the URL of a webhook must not contain a name and password; a secret signs the requests"
        )
    return url
