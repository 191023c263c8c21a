"""Sets of characters for XPath's regular expressions, by Unicode category and block."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable
from functools import cache, reduce
from itertools import groupby
from operator import or_
from typing import Final
from unicodedata import category as category_of

__all__ = ["EVERYTHING", "CodePoints", "block", "category", "escape"]

_LAST: Final = sys.maxunicode
_SURROGATES: Final = range(0xD800, 0xE000)
_LAST_CASED: Final = 0x1FFFF
"""No character above it has another case."""


class CodePoints:
    """A set of characters; `ranges` include both ends.

    >>> str(CodePoints.of("acb-")), str(~CodePoints.of("a"))
    ('[\\\\-a-c]', '[^a]')
    """

    __slots__ = ("ranges",)

    def __init__(self, ranges: Iterable[tuple[int, int]] = ()) -> None:
        joined: list[tuple[int, int]] = []
        for first, last in sorted(ranges):
            if joined and first <= joined[-1][1] + 1:
                joined[-1] = joined[-1][0], max(last, joined[-1][1])
            else:
                joined.append((first, last))
        self.ranges = tuple(joined)

    @classmethod
    def of(cls, characters: Iterable[str]) -> CodePoints:
        """Return the set of some characters."""
        return cls((ord(character), ord(character)) for character in characters)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CodePoints) and self.ranges == other.ranges

    def __hash__(self) -> int:
        return hash(self.ranges)

    def __or__(self, other: CodePoints) -> CodePoints:
        return CodePoints((*self.ranges, *other.ranges))

    def __invert__(self) -> CodePoints:
        ends = [-1, *(end for ends in self.ranges for end in ends), _LAST + 1]
        gaps = zip(ends[::2], ends[1::2], strict=True)
        return CodePoints((before + 1, after - 1) for before, after in gaps if before + 1 < after)

    def __sub__(self, other: CodePoints) -> CodePoints:
        return ~(~self | other)

    def __str__(self) -> str:
        """Return the set as a class with the same meaning in Python's `re` and RE2, without flags."""
        if not self.ranges:
            return f"[^{_range(0, _LAST)}]"
        if self == EVERYTHING:
            return "(?s:.)"
        is_open = self.ranges[-1][1] == _LAST
        ranges = (~self).ranges if is_open else self.ranges
        return f"[{'^' if is_open else ''}{''.join(_range(*ends) for ends in ranges)}]"

    def in_any_case(self) -> CodePoints:
        """Add the characters with the same lower or upper case as a member (XPath Functions 3.1, 5.6.1.1)."""
        variants = _variants()
        found = {
            variant
            for first, last in self.ranges
            for code in range(first, min(last, _LAST_CASED) + 1)
            for variant in variants.get(code, ())
        }
        return CodePoints((*self.ranges, *((code, code) for code in found)))


EVERYTHING: Final = CodePoints([(0, _LAST)])


def escape(character: str) -> str:
    """Return a character escaped for Python's `re` and RE2, within or outside of a class."""
    is_mark = character.isascii() and character.isprintable() and not character.isalnum()
    return f"\\{character}" if is_mark and character != " " else character


def _range(first: int, last: int) -> str:
    # RE2 uses UTF-8, which has no surrogates
    first = _SURROGATES.stop if first in _SURROGATES else first
    last = _SURROGATES.start - 1 if last in _SURROGATES else last
    if first > last:
        return ""
    one, other = escape(chr(first)), escape(chr(last))
    return one if first == last else f"{one}{'-' if last > first + 1 else ''}{other}"


@cache
def _variants() -> dict[int, set[int]]:
    """Return the case variants of each letter."""
    cased = {c for c in map(chr, range(_LAST_CASED + 1)) if c.lower() != c or c.upper() != c}
    alike: dict[tuple[bool, str], set[int]] = defaultdict(set)
    for letter in {form for c in cased for form in (c, c.lower(), c.upper()) if len(form) == 1}:
        alike[False, letter.lower()].add(ord(letter))
        alike[True, letter.upper()].add(ord(letter))
    found: dict[int, set[int]] = defaultdict(set)
    for letters in alike.values():
        for code in letters:
            found[code] |= letters
    return found


@cache
def _categories() -> dict[str, CodePoints]:
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    first = 0
    for name, run in groupby(map(category_of, map(chr, range(_LAST + 1)))):
        after = first + sum(1 for _ in run)
        found[name].append((first, after - 1))
        first = after
    del found["Cs"]  # XML has no surrogate characters
    return {name: CodePoints(ranges) for name, ranges in found.items()}


@cache
def category(name: str) -> CodePoints:
    """Return the characters of a general category, such as Lu or L; raises KeyError."""
    if len(name) == 2:
        return _categories()[name]
    found = [points for each, points in _categories().items() if each[0] == name]
    if not found:
        raise KeyError(name)
    return reduce(or_, found)


def block(name: str) -> CodePoints:
    """Return the characters of a block, such as Cyrillic; raises KeyError.

    Raises ImportError without the extra `unicode`: Python has no table of blocks.
    """
    from elementpath.regex import unicode_block

    return CodePoints(
        (ends, ends) if isinstance(ends, int) else (ends[0], ends[1] - 1)
        for ends in unicode_block(name).codepoints
    )
