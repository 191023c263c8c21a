"""The sinks that `rdflive watch --to` offers by name."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rdflive.model import Delta

__all__ = ["SinkChoice", "SinkOption"]

SinkOption: TypeAlias = Literal["full", "listen", "out", "secret_env", "url"]
"""An option of `rdflive watch` that only some sinks take; `-` is `_` here."""


@dataclass(frozen=True, slots=True)
class SinkChoice:
    """A sink that `rdflive watch --to NAME` sends deltas to."""

    name: str
    help: str
    """A few words for `rdflive watch --help`."""
    open: Callable[[argparse.Namespace], AbstractContextManager[Callable[[Delta], object]]]
    """Opens the sink with the options of the command, before data are loaded; the block gets the callback.

    `ValueError` and `RdfliveError` refuse the options.
    """
    options: tuple[SinkOption, ...] = ()
    """Options that this sink takes; the command refuses the others, and has None for those not given."""
