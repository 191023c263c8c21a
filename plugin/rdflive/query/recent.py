"""Functions that return their last results again for the same arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

__all__ = ["recent"]

_MOST: Final = 4
"""Most results that are cached, which is the number of terms of a quad: terms may be long."""

Argument = TypeVar("Argument")
Result = TypeVar("Result")


def recent(function: Callable[[Argument], Result]) -> Callable[[Argument], Result]:
    """Cache the last results of a function of one immutable object, by the identity of that object.

    If 300 queries filter by `STRENDS(STR(?sensor), ...)`, all of them read the same term of a change.
    Computing its hash, as `lru_cache` does, would cost as much as most of these functions.
    """
    kept: dict[int, tuple[Any, Result]] = {}

    def cached(argument: Argument) -> Result:
        found = kept.get(id(argument))
        if found is not None:
            return found[1]
        result = function(argument)
        if len(kept) >= _MOST:
            kept.clear()
        # with the argument, so that no other object gets its id
        kept[id(argument)] = argument, result
        return result

    return cached
