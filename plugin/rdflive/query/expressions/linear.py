r"""REGEX and REPLACE in time linear in the length of the text, by RE2.

The answers are those of `functions`, which has Python match. So a pattern is written for RE2 as Python reads
it (`\d` is any decimal digit of Unicode), and one that RE2 cannot match as Python does is refused. One
difference is left: with the flag `i` RE2 folds `ı`, `İ` and U+0345 as Unicode does, and Python otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Final

from rdflib.term import Literal, Node, Variable

from rdflive.errors import RdfliveError, UnsupportedQueryError
from rdflive.extras import install_command
from rdflive.query.budget import Meter
from rdflive.query.expressions.functions import expand, like, python_pattern, replacement_pieces, to_python
from rdflive.query.expressions.functions import string_literal as string_of
from rdflive.syntax.tree import Tree
from rdflive.values import text

__all__ = ["linear_function", "to_re2"]

_MEMORY: Final = 1 << 20
"""Bytes for a pattern and what is cached while it is matched."""
_PER_ROW: Final = 1000
"""Characters times instructions of a pattern that cost as much as a row, where RE2 is slow."""

_SPACE: Final = r"\t-\r\x1c-\x20\x85\p{Z}"
_WORD: Final = r"\p{L}\p{N}_"
_OUTSIDE: Final = {
    "d": r"\p{Nd}", "D": r"\P{Nd}", "w": f"[{_WORD}]", "W": f"[^{_WORD}]",
    "s": f"[{_SPACE}]", "S": f"[^{_SPACE}]", "A": r"\A", "Z": r"\z",
    **{letter: f"\\{letter}" for letter in "afnrtv"},
}  # fmt: skip
_INSIDE: Final = {
    "d": r"\p{Nd}", "D": r"\P{Nd}", "w": _WORD, "s": _SPACE, **{letter: f"\\{letter}" for letter in "afnrtv"},
}  # fmt: skip
"""Inside a class the others would have to be taken away from it."""
_TOKENS: Final = re.compile(
    r"(?P<escape>\\.)"
    r"|(?P<class>\[\^?\]?(?:\\.|[^\]\\])*\])"
    r"|(?P<extension>\(\?(?!:))"
    r"|(?P<open>\((?:\?:)?)"
    r"|(?P<close>\))"
    r"|(?P<repeat>(?P<kind>[*+?]|\{(?!\})(?P<low>[0-9]*)(?P<comma>,?)(?P<high>[0-9]*)\})(?P<mode>[?+]?))"
    r"|(?P<brace>[{}])"
    r"|.",
    re.DOTALL,
)
_MEMBERS: Final = re.compile(r"(?P<escape>\\.)|(?P<literal>.)", re.DOTALL)


def linear_function(meter: Meter, node: Tree) -> Callable[..., Any]:
    """Give the function that a call of REGEX or REPLACE is; its pattern and flags must be constants.

    Raises `UnsupportedQueryError` for what RE2 cannot match.
    """
    name = node.name.removeprefix("Builtin_")
    flags = Literal("") if node.flags is None else node.flags
    if not (_is_constant(node.pattern) and _is_constant(flags)):
        raise UnsupportedQueryError(
            f"{name} with a pattern or flags that are no constants cannot be kept within a budget: write "
            "them into the query",
            construct=name,
        )
    pattern, options = text(node.pattern), text(flags)
    if pattern is None or options is None:
        return _never
    try:
        # first by Python, whose answers count: what it refuses is an error of SPARQL and no limit of ours
        python_pattern(pattern, options)
    except Exception:  # noqa: BLE001 - what Python does not compile is an error of the expression
        return _never
    compiled = _compiled(name, pattern, options)
    return partial(_regex if name == "REGEX" else _replace, meter, compiled, "q" in options)


def to_re2(pattern: str) -> str:
    r"""Write a pattern that Python compiles the way RE2 does; raises ValueError for what RE2 has not.

    >>> to_re2(r"^IC\d{,3}$"), to_re2("[[a]")
    ('^IC\\p{Nd}{0,3}$', '[\\[a]')
    """
    return "".join(map(_written, _TOKENS.finditer(pattern)))


@dataclass(slots=True)
class _Part:
    """What is known of a group that is open, or of what was read last."""

    is_group: bool = False
    has_number: bool = False
    """Whether it or a group in it has a number."""
    may_be_empty: bool = True
    """Of an open group: whether the branch that is read may match nothing so far."""
    or_else: bool = False
    """Whether an earlier branch may."""


def _refused_repeat(pattern: str) -> str | None:
    """Name the first repeated group that RE2 and Python repeat differently.

    They leave a repeated group that matched nothing at different times, so that in the end `(?:b*?|a)*` may
    have matched another part of the text, and one with a number a part that is not the same either.
    """
    opened, last = [_Part()], _Part()
    for token in _TOKENS.finditer(pattern):
        if token.lastgroup == "repeat":
            kind, low = token["kind"][0], token["low"]
            if last.is_group and kind != "?":
                if last.has_number:
                    return "a repeated group with a number, which (?:...) has not"
                if last.may_be_empty:
                    return "a repeated group that may match nothing"
            last.may_be_empty |= kind in "*?" or (kind == "{" and int(low or 0) == 0)
            continue
        # only now it is known how what came before was repeated
        around = opened[-1]
        around.may_be_empty &= last.may_be_empty
        around.has_number |= last.has_number
        last = _Part(may_be_empty=token[0] in ("^", "$", "|"))
        if token.lastgroup == "open":
            opened.append(_Part(has_number=token[0] == "("))
            last = _Part()
        elif token.lastgroup == "close":
            group = opened.pop()
            last = _Part(True, group.has_number, group.may_be_empty or group.or_else)
        elif token[0] == "|":
            around.or_else |= around.may_be_empty
            around.may_be_empty = True
    return None


def _written(token: re.Match[str]) -> str:
    match token.lastgroup:
        case "escape":
            return _escaped(token[0][1], _OUTSIDE)
        case "class":
            return _class(token[0])
        case "extension":
            raise ValueError(f"{token[0]} and what follows")
        case "brace":
            return f"\\{token[0]}"
        case "repeat" if token["mode"] == "+":
            raise ValueError(f"{token[0]}, which gives nothing back")
        case "repeat" if token["kind"][0] == "{":
            # Python reads {,3} as {0,3}, RE2 as these very characters
            high = token["comma"] + token["high"]
            return f"{{{token['low'] or '0'}{high}}}{token['mode']}"
    return token[0]


def _class(text: str) -> str:
    head = "[^" if text.startswith("[^") else "["
    members = _MEMBERS.finditer(text[len(head) : -1])
    return head + "".join(map(_member, members)) + "]"


def _member(token: re.Match[str]) -> str:
    if token.lastgroup == "escape":
        return _escaped(token[0][1], _INSIDE)
    # to RE2 `[[:alpha:]]` is a class of POSIX, to Python a class that begins with [
    return f"\\{token[0]}" if token[0] in "[]" else token[0]


def _escaped(character: str, known: dict[str, str]) -> str:
    if character.isascii() and character.isalnum():
        if character not in known:
            raise ValueError(f"\\{character}")
        return known[character]
    return (
        f"\\{character}"
        if character.isascii() and character.isprintable() and character != " "
        else character
    )


def _is_constant(node: Any) -> bool:
    return isinstance(node, Node) and not isinstance(node, Variable)


def _never(*_: Node) -> None:
    """Be an error whatever the text."""


@lru_cache(maxsize=256)
def _compiled(name: str, pattern: str, flags: str) -> Any:
    try:
        import re2
    except ImportError as error:
        raise RdfliveError(
            f"{name} in a subscription with a budget needs google-re2: {install_command('server')}"
        ) from error
    options = re2.Options()
    options.log_errors, options.max_mem = False, _MEMORY
    options.never_capture = name == "REGEX"
    options.case_sensitive, options.dot_nl, options.literal = "i" not in flags, "s" in flags, "q" in flags
    try:
        written = pattern if "q" in flags else to_re2(to_python(pattern, flags))
        # RE2 has `m` only in the pattern itself
        compiled = re2.compile(f"(?m){written}" if "m" in flags and "q" not in flags else written, options)
        if name == "REPLACE" and compiled.search("") is not None:
            raise ValueError("a match of nothing (XPath's FORX0003)")
        refused = _refused_repeat(written) if name == "REPLACE" and "q" not in flags else None
        if refused is not None:
            raise ValueError(refused)
    except (re2.error, ValueError) as error:
        reason = error.args[0].decode() if isinstance(error.args[0], bytes) else error
        raise UnsupportedQueryError(
            f"{name} with the pattern {pattern!r} cannot be matched in linear time, as a budget asks for: "
            f"it has {reason}; use what regular expressions of XPath have without back-references",
            construct=name,
        ) from None
    return compiled


def _work(meter: Meter, compiled: Any, characters: str) -> None:
    meter.spend(len(characters) * compiled.programsize // _PER_ROW)


def _regex(meter: Meter, compiled: Any, _: bool, subject: Node, *__: Node) -> bool | None:
    string = string_of(subject)
    if string is None:
        return None
    _work(meter, compiled, string)
    return compiled.search(str(string)) is not None


def _replace(
    meter: Meter, compiled: Any, is_plain: bool, subject: Node, _: Node, replacement: Node, *__: Node
) -> Node | None:
    string, new = string_of(subject), text(replacement)
    if string is None or new is None:
        return None
    pieces = [new] if is_plain else replacement_pieces(new)
    if pieces is None:
        return None
    _work(meter, compiled, string)
    return like("".join(_replaced(meter, compiled, str(string), pieces, is_plain)), string)


def _replaced(
    meter: Meter, compiled: Any, characters: str, pieces: list[str], is_plain: bool
) -> Iterator[str]:
    """Give the pieces of the result, each counted before the next is made."""
    at = 0
    for match in compiled.finditer(characters):
        begin, end = match.span()
        meter.make(begin - at)
        yield characters[at:begin]
        for piece in pieces:
            part = piece if is_plain else expand(piece, match)
            meter.make(len(part))
            yield part
        at = end
    meter.make(len(characters) - at)
    yield characters[at:]
