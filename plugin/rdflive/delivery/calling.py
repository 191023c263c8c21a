"""Calls of a subscriber's callback, and the treatment of its exceptions."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any, Literal, Protocol, TypeAlias

from rdflive.errors import RdfliveError
from rdflive.model import Delta
from rdflive.signatures import misfit

__all__ = [
    "Callback", "Called", "call", "call_async", "check_callback", "failed", "interrupted", "is_async",
    "raised", "refuse_coroutine",
]  # fmt: skip

Callback: TypeAlias = Callable[[Delta], object]
"""A function that takes a delta; a coroutine function is awaited."""

log = logging.getLogger("rdflive")


class Called(Protocol):
    """A subscription that has a callback."""

    last_error: Exception | None
    _callback_seconds: float

    @property
    def name(self) -> str | None:
        """The name given as `name=`."""

    @property
    def _on_error(self) -> Literal["log", "ignore"] | Callable[[Any, Exception], object]: ...

    @property
    def query(self) -> str:
        """The text of the query."""

    def doubt(self) -> None:
        """Record that the callback was interrupted, at an unknown point of its delta."""


def call(subscription: Called, callback: Callable[[Delta], object], delta: Delta) -> bool:
    """Call a callback, and keep its exceptions from the writing thread.

    Returns False if memory or stack ran out, so that the callback may have processed its delta in part.
    """
    start = perf_counter()
    try:
        returned = callback(delta)
        if returned is not None:
            refuse_coroutine(returned, callback)
    except Exception as error:  # noqa: BLE001 - the write stands whatever a callback raises
        return raised(subscription, error)
    finally:
        subscription._callback_seconds += perf_counter() - start
    return True


def raised(subscription: Called, error: Exception) -> bool:
    """Handle an exception of a callback. Returns False in the same cases as `call`."""
    is_known = not isinstance(error, (MemoryError, RecursionError))
    if not is_known:
        subscription.doubt()
    failed(subscription, error)
    return is_known


async def call_async(
    subscription: Called, callback: Callable[[Delta], Awaitable[object]], delta: Delta
) -> bool:
    """Call a callback that is a coroutine function; as `call`."""
    start = perf_counter()
    try:
        await callback(delta)
    except Exception as error:  # noqa: BLE001 - the loop goes on whatever a callback raises
        return raised(subscription, error)
    finally:
        subscription._callback_seconds += perf_counter() - start
    return True


def failed(
    subscription: Called, error: Exception, what: str = "a delivery of subscription %r failed"
) -> None:
    """Store an error of a delivery, and treat it by the subscription's `on_error`; `what` is logged."""
    subscription.last_error = error
    on_error = subscription._on_error
    if on_error == "log":
        log.error(what, subscription.name or subscription.query, exc_info=error)
    elif callable(on_error):
        try:
            # an error of the handler must not make the write fail either
            on_error(subscription, error)
        except Exception:
            log.exception("on_error of subscription %r failed", subscription.name or subscription.query)


def interrupted(subscription: Called, error: BaseException) -> None:
    """Report an interruption of a call in a thread or task that cannot raise it."""
    if not isinstance(error, Exception):
        name = subscription.name or subscription.query
        reported = RdfliveError(
            f"the callback of subscription {name!r} was interrupted by {type(error).__name__}"
        )
        reported.__cause__ = error
        error = reported
    failed(subscription, error)


def check_callback(callback: object, on_error: object) -> None:
    """Raise TypeError or ValueError for a callback or `on_error` that cannot be called."""
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable or None, got {callback!r}")
    if inspect.isasyncgenfunction(callback) or inspect.isgeneratorfunction(callback):
        raise TypeError(f"callback must not be a generator function, which would never run: {callback!r}")
    if callable(callback) and (reason := misfit(callback, None)):
        raise TypeError(
            "callback must take one argument, the delta, as `def show(delta)` does, "
            f"got {callback!r}: {reason}"
        )
    if on_error not in ("log", "ignore") and not callable(on_error):
        raise ValueError(f"on_error must be 'log', 'ignore' or a function, got {on_error!r}")
    if callable(on_error) and is_async(on_error):
        raise TypeError(f"on_error must be a plain function, got the coroutine function {on_error!r}")
    if callable(on_error) and (reason := misfit(on_error, None, None)):
        raise TypeError(
            "on_error must take two arguments, the subscription and the exception, "
            f"got {on_error!r}: {reason}"
        )


def is_async(function: object) -> bool:
    """True for coroutine functions, partial functions of them, and objects with such a `__call__`.

    >>> async def show(delta): ...
    >>> is_async(show), is_async(print)
    (True, False)
    """
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - inspected, not called
    )


def refuse_coroutine(returned: object, callback: object) -> None:
    """Raise TypeError for a coroutine that a plain callback returned, because nothing would run it."""
    if inspect.iscoroutine(returned):
        returned.close()
        raise TypeError(
            f"the callback {callback!r} returned a coroutine, which is not awaited: make it an `async def`, "
            "and subscribe in a running event loop"
        )
