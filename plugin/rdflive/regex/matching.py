r"""Matching and replacing by XPath's regular expressions with Python's engine (XPath Functions 3.1, 5.6)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from rdflive.regex.code_points import escape
from rdflive.regex.tree import (
    Alternation,
    Bracketed,
    Characters,
    End,
    Part,
    Reference,
    RegexError,
    Regular,
    Repeat,
    Sequence,
    Start,
    parsed,
)

__all__ = ["compiled", "expand", "matches", "replaced", "replacement_pieces", "written"]


def matches(text: str, pattern: str, flags: str = "") -> bool:
    """True if a pattern matches anywhere in a text; raises RegexError if it is invalid.

    >>> matches("Élan", r"^\\p{Lu}"), matches("élan", r"^\\p{Lu}")
    (True, False)
    """
    return compiled(pattern, flags).search(text) is not None


def replaced(text: str, pattern: str, new: str, flags: str = "") -> str:
    r"""Replace every match; `$1` is a group, `\\$` and `\\\\` are escapes, except with the flag `q`.

    Raises RegexError, also for a pattern that matches the empty string (FORX0003).

    >>> replaced("T101", "([A-Z])([0-9])", "$2$1")
    '1T01'
    """
    matcher = compiled(pattern, flags)
    pieces = replacement_pieces(new, flags, matcher.groups)
    if matcher.search(""):
        raise RegexError(f"{pattern!r} matches the empty string, which cannot be replaced")
    return matcher.sub(lambda match: "".join(expand(piece, match) for piece in pieces), text)


@lru_cache(maxsize=256)
def compiled(pattern: str, flags: str = "") -> re.Pattern[str]:
    """Compile a regular expression for Python's engine; raises RegexError if it is invalid.

    >>> compiled(r"[\\p{Lu}-[E]]+").findall("ÄbCDE")
    ['Ä', 'CD']
    """
    try:
        return re.compile(_written(parsed(pattern, flags)))
    except (re.error, OverflowError) as error:
        raise RegexError(f"Python cannot match it: {error}") from error


def _written(regular: Regular) -> str:
    start, end = (r"(?:\A|(?<=\n)(?!\Z))", r"(?=\n|\Z)") if regular.is_multiline else (r"(?:\A)", r"(?:\Z)")

    def write(part: Part) -> str:
        match part:
            case Start():
                return start
            case End():
                return end
            case Reference(number):
                return f"(?({number})(?i:\\{number}))" if regular.in_any_case else f"(?({number})\\{number})"
        return written(part, write)

    return write(regular.root)


def written(part: Part, write: Callable[[Part], str]) -> str:
    """Return the syntax that Python and RE2 share, with inner parts by `write`."""
    match part:
        case Characters(points):
            (first, last), *more = points.ranges or ((1, 0),)
            return escape(chr(first)) if first == last and not more else str(points)
        case Bracketed(body, number):
            return f"({'?:' if number is None else ''}{write(body)})"
        case Repeat(inner, low, high, is_greedy):
            return f"{write(inner)}{_COUNTS.get((low, high)) or _count(low, high)}{'' if is_greedy else '?'}"
        case Sequence(parts):
            return "".join(map(write, parts))
        case Alternation(branches):
            return "|".join(map(write, branches))
    raise TypeError(part)


_COUNTS: Final = {(0, None): "*", (1, None): "+", (0, 1): "?"}


def _count(low: int, high: int | None) -> str:
    return f"{{{low}}}" if low == high else f"{{{low},{'' if high is None else high}}}"


def replacement_pieces(new: str, flags: str, groups: int) -> list[str | int]:
    """Split a replacement into texts and group numbers.

    A `$` takes the longest number of an existing group. Raises RegexError for a lone backslash or dollar
    (FORX0004).

    >>> replacement_pieces("<$12>", "", 1), replacement_pieces("<$12>", "q", 1)
    (['<', 1, '2>'], ['<$12>'])
    """
    if "q" in flags:
        return [new]
    parts = re.findall(r"\\[\\$]|\$[0-9]+|[^\\$]+", new)
    if "".join(parts) != new:
        raise RegexError(f"in the replacement {new!r}, write \\\\ and \\$ for the characters")
    pieces: list[str | int] = [""]
    for part in parts:
        rest = part[part[0] == "\\" :]
        if part[0] == "$":
            digits, rest = part[1:], ""
            while len(digits) > 1 and int(digits) > groups:
                digits, rest = digits[:-1], digits[-1] + rest
            pieces += [int(digits), ""] if int(digits) <= groups else []
        pieces[-1] = f"{pieces[-1]}{rest}"
    return [piece for piece in pieces if piece != ""]


def expand(piece: str | int, match: Any) -> str:
    """Return a text piece, or the match of a group."""
    return piece if isinstance(piece, str) else match.group(piece) or ""
