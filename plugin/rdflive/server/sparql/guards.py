"""Keeps requests from reaching other hosts: SERVICE and LOAD are refused before anything is parsed.

Parsers accept keywords without white space after them (`SERVICEex:a{}`, `true.SERVICE:a{}`), and what looks
like an IRI may be two comparisons with a comment between (`?a<?b)SERVICE?c#>`). So the keywords are searched
in every way in which the text can be cut into tokens. Too much is taken for such a clause rather than too
little.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from enum import Enum
from operator import itemgetter
from typing import Final, Literal, NamedTuple, TypeAlias

from rdflive.server.failures import Problem
from rdflive.syntax.tokens import Token, tokenize

__all__ = ["refuse_deep", "refuse_remote"]

Keyword: TypeAlias = Literal["SERVICE", "LOAD"]

_SERVICE: Final = re.compile("SERVICE", re.IGNORECASE)
_ESCAPE: Final = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
_LONE_RETURN: Final = re.compile(r"\r(?!\n)")

_NAMING: Final = frozenset(
    [
        "ADD",
        "BASE",
        "COPY",
        "DESCRIBE",
        "FROM",
        "GRAPH",
        "INTO",
        "MOVE",
        "NAMED",
        "PREFIX",
        "SILENT",
        "TO",
        "USING",
        "WITH",
    ]
)
"""Keywords after which a name of a graph, resource or prefix must follow, so that no clause can begin."""
_PLACES: Final = ("variable", "iri", "prefixed")
_READINGS: Final = 8
"""How many readings of a text are tried at most; no query that is meant as one has more."""


_DEEPEST: Final = 200
"""How deep brackets may be nested: parsers need stack, and time, for each level."""
_OPENING: Final = frozenset({"(", "[", "{", "{|", "<<", "<<("})
_CLOSING: Final = frozenset({")", "]", "}", "|}", ">>", ")>>"})


def refuse_deep(text: str) -> None:
    """Raise `Problem` 400 for a text that is nested so deeply that a parser might not survive it.

    >>> refuse_deep("ASK " + "{" * 300)
    Traceback (most recent call last):
    ...
    rdflive.server.failures.Problem: brackets are nested more than 200 deep at line 1, column 205
    """
    # most texts have not so many in all, and need no tokens for that
    if sum(map(text.count, "([{<")) <= _DEEPEST:
        return
    depth = 0
    for token in tokenize(text):
        if token.kind == "mark":
            depth += (token.text in _OPENING) - (token.text in _CLOSING)
        if depth > _DEEPEST:
            raise Problem(
                400,
                f"brackets are nested more than {_DEEPEST} deep at line {token.line}, column {token.column}",
                line=token.line,
                column=token.column,
            )


def refuse_remote(text: str, *, is_update: bool = False) -> None:
    r"""Raise `Problem` 403 for a text that would ask another host, 400 for one nested too deeply.

    >>> refuse_remote('SELECT ?s { ?s :service "SERVICE <http://e/> {}" } # LOAD')
    >>> refuse_remote("ASK { \\u0053ervice ?s { } }")
    Traceback (most recent call last):
    ...
    rdflive.server.failures.Problem: SERVICE (line 1, column 7) would ask another host: not allowed
    """
    refuse_deep(text)
    for variant, starts in _variants(text):
        spelled = variant.upper()  # like rdflib's parser, for which ſ is an S too
        if "SERVICE" in spelled or "LOAD" in spelled:
            found = _clause(variant, is_update=is_update)
            if found is not None:
                keyword, offset = found
                raise _refused(text, keyword, _original(starts, offset))


def _variants(text: str) -> Iterator[tuple[str, list[tuple[int, int]]]]:
    """Give the text as parsers may read it, with the positions of escapes that were replaced.

    Escapes of codepoints may be replaced first (SPARQL 1.1, 19.2) or stay, and a comment may end at a
    carriage return or go on.
    """
    texts = [(text, [(0, 0)])]
    if _ESCAPE.search(text):
        texts.append(_unescaped(text))
    for variant, starts in texts:
        yield variant.replace("\r", "\n"), starts
        if _LONE_RETURN.search(variant):
            yield _LONE_RETURN.sub(" ", variant), starts


def _unescaped(text: str) -> tuple[str, list[tuple[int, int]]]:
    """Replace escapes; give also where pieces of the result begin there and in the text."""
    pieces, starts, length, at = [], [(0, 0)], 0, 0
    for match in _ESCAPE.finditer(text):
        number = int(match[1] or match[2], 16)
        pieces += [text[at : match.start()], chr(number) if number < 0x110000 else " "]
        length += match.start() - at + 1
        at = match.end()
        starts += [(length - 1, match.start()), (length, at)]
    return "".join([*pieces, text[at:]]), starts


def _original(starts: list[tuple[int, int]], offset: int) -> int:
    there, here = starts[bisect_right(starts, offset, key=itemgetter(0)) - 1]
    return here + offset - there


def _clause(text: str, *, is_update: bool) -> tuple[Keyword, int] | None:
    """Find the first clause in any reading of the text.

    A reading is the tokens from some offset on. At `<` it continues both as an IRI and, inside expressions,
    as a comparison. Readings that reach the same offset in the same state are continued as one.
    """
    waiting = [(0, _State())]
    seen: set[tuple[int, _State]] = set()
    bound = _READINGS * len(text) + 1000
    while waiting:
        offset, state = waiting.pop()
        for token in tokenize(text, offset):
            if (token.offset, state) in seen:
                break
            seen.add((token.offset, state))
            # a text with so many readings is refused as well
            if (state.stage is _Stage.PLACE and token.text == "{") or len(seen) > bound:
                return "SERVICE", state.begin
            # updates have expressions in groups only, and LOAD outside of groups only
            is_outside = is_update and state.depth <= 0
            if token.text[0] == "<" and len(token.text) > 1 and not is_outside:
                waiting.append((token.offset + 1, _State(state.depth)))
            if is_outside and not state.names and token.text[:4].upper() == "LOAD":
                return "LOAD", token.offset
            state = state.after(token)
    return None


class _Stage(Enum):
    """How much of a SERVICE clause the tokens so far may be."""

    NOTHING = 0
    KEYWORD = 1
    PLACE = 2


class _State(NamedTuple):
    """What the tokens so far mean for what follows."""

    depth: int = 0
    """How many groups are open."""
    names: bool = False
    """True if a name must follow, so that no clause can begin."""
    stage: _Stage = _Stage.NOTHING
    begin: int = 0
    """Where the keyword is."""
    end: int = 0
    """Where the name of the place ends, as far as the tokens tell."""

    def after(self, token: Token) -> _State:
        """Give the state behind a token."""
        depth = self.depth + (token.text == "{") - (token.text == "}")
        end = token.offset + len(token.text)
        found = None
        if token.kind in ("word", "prefixed") and not self.names:
            found = _SERVICE.search(token.text.partition(":")[0])
        if found:
            stage = _Stage.PLACE if token.kind == "prefixed" else _Stage.KEYWORD
            return _State(depth, stage=stage, begin=token.offset + found.start(), end=end)
        if self.stage is _Stage.KEYWORD and token.text.upper() == "SILENT":
            return self
        if self.stage is _Stage.KEYWORD and (token.kind in _PLACES or token.text in "?$<"):
            return self._replace(stage=_Stage.PLACE, end=end)
        if self.stage is _Stage.PLACE and token.offset == self.end and token.text != "}":
            return self._replace(end=end)  # SPARQL's names may have letters that the tokenizer does not know
        return _State(depth, token.kind == "word" and token.text.upper() in _NAMING)


def _refused(text: str, keyword: Keyword, offset: int) -> Problem:
    line = text.count("\n", 0, offset) + 1
    column = offset - text.rfind("\n", 0, offset)
    return Problem(
        403,
        f"{keyword} (line {line}, column {column}) would ask another host: not allowed",
        line=line,
        column=column,
    )
