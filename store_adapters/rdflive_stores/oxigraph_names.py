"""Finds the graphs that a SPARQL text names. It scans tokens and is no parser."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final

from pyoxigraph import NamedNode, RdfFormat, parse

from rdflive.syntax.tokens import Token, tokenize

__all__ = ["Names", "is_doubtful", "may_compare", "named_graphs"]

_ABSOLUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_CERTAIN_IRI: Final = re.compile(r"<[A-Za-z][A-Za-z0-9+.-]*://")
_OPERANDS: Final = frozenset({"variable", "string", "number", "blank", "iri", "prefixed", "language", "word"})
_UNFINISHED: Final = frozenset({'"', "'", "\\"})
_CODE_POINT: Final = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")
_ESCAPED: Final = re.compile(r"\\(.)")
_NOTHING: Final = Token("start", "", 0, 0, 0)
_BEFORE_NAMES: Final = frozenset({
    "GRAPH", "FROM", "NAMED", "USING", "WITH", "INTO", "TO", "COPY", "MOVE", "ADD", "CLEAR", "DROP", "CREATE",
    "SILENT",
})  # fmt: skip


class Names:
    """The prefixes and the base of a SPARQL text, and the IRIs that its tokens stand for."""

    def __init__(self, base_iri: str | None = None, prefixes: Mapping[str, str] | None = None) -> None:
        self._base = base_iri
        self._prefixes: dict[str, str | None] = {**(prefixes or {})}

    def read_prologue(self, tokens: Iterator[Token]) -> None:
        """Take all declarations of a prologue."""
        for token in tokens:
            if token.text.upper() == "BASE":
                self.set_base(next(tokens))
            elif token.text.upper() == "PREFIX":
                self.set_prefix(next(tokens), next(tokens))

    def set_base(self, iri: Token) -> None:
        """Take the IRI behind BASE."""
        self._base = self._resolved(iri.text)

    def set_prefix(self, prefix: Token, iri: Token) -> None:
        """Take the two tokens behind PREFIX."""
        self._prefixes[prefix.text.removesuffix(":")] = self._resolved(iri.text)

    def iri(self, token: Token) -> NamedNode | None:
        """Give the IRI of a token; None where it is unknown or not valid as it stands."""
        if token.kind == "iri":
            iri = self._resolved(token.text)
        else:
            prefix, _, local = token.text.partition(":")
            namespace = self._prefixes.get(prefix)
            iri = None if namespace is None else namespace + _ESCAPED.sub(r"\1", local)
        try:
            return None if iri is None else NamedNode(iri)
        except ValueError:  # it has an escape, for example
            return None

    def _resolved(self, text: str) -> str | None:
        """Resolve an IRI in angle brackets as Oxigraph does; None where that is unclear."""
        iri = text[1:-1]
        if _ABSOLUTE.match(iri):
            return iri
        if self._base is None:
            return None
        try:
            # there is no function for this, so a document of one triple has the IRI resolved
            turtle = parse(f"<{iri}> a <{iri}> .", RdfFormat.TURTLE, base_iri=self._base)
            subject = next(turtle).subject
        except (SyntaxError, ValueError):
            return None
        return subject.value if isinstance(subject, NamedNode) else None


def named_graphs(
    text: str, *, base_iri: str | None = None, prefixes: Mapping[str, str] | None = None
) -> Iterator[tuple[str, NamedNode | None]]:
    """List the names of graphs in a query or update, each with the keyword before it.

    None is a variable, several graphs (ALL, NAMED), or a name that is not clear; the keyword is empty
    where the scanner is not sure of its tokens.

    >>> list(named_graphs("CLEAR GRAPH <urn:a> ; DROP ALL"))
    [('GRAPH', <NamedNode value=urn:a>), ('DROP', None)]
    """
    names = Names(base_iri, prefixes)
    # `\u0047RAPH` is GRAPH: SPARQL replaces these escapes before it looks for tokens (19.2)
    tokens = list(tokenize(_CODE_POINT.sub(_character, text)))
    if is_doubtful(tokens):
        yield "", None
    for before, previous, token in zip(
        [_NOTHING, _NOTHING, *tokens], [_NOTHING, *tokens], tokens, strict=False
    ):
        word = previous.text.upper() if previous.kind == "word" else ""
        if token.kind in ("iri", "prefixed"):
            if word == "BASE":
                names.set_base(token)
            elif before.text.upper() == "PREFIX":
                names.set_prefix(previous, token)
            elif word in _BEFORE_NAMES:
                yield word, names.iri(token)
        elif (token.kind == "variable" and word in _BEFORE_NAMES) or _is_several(word, token):
            yield word, None


def is_doubtful(tokens: list[Token]) -> bool:
    """True if the tokens may not be what they seem: an unfinished string, or an IRI that is two
    comparisons.
    """
    return any(
        (token.kind == "mark" and token.text in _UNFINISHED)
        or (token.kind == "iri" and may_compare(previous, token))
        for previous, token in pairwise([_NOTHING, *tokens])
    )


def _is_several(word: str, token: Token) -> bool:
    """True where CLEAR or another operation on whole graphs is about several."""
    return word in ("CLEAR", "DROP", "SILENT") and token.text.upper() in ("ALL", "NAMED")


def _character(escape: re.Match[str]) -> str:
    number = int(escape[1] or escape[2], 16)
    return chr(number) if number < 0x110000 else ""


def may_compare(previous: Token, iri: Token) -> bool:
    """True where `<…>` may be two comparisons, with a string or a comment between, as in `?a<?b# >`."""
    return (
        (previous.kind in _OPERANDS or previous.text == ")")
        and not _CERTAIN_IRI.match(iri.text)
        and ("#" in iri.text or "'" in iri.text)
    )
