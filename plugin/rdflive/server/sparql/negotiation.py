"""Which of the formats on offer a client wants (RFC 9110, section 12.5.1)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rdflive.server.failures import Problem

__all__ = ["choose"]

_QUALITY: Final = re.compile(r"0(?:\.\d{0,3})?|1(?:\.0{0,3})?")


def choose(accept: str, offered: Sequence[str], aliases: Mapping[str, str]) -> str:
    """Choose one of the media types offered by the header Accept; the first one where it does not matter.

    `aliases` are other names that clients ask for them by. Raises `Problem` 406.

    >>> choose("text/csv;q=0.5, text/*;q=0.1", ["application/json", "text/turtle", "text/csv"], {})
    'text/csv'
    """
    ranges = list(_ranges(accept))
    if not ranges:
        return offered[0]
    wanted = dict(ranges)
    quality = {
        kind: max(
            # by the word: whoever accepts `text/*` has not asked for N-Triples by its old name text/plain
            [_quality(kind, ranges), *(wanted.get(name, 0.0) for name in aliases if aliases[name] == kind)]
        )
        for kind in offered
    }
    best = max(offered, key=quality.__getitem__)
    if not quality[best]:
        raise Problem(406, f"none of {accept!r} can be answered here; there is {', '.join(offered)}")
    return best


def _ranges(accept: str) -> Iterator[tuple[str, float]]:
    """Read media ranges with their quality; parameters other than q change nothing."""
    for part in accept.split(","):
        kind, *parameters = (piece.strip().lower() for piece in part.split(";"))
        if not kind:
            continue
        quality = next(
            (value for name, _, value in (p.partition("=") for p in parameters) if name == "q"), "1"
        )
        yield kind, float(quality) if _QUALITY.fullmatch(quality) else 1.0


def _quality(kind: str, ranges: list[tuple[str, float]]) -> float:
    """Give the quality of a media type: that of the most specific range that holds it."""
    for wanted in (kind, kind.partition("/")[0] + "/*", "*/*"):
        found = [quality for name, quality in ranges if name == wanted]
        if found:
            return max(found)
    return 0.0
