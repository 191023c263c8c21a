"""SPARQL update requests as text: where one ends, and a spelling that every engine reads alike."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import Final

from rdflive.feeds.terms import RowError
from rdflive.syntax.tokens import Token, tokenize

__all__ = ["RequestScanner", "normalize", "write_string"]

_MODIFY: Final = frozenset({"INSERT", "DELETE", "WITH"})
_WHOLE_GRAPHS: Final = frozenset({"CLEAR", "DROP", "CREATE", "LOAD"})
_TRANSFERS: Final = frozenset({"ADD", "MOVE", "COPY"})
_PROLOGUE: Final = frozenset({"PREFIX", "BASE"})
_TARGETS: Final = frozenset({"iri", "prefixed", "DEFAULT", "NAMED", "ALL"})
_CLOSING: Final = {quote: re.compile(rf"(?:\\.|[^\\])*?{quote * 3}", re.DOTALL) for quote in "\"'"}
_COMMENT: Final = re.compile(r"#[^\n\r]*")
_ESCAPE: Final = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.?))", re.DOTALL)
_SHORT_ESCAPES: Final = {
    "t": "\t",
    "b": "\b",
    "n": "\n",
    "r": "\r",
    "f": "\f",
    '"': '"',
    "'": "'",
    "\\": "\\",
}
_WRITTEN: Final = re.compile(r'[\\"\n\r\t]|(?<=\\)[uU]')
_WRITTEN_AS: Final = {
    "\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "u": "\\U00000075", "U": "\\U00000055",
}  # fmt: skip
_CODEPOINT: Final = re.compile(r"\\[uU]")
_IRI: Final = re.compile(r"[^\x00-\x20<>\"{}|^`\\]*")
_SCHEME: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_END: Final = Token("end", "", 1, 1, 0)
_UNSTABLE: Final = {
    "LOAD": "fetches what may have changed: log the triples that it loaded, with INSERT DATA",
    "SERVICE": "asks what may have changed: log the changes that it led to, with INSERT DATA and DELETE DATA",
    **dict.fromkeys(
        ("NOW", "RAND", "UUID", "STRUUID"),
        "has another value each time: log the changes that it led to, with INSERT DATA and DELETE DATA",
    ),
}


class RequestScanner:
    """Follows a request token by token, as far as it takes to see where it may end."""

    __slots__ = ("_last", "_quote", "depth", "words")

    def __init__(self) -> None:
        self.depth = 0
        """How many braces are open."""
        self.words: list[str] = []
        """The keywords of the current operation outside of braces, in capitals."""
        self._last = ""
        self._quote = ""

    @property
    def may_end(self) -> bool:
        """True behind an operation that is complete, or that nothing could complete."""
        words = set(self.words)
        if self._quote or self.depth > 0 or self._last == ";":
            return False
        if not words & _MODIFY:
            if words & _TRANSFERS:
                return "TO" in words and self._last in _TARGETS
            if words & _WHOLE_GRAPHS:
                return self._last in _TARGETS
            # a prologue alone goes on; what is none of all these nothing could complete
            return not words or not words <= _PROLOGUE
        return self._last == "}" and not words.isdisjoint(("DATA", "WHERE"))

    def take_line(self, text: str) -> bool:
        """Take a line; false where there is nothing but space and comments in it."""
        begin = 0
        if self._quote:
            closing = _CLOSING[self._quote].match(text)
            if closing is None:
                return True
            begin, self._quote, self._last = closing.end(), "", "string"
        found = bool(begin)
        for token in tokenize(text[begin:]):
            found = True
            self.take(token)
            rest = begin + token.offset + 2
            # of a long string that goes on in the next line the tokenizer sees an empty one and a third quote
            if token.text in ('""', "''") and text.startswith(token.text[0], rest):
                self._quote = token.text[0]
                break
        return found

    def take(self, token: Token) -> None:
        """Take a token."""
        if token.text == "{":
            self.depth += 1
        elif token.text == "}":
            self.depth -= 1
            self._last = "}"
        elif self.depth <= 0:
            self._last = token.kind
            if token.kind == "word":
                self._last = token.text.upper()
                self.words.append(self._last)
            elif token.text == ";":
                self._last = ";"
                self.words.clear()


def normalize(text: str) -> str:
    r"""Check what the grammar does not, and write the request without comments and codepoint escapes.

    Engines do not agree on `\u` escapes (whether they count before or inside of strings), and some read a
    tab as spaces; afterwards nothing of the kind is left. Raises `RowError`, with the line in the request.

    >>> normalize("INSERT DATA { <urn:s> <urn:p> '\\u00e9' } # why")
    'INSERT DATA { <urn:s> <urn:p> "é" } '
    """
    tokens = list(tokenize(text))
    _check(tokens)
    parts: list[str] = []
    end = 0
    for token in tokens:
        parts.append(_COMMENT.sub("", text[end : token.offset]))
        try:
            parts.append(_rewrite(token))
        except RowError as error:
            raise RowError(str(error), token.line) from error
        end = token.offset + len(token.text)
    return "".join((*parts, _COMMENT.sub("", text[end:])))


def write_string(text: str) -> str:
    r"""Write a string that every engine reads alike.

    >>> write_string('a "b"\t\\u0041')
    '"a \\"b\\"\\t\\\\\\U000000750041"'
    """
    # rdflib expands \u before it looks at backslashes, so the u behind an escaped one is escaped too
    return '"' + _WRITTEN.sub(lambda match: _WRITTEN_AS[match.group()], text) + '"'


def _rewrite(token: Token) -> str:
    if token.kind == "string":
        width = 3 if token.text[:3] in ('"""', "'''") else 1
        return write_string(_unescape(token.text[width:-width]))
    if token.kind == "iri":
        iri = _unescape(token.text[1:-1])
        if _IRI.fullmatch(iri) is None:
            raise RowError(f"{token.text} is not a valid IRI")
        return f"<{iri}>"
    return token.text


def _unescape(text: str) -> str:
    return _ESCAPE.sub(_unescape_one, text) if "\\" in text else text


def _unescape_one(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2]
    if code is None:
        if escape[3] not in _SHORT_ESCAPES:
            raise RowError(f"the escape {escape[0]} is unknown")
        return _SHORT_ESCAPES[escape[3]]
    if int(code, 16) > 0x10FFFF or 0xD800 <= int(code, 16) <= 0xDFFF:
        raise RowError(f"the escape {escape[0]} is no character")
    return chr(int(code, 16))


def _check(tokens: list[Token]) -> None:
    has_base = any(token.text.upper() == "BASE" for token in tokens)
    for token, reason in chain(_check_groups(tokens), _check_tokens(tokens, has_base=has_base)):
        raise RowError(reason, token.line)


def _check_tokens(tokens: Iterable[Token], *, has_base: bool) -> Iterator[tuple[Token, str]]:
    for token in tokens:
        word = token.text.upper()
        if token.kind == "word" and word in _UNSTABLE:
            yield token, f"{word} cannot be replayed, because it {_UNSTABLE[word]}"
        elif token.text == "\\" or (token.kind == "prefixed" and _CODEPOINT.search(token.text)):
            yield token, "an escape stands outside of strings and IRIs, where engines do not agree on it"
        elif token.kind == "iri" and not has_base and not _SCHEME.match(token.text, 1):
            yield token, f"{token.text} is a relative IRI, and the request has no BASE"


def _check_groups(tokens: list[Token]) -> Iterator[tuple[Token, str]]:
    """Find variables in DATA, blank nodes in what is deleted, and an end where the request goes on."""
    scanner = RequestScanner()
    deletes = is_data = False
    for token, following in pairwise([*tokens, _END]):
        if token.text == "{" and not scanner.depth:
            is_data = scanner.words[-1:] == ["DATA"]
            deletes = scanner.words[-1:] == ["DELETE"] or scanner.words[-2:] in (
                ["DELETE", "DATA"],
                ["DELETE", "WHERE"],
            )
        scanner.take(token)
        if scanner.depth and is_data and token.kind == "variable":
            yield token, f"{token.text} stands in DATA, which holds no variables"
        if scanner.depth and deletes and _is_blank(token, following):
            yield token, "a blank node stands in what is deleted, where it names nothing; use RDF Patch"
    if not scanner.may_end:
        yield (tokens[-1] if tokens else _END), "the request is not complete, so it is not applied"


def _is_blank(token: Token, following: Token) -> bool:
    # () is rdf:nil, an IRI; a list with members is made of blank nodes
    return token.kind == "blank" or token.text == "[" or (token.text == "(" and following.text != ")")
