r"""XPath's regular expressions as trees (XPath Functions 3.1, Section 5.6.1; XML Schema 1.1 Part 2, G).

Trees have no construct that engines interpret differently: `\w` and similar escapes are sets of characters,
and so is each letter with the flag `i`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

from rdflive.extras import install_command
from rdflive.regex.code_points import EVERYTHING, CodePoints, block, category

__all__ = [
    "Alternation",
    "Bracketed",
    "Characters",
    "End",
    "Part",
    "Reference",
    "RegexError",
    "Regular",
    "Repeat",
    "Sequence",
    "Start",
    "may_be_empty",
    "parsed",
]  # fmt: skip

_FLAGS: Final = "smixq"
_DEEPEST: Final = 50
"""Maximum nesting of groups and classes, for which this reader and Python's compiler recurse."""
_SPACES: Final = " \t\n\r"
_SINGLE: Final = {"n": "\n", "r": "\r", "t": "\t", **{mark: mark for mark in r"\|.-^?*+{}()[]$"}}
_NAME_START: Final = CodePoints([
    (0x3A, 0x3A), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A), (0xC0, 0xD6), (0xD8, 0xF6), (0xF8, 0x2FF),
    (0x370, 0x37D), (0x37F, 0x1FFF), (0x200C, 0x200D), (0x2070, 0x218F), (0x2C00, 0x2FEF), (0x3001, 0xD7FF),
    (0xF900, 0xFDCF), (0xFDF0, 0xFFFD), (0x10000, 0xEFFFF),
])  # fmt: skip
"""NameStartChar of XML 1.0."""
_NAME: Final = _NAME_START | CodePoints(
    [(0x2D, 0x2E), (0x30, 0x39), (0xB7, 0xB7), (0x300, 0x36F), (0x203F, 0x2040)]
)
_MULTIPLE: Final[dict[str, Callable[[], CodePoints]]] = {
    "s": lambda: CodePoints.of(_SPACES),
    "i": lambda: _NAME_START,
    "c": lambda: _NAME,
    "d": lambda: category("Nd"),
    # not punctuation, separator or other, so no underscore
    "w": lambda: category("L") | category("M") | category("N") | category("S"),
}
_PERL: Final = {
    "b": "XPath has no word boundaries", "B": "XPath has no word boundaries", "A": "write ^", "Z": "write $",
    "z": "write $", "u": "write the character itself", "x": "write the character itself",
}  # fmt: skip


class RegexError(ValueError):
    """A regular expression or its flags are not valid in XPath."""


@dataclass(frozen=True, slots=True)
class Characters:
    """One character of a set."""

    points: CodePoints


@dataclass(frozen=True, slots=True)
class Start:
    """`^`."""


@dataclass(frozen=True, slots=True)
class End:
    """`$`."""


@dataclass(frozen=True, slots=True)
class Reference:
    """The match of a group; empty if the group has not matched."""

    number: int


@dataclass(frozen=True, slots=True)
class Bracketed:
    """A part in brackets; `(?:...)` has no number."""

    body: Part
    number: int | None


@dataclass(frozen=True, slots=True)
class Repeat:
    """A repeated part; `high` is None without an upper limit."""

    part: Part
    low: int
    high: int | None
    is_greedy: bool


@dataclass(frozen=True, slots=True)
class Sequence:
    """Parts in sequence."""

    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Alternation:
    """The first of several branches that leads to a match."""

    branches: tuple[Part, ...]


Part: TypeAlias = Characters | Start | End | Reference | Bracketed | Repeat | Sequence | Alternation


@dataclass(frozen=True, slots=True)
class Regular:
    """A regular expression: its tree, and the flags that the tree does not include."""

    root: Part
    is_multiline: bool
    in_any_case: bool


def parsed(pattern: str, flags: str = "") -> Regular:
    """Parse a regular expression; raises RegexError if it is invalid.

    >>> parsed("^", "m")
    Regular(root=Sequence(parts=(Start(),)), is_multiline=True, in_any_case=False)
    """
    for flag in flags:
        if flag not in _FLAGS:
            raise RegexError(f"{flag!r} is not a flag: XPath has s, m, i, x and q")
    in_any_case = "i" in flags
    if "q" in flags:
        return Regular(Sequence(tuple(_character(mark, in_any_case) for mark in pattern)), False, in_any_case)
    return Regular(_PatternReader(pattern, flags).read(), "m" in flags, in_any_case)


def may_be_empty(part: Part) -> bool:
    """True if a part can match the empty string."""
    match part:
        case Characters():
            return False
        case Bracketed(body):
            return may_be_empty(body)
        case Repeat(inner, low):
            return low == 0 or may_be_empty(inner)
        case Sequence(parts):
            return all(map(may_be_empty, parts))
        case Alternation(branches):
            return any(map(may_be_empty, branches))
    return True


def _character(mark: str, in_any_case: bool) -> Characters:
    points = CodePoints.of(mark)
    return Characters(points.in_any_case() if in_any_case else points)


class _PatternReader:
    """Parser of regular expressions; the flag `x` skips white space outside of classes."""

    def __init__(self, pattern: str, flags: str) -> None:
        self.text = pattern
        self.at = 0
        self.skips = _SPACES if "x" in flags else ""
        self.in_any_case = "i" in flags
        self.dot = EVERYTHING if "s" in flags else ~CodePoints.of("\n\r")
        self.numbers = 0
        self.closed: set[int] = set()
        self.depth = 0

    def read(self) -> Part:
        root = self._expression()
        if self._peek():  # only a bracket can end an expression early
            raise self._wrong("there is no ( for this )")
        return root

    def _peek(self) -> str:
        while self.at < len(self.text) and self.text[self.at] in self.skips:
            self.at += 1
        return self.text[self.at : self.at + 1]

    def _next(self) -> str:
        mark = self._peek()
        self.at += 1
        return mark

    def _wrong(self, reason: str, at: int | None = None) -> RegexError:
        return RegexError(f"at character {(self.at if at is None else at) + 1}, {reason}")

    def _expression(self) -> Part:
        branches = [self._branch()]
        while self._peek() == "|":
            self.at += 1
            branches.append(self._branch())
        return branches[0] if len(branches) == 1 else Alternation(tuple(branches))

    def _branch(self) -> Part:
        parts: list[Part] = []
        while self._peek() not in ("", "|", ")"):
            parts.append(self._quantified(self._atom()))
        return Sequence(tuple(parts))

    def _quantified(self, atom: Part) -> Part:
        mark = self._peek()
        if mark not in _REPEATS:
            return atom
        self.at += 1
        low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(mark) or self._quantity()
        is_greedy = self._peek() != "?"
        self.at += not is_greedy
        if self._peek() in _REPEATS:
            raise self._wrong(f"{self._peek()} repeats a part that is already repeated")
        return Repeat(atom, low, high, is_greedy)

    def _quantity(self) -> tuple[int, int | None]:
        begin = self.at - 1
        text = ""
        while (mark := self._next()) != "}":
            if not mark:
                raise self._wrong(_BRACE, begin)
            text += mark
        found = re.fullmatch("([0-9]{1,10})(,([0-9]{,10}))?", text)
        if found is None:
            raise self._wrong(_BRACE, begin)
        low = int(found[1])
        high = low if found[2] is None else int(found[3]) if found[3] else None
        if high is not None and high < low:
            raise self._wrong(f"{{{text}}} ends before it begins", begin)
        return low, high

    def _atom(self) -> Part:
        mark = self._next()
        at = self.at - 1
        match mark:
            case "^":
                return Start()
            case "$":
                return End()
            case ".":
                return Characters(self.dot)
            case "(":
                return self._group(at)
            case "[":
                return Characters(self._class())
            case "\\":
                return self._escaped(at)
            case "*" | "+" | "?":
                raise self._wrong(f"{mark} has nothing to repeat: write \\{mark} for the character", at)
            case "{":
                raise self._wrong(_BRACE, at)
            case "}" | "]":
                raise self._wrong(f"write \\{mark} for the character", at)
        return _character(mark, self.in_any_case)

    def _group(self, at: int) -> Part:
        number = None
        if self._peek() == "?":
            self.at += 1
            if self._next() != ":":
                raise self._wrong(
                    "XPath has only (?:...) of the forms (?...), and flags are a separate argument", at
                )
        else:
            self.numbers += 1
            number = self.numbers
        self._enter(at)
        body = self._expression()
        if self._next() != ")":
            raise self._wrong("this ( is never closed", at)
        self.depth -= 1
        if number is not None:
            self.closed.add(number)
        return Bracketed(body, number)

    def _enter(self, at: int) -> None:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self._wrong(f"there are more than {_DEEPEST} nested groups and classes", at)

    def _escaped(self, at: int) -> Part:
        mark = self._next()
        if not (mark.isascii() and mark.isdigit()):
            found = self._escape(mark, at)
            return _character(found, self.in_any_case) if isinstance(found, str) else Characters(found)
        number = int(mark)
        # further digits belong to the number if that many groups exist
        while (more := self._peek()) and more in "0123456789" and int(f"{number}{more}") <= self.numbers:
            number = int(f"{number}{more}")
            self.at += 1
        if number not in self.closed:
            raise self._wrong(f"no group {number} ends before \\{number}", at)
        return Reference(number)

    def _escape(self, mark: str, at: int) -> str | CodePoints:
        """Parse an escape of one character or of a set."""
        if mark in _SINGLE:
            return _SINGLE[mark]
        if mark.lower() in _MULTIPLE:
            points = _MULTIPLE[mark.lower()]()
            return points if mark.islower() else ~points
        if mark not in ("p", "P"):
            if not mark:
                raise self._wrong("\\ escapes nothing: write \\\\ for the character", at)
            advice = _PERL.get(mark, f"write {mark} itself")
            raise self._wrong(f"\\{mark} is not an escape in XPath: {advice}", at)
        name = ""
        opened = self._next() == "{"
        while opened and (letter := self._next()) != "}":
            opened = bool(letter)
            name += letter
        if not opened:
            raise self._wrong(f"\\{mark} needs a category, as in \\{mark}{{Lu}}", at)
        points = self._named(name, at)
        return points if mark == "p" else ~points

    def _named(self, name: str, at: int) -> CodePoints:
        try:
            return block(name[2:]) if name.startswith("Is") else category(name)
        except KeyError:
            kind = "block" if name.startswith("Is") else "category"
            raise self._wrong(f"Unicode has no {kind} {name.removeprefix('Is')}", at) from None
        except ImportError:
            command = install_command("unicode")
            raise self._wrong(f"blocks such as {name} need elementpath: {command}", at) from None

    def _class(self) -> CodePoints:
        """Parse a class after its [; white space is an ordinary character there."""
        at, skips, self.skips = self.at - 1, self.skips, ""
        self._enter(at)
        is_negative = self._peek() == "^"
        self.at += is_negative
        points, first = CodePoints(), self.at
        while self._peek() != "]" and not self._has_subtraction():
            if not self._peek():
                raise self._wrong("this [ is never closed", at)
            points |= self._member()
        if self.at == first:
            raise self._wrong(f"[...] is empty: write \\{self._peek()} for the character")
        if is_negative:
            points = ~points
        if self._has_subtraction():
            self.at += 2
            points -= self._class()
            if self._peek() != "]":
                raise self._wrong("] is missing after the subtracted class")
        self.at += 1
        self.depth -= 1
        self.skips = skips
        return points

    def _has_subtraction(self) -> bool:
        return self.text.startswith("-[", self.at)

    def _member(self) -> CodePoints:
        """Parse a character, a range or an escape of a class."""
        at, low = self.at, self._single()
        if isinstance(low, CodePoints):
            return low
        points = CodePoints.of(low)
        # a hyphen is literal at either end, and after a range or an escape of several characters
        if self._peek() == "-" and not self.text.startswith(("-]", "-[", "--["), self.at):
            self.at += 1
            end = self.at
            high = self._single()
            if self.text[at] == "-" or self.text[end : end + 1] == "-" or isinstance(high, CodePoints):
                raise self._wrong(_HYPHEN, end - 1)
            if high < low:
                raise self._wrong(f"the range {low}-{high} ends before it begins", at)
            points = CodePoints([(ord(low), ord(high))])
        return points.in_any_case() if self.in_any_case else points

    def _single(self) -> str | CodePoints:
        at, mark = self.at, self._next()
        if mark == "[":
            raise self._wrong("write \\[ for the character in a class", at)
        if not mark:
            raise self._wrong("this class is never closed", at)
        return self._escape(self._next(), at) if mark == "\\" else mark


_REPEATS: Final = ("*", "+", "?", "{")
_BRACE: Final = "{ begins a number of times, such as {2}, {2,} or {2,3}: write \\{ for the character"
_HYPHEN: Final = "this hyphen makes no range: write \\- for the character"
