"""How a subscriber's callback is called, and what becomes of what it raises."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any, Literal, Protocol, TypeAlias

from rdflive.errors import RdfliveError
from rdflive.model import Delta

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
        """The name that it was given."""

    @property
    def _on_error(self) -> Literal["log", "ignore"] | Callable[[Any, Exception], object]: ...

    @property
    def query(self) -> str:
        """The text of the query."""

    def doubt(self) -> None:
        """Be told that the callback was interrupted: nobody knows what it has taken of its delta."""


def call(subscription: Called, callback: Callable[[Delta], object], delta: Delta) -> bool:
    """Call a callback, and keep what it raises from the thread that wrote.

    False after a lack of memory or stack, when it is not known how much of the delta it has taken.
    """
    start = perf_counter()
    try:
        returned = callback(delta)
        if returned is not None:
            refuse_coroutine(returned, callback)
    except Exception as error:  # noqa: BLE001 - whatever a callback raises, the write stands
        return raised(subscription, error)
    finally:
        subscription._callback_seconds += perf_counter() - start
    return True


def raised(subscription: Called, error: Exception) -> bool:
    """Take what a callback has raised.

    False after a lack of memory or stack, when it is not known how much of the delta it has taken.
    """
    is_known = not isinstance(error, (MemoryError, RecursionError))
    if not is_known:
        subscription.doubt()
    failed(subscription, error)
    return is_known


async def call_async(
    subscription: Called, callback: Callable[[Delta], Awaitable[object]], delta: Delta
) -> bool:
    """Call a callback that is a coroutine function, as `call` does others."""
    start = perf_counter()
    try:
        await callback(delta)
    except Exception as error:  # noqa: BLE001 - whatever a callback raises, the loop goes on
        return raised(subscription, error)
    finally:
        subscription._callback_seconds += perf_counter() - start
    return True


def failed(
    subscription: Called, error: Exception, what: str = "a delivery of subscription %r failed"
) -> None:
    """Note an error of a delivery, and treat it as the subscription's `on_error` says; `what` is logged."""
    subscription.last_error = error
    on_error = subscription._on_error
    if on_error == "log":
        log.error(what, subscription.name or subscription.query, exc_info=error)
    elif callable(on_error):
        try:
            # runs in the thread that wrote, whose write must not fail by the handler either
            on_error(subscription, error)
        except Exception:
            log.exception("on_error of subscription %r failed", subscription.name or subscription.query)


def interrupted(subscription: Called, error: BaseException) -> None:
    """Note what has ended a call before its time in a thread or task where it cannot be raised."""
    if not isinstance(error, Exception):
        name = subscription.name or subscription.query
        told = RdfliveError(
            f"the callback of subscription {name!r} was interrupted by {type(error).__name__}"
        )
        told.__cause__ = error
        error = told
    failed(subscription, error)


def check_callback(callback: object, on_error: object) -> None:
    """Raise TypeError or ValueError for arguments that cannot be called."""
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable or None, got {callback!r}")
    if inspect.isasyncgenfunction(callback) or inspect.isgeneratorfunction(callback):
        raise TypeError(f"callback must not be a generator, which nobody would iterate: {callback!r}")
    if on_error not in ("log", "ignore") and not callable(on_error):
        raise ValueError(f"on_error must be 'log', 'ignore' or a function, got {on_error!r}")
    if callable(on_error) and is_async(on_error):
        raise TypeError(f"on_error must be a plain function, got the coroutine function {on_error!r}")


def is_async(function: object) -> bool:
    """Tell whether calling gives a coroutine, for functions, partial ones and objects with `__call__`.

    >>> async def show(delta): ...
    >>> is_async(show), is_async(print)
    (True, False)
    """
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - it is looked at, not called
    )


def refuse_coroutine(returned: object, callback: object) -> None:
    """Raise TypeError for a coroutine that a plain callback gave, and that nothing would run."""
    if inspect.iscoroutine(returned):
        returned.close()
        raise TypeError(
            f"the callback {callback!r} gave a coroutine, which is not awaited: make it an `async def`, and "
            "subscribe where a loop runs"
        )
