"""REGEX and REPLACE in time linear in the length of the text, by RE2.

The results are those of `functions`, which uses Python's engine. Patterns that RE2 would match differently
are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any, Final

from rdflib.term import Literal, Node, Variable

from rdflive.errors import MissingExtraError, UnsupportedQueryError
from rdflive.extras import install_command
from rdflive.query.budget import Meter
from rdflive.query.expressions.functions import like
from rdflive.query.expressions.functions import string_literal as string_of
from rdflive.regex import compiled as in_python
from rdflive.regex.matching import expand, replacement_pieces, written
from rdflive.regex.tree import (
    Alternation,
    Bracketed,
    End,
    Part,
    Reference,
    RegexError,
    Regular,
    Repeat,
    Sequence,
    Start,
    may_be_empty,
    parsed,
)
from rdflive.syntax.tree import Tree
from rdflive.values import text

__all__ = ["linear_function", "to_re2"]

_MEMORY: Final = 1 << 20
"""Bytes for a pattern and for caches while it is matched."""
_PER_ROW: Final = 1000
"""Characters times instructions of a pattern that cost as much as a row, where RE2 is slow."""


def linear_function(meter: Meter, node: Tree) -> Callable[..., Any]:
    """Return the function of a call of REGEX or REPLACE, whose pattern and flags must be constants.

    Raises `UnsupportedQueryError` for patterns that RE2 cannot match.
    """
    name = node.name.removeprefix("Builtin_")
    flags = Literal("") if node.flags is None else node.flags
    if not (_is_constant(node.pattern) and _is_constant(flags)):
        raise UnsupportedQueryError(
            f"{name} with a pattern or flags that are not constants cannot run within a budget: write "
            "them into the query",
            construct=name,
        )
    pattern, options = text(node.pattern), text(flags)
    if pattern is None or options is None:
        return _never
    try:
        matcher = in_python(pattern, options)
    except RegexError:
        return _never
    if name == "REPLACE" and matcher.search(""):  # XPath's FORX0003
        return _never
    compiled = _compiled(name, pattern, options)
    return (
        partial(_regex, meter, compiled) if name == "REGEX" else partial(_replace, meter, compiled, options)
    )


def to_re2(regular: Regular) -> str:
    """Write a regular expression for RE2; raises ValueError for features that RE2 lacks.

    >>> to_re2(parsed(r"^IC[0-9]{3}$"))
    '(?:\\\\A)IC[0-9]{3}(?:\\\\z)'
    """
    if regular.is_multiline and _starts_at_end(regular.root, True):
        raise ValueError("^ with nothing that must follow it, and the flag m")
    start, end = ("(?m:^)", "(?m:$)") if regular.is_multiline else (r"(?:\A)", r"(?:\z)")

    def write(part: Part) -> str:
        match part:
            case Start():
                return start
            case End():
                return end
            case Reference(number):
                raise ValueError(f"\\{number}")
        return written(part, write)

    return write(regular.root)


def _inner(part: Part) -> tuple[Part, ...]:
    match part:
        case Bracketed(inner, _) | Repeat(inner):
            return (inner,)
        case Sequence(parts) | Alternation(parts):
            return parts
    return ()


def _starts_at_end(part: Part, is_last: bool) -> bool:
    """Return True if ^ may match at the end of the text: RE2 sees a line after a last newline there, and
    XPath none. `is_last` is true if the rest after the part may be empty.
    """
    match part:
        case Start():
            return is_last
        case Sequence(parts):
            return any(
                _starts_at_end(inner, is_last and all(map(may_be_empty, parts[place + 1 :])))
                for place, inner in enumerate(parts)
            )
    return any(_starts_at_end(inner, is_last) for inner in _inner(part))


def _refused_repeat(part: Part) -> str | None:
    """Name the first repeated group that RE2 and Python repeat differently.

    They leave a repeated group that matched nothing at different times, so in the end `(?:b*?|a)*` may match
    another part of the text, and a numbered group may have another part too.
    """
    if isinstance(part, Repeat) and isinstance(part.part, Bracketed) and part.high != 1:
        if _has_number(part.part):
            return "a repeated group with a number, unlike (?:...)"
        if may_be_empty(part.part):
            return "a repeated group that may match nothing"
    return next(filter(None, map(_refused_repeat, _inner(part))), None)


def _has_number(part: Part) -> bool:
    return (isinstance(part, Bracketed) and part.number is not None) or any(map(_has_number, _inner(part)))


def _is_constant(node: Any) -> bool:
    return isinstance(node, Node) and not isinstance(node, Variable)


def _never(*_: Node) -> None:
    """Return None, an error, whatever the text."""


@lru_cache(maxsize=256)
def _compiled(name: str, pattern: str, flags: str) -> Any:
    try:
        import re2
    except ImportError as error:
        message = f"{name} in a subscription with a budget needs google-re2: {install_command('server')}"
        raise MissingExtraError(message, name=error.name) from error
    options = re2.Options()
    options.log_errors, options.max_mem = False, _MEMORY
    options.never_capture = name == "REGEX"
    try:
        regular = parsed(pattern, flags)
        compiled = re2.compile(to_re2(regular), options)
        refused = _refused_repeat(regular.root) if name == "REPLACE" else None
        if refused is not None:
            raise ValueError(refused)
    except (re2.error, ValueError) as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else error
        raise UnsupportedQueryError(
            f"{name} with the pattern {pattern!r} cannot be matched in linear time, as a budget requires: "
            f"it has {reason}; use regular expressions of XPath without back-references",
            construct=name,
        ) from None
    return compiled


def _work(meter: Meter, compiled: Any, characters: str) -> None:
    meter.spend(len(characters) * compiled.programsize // _PER_ROW)


def _regex(meter: Meter, compiled: Any, subject: Node, *_: Node) -> bool | None:
    string = string_of(subject)
    if string is None:
        return None
    _work(meter, compiled, string)
    return compiled.search(str(string)) is not None


def _replace(
    meter: Meter, compiled: Any, flags: str, subject: Node, _: Node, replacement: Node, *__: Node
) -> Node | None:
    string, new = string_of(subject), text(replacement)
    if string is None or new is None:
        return None
    pieces = replacement_pieces(new, flags, compiled.groups)
    _work(meter, compiled, string)
    return like("".join(_replaced(meter, compiled, str(string), pieces)), string)


def _replaced(meter: Meter, compiled: Any, characters: str, pieces: list[str | int]) -> Iterator[str]:
    """Yield the pieces of the result, each counted before the next is made."""
    at = 0
    for match in compiled.finditer(characters):
        meter.look()  # each match may read the rest of the text, as `a*b|a` does
        begin, end = match.span()
        meter.make(begin - at)
        yield characters[at:begin]
        for piece in pieces:
            part = expand(piece, match)
            meter.make(len(part))
            yield part
        at = end
    meter.make(len(characters) - at)
    yield characters[at:]
