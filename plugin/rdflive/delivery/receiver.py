"""Who is told of the deltas of a query, and how."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Literal, Self

from rdflive.delivery.calling import Callback, check_callback
from rdflive.delivery.relay import Elsewhere, elsewhere
from rdflive.time.instants import DurationLike

__all__ = ["Receiver"]


@dataclass(frozen=True, slots=True)
class Receiver:
    """What `subscribe` was told of whoever gets the deltas. The subscriptions of one call share it."""

    callback: Callback | None
    initial: bool
    """Whether the first delta is the answer as it is when the subscription begins."""
    name: str | None
    on_error: Literal["log", "ignore"] | Callable[[Any, Exception], object]
    """What becomes of an exception of the callback; a function gets the subscription and the exception."""
    elsewhere: Elsewhere | None
    """Where the callback is called; None for the thread that wrote."""

    @classmethod
    def checked(
        cls,
        callback: Callback | None,
        *,
        initial: bool,
        name: str | None,
        on_error: Literal["log", "ignore"] | Callable[[Any, Exception], object],
        throttle: DurationLike | None = None,
        executor: Executor | None = None,
    ) -> Self:
        """Make one of the arguments of `subscribe`.

        Raises TypeError, ValueError or RuntimeError for those that cannot be.
        """
        check_callback(callback, on_error)
        return cls(callback, initial, name, on_error, elsewhere(callback, throttle, executor))
