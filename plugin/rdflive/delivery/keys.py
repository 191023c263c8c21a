"""The key by which a subscription pairs the rows that went with those that came."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rdflive.errors import PlanError

__all__ = ["check_key", "read_key"]


def read_key(key: Any) -> tuple[str, ...]:
    """Read what was given as `key=`: names of variables; raises TypeError or ValueError.

    >>> read_key(("?train", "day"))
    ('train', 'day')
    """
    if key is None:
        return ()
    if isinstance(key, str) or not isinstance(key, Iterable):
        raise TypeError(f"key is a tuple of variables, as key=('train',), got {key!r}")
    names = tuple(key)
    if not names or not all(isinstance(name, str) for name in names):
        raise ValueError(f"key needs the names of one variable or more, as key=('train',), got {key!r}")
    # a Variable of rdflib has not the hash of its text
    return tuple(dict.fromkeys(str(name).removeprefix("?") for name in names))


def check_key(key: tuple[str, ...], form: str, names: tuple[str, ...]) -> None:
    """Raise `PlanError` for a key of which the query does not show a variable."""
    if key and form != "SELECT":
        raise PlanError(f"key={key!r} is for SELECT queries: {form} has no variables to pair rows by")
    for name in key:
        if name not in names:
            shown = ", ".join(f"?{other}" for other in names)
            raise PlanError(f"the key has ?{name}, which SELECT does not show; it shows: {shown}")
