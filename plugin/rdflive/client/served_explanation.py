"""How a server maintains a query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["ServedExplanation"]


@dataclass(frozen=True, slots=True)
class ServedExplanation:
    """How a server maintains a query. `str()` and `print` give text; a notebook shows the picture.

    >>> print(ServedExplanation.of({"text": "ASK", "svg": "<svg/>", "algorithms": ["ground"], "notes": []}))
    ASK
    """

    text: str
    picture: str
    algorithms: tuple[str, ...]
    """What maintains each basic graph pattern, in the order in which the text shows them."""
    notes: tuple[str, ...] = ()
    """What the query names and the data of the server do not hold; the text has it too."""

    @classmethod
    def of(cls, members: Mapping[str, Any]) -> ServedExplanation:
        """Read what `/explain` answers; raises KeyError or TypeError for anything else."""
        algorithms, notes = (tuple(map(str, members[name])) for name in ("algorithms", "notes"))
        return cls(str(members["text"]), str(members["svg"]), algorithms, notes)

    def __str__(self) -> str:
        return self.text

    def svg(self) -> str:
        """Give the plan as an SVG image."""
        return self.picture

    def _repr_svg_(self) -> str:
        return self.picture
