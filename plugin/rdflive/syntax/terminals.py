"""The terminals of a query's text, with its constants apart: texts that differ in these alone are seen to.

Only a constant that can be nothing else is taken apart. Say a text is `?t :line <http://e/S1>`. Its skeleton
has a hole in the place of each name, and the constants are what `:line` and `<http://e/S1>` stand for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from rdflib.namespace import RDF, XSD
from rdflib.term import Literal, Node, URIRef

from rdflive.syntax.tokens import terminals_of

__all__ = ["Terminals", "read_terminals"]

_ABSOLUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
# `?a<b:c,d>?e` has no IRI: between two comparisons there is one of these, and no name with // behind a colon
_UNLIKE: Final = re.compile(r"[^:]*:(?://.*|[^,;()&]*)", re.DOTALL)
_PREFIXED: Final = re.compile(r"((?:[A-Za-z](?:[\w.\-]*[\w\-])?)?):(\w(?:[\w.:\-]*[\w:\-])?)", re.ASCII)
_NUMBERS: Final = (
    (re.compile(r"[0-9]+"), XSD.integer),
    (re.compile(r"[0-9]*\.[0-9]+"), XSD.decimal),
    (re.compile(r"(?:[0-9]+\.[0-9]*|\.?[0-9]+)[eE][+-]?[0-9]+"), XSD.double),
)
_QUOTED: Final = re.compile(r"(\"\"\"|'''|\"|')([^\\\x00-\x1f]*)\1")
_SPACE: Final = re.compile(r"[ \t\r\n]+|#[^>\"']*")
"""What is space in any case, comments too."""
_CUT: Final = re.compile(r"#[^\r\n]*\r(?!\n)")
"""Perhaps a comment that ends at CR alone, where rdflib's goes on."""
_COUNTS: Final = frozenset({"LIMIT", "OFFSET"})
_UNCHANGED: Final = frozenset({RDF.type, RDF.first, RDF.rest, RDF.nil, Literal(True), Literal(False)})
"""What a text may also have by other marks: `a`, lists and truth values."""


@dataclass(frozen=True, slots=True)
class Terminals:
    """A text without its constants, and these."""

    skeleton: tuple[str, ...]
    """The terminals, with blanks where some are; a hole stands for a constant."""
    constants: tuple[Node, ...]
    """The term for each hole, in the order of the text."""
    prefixes: tuple[tuple[str, str], ...]
    """The namespaces of the prefixes that are used and not declared."""
    is_certain: bool
    """Whether no other terminal may stand for a constant."""

    def may_change(self, term: Node) -> bool:
        """Tell whether a text with another constant in the holes of this one differs in nothing else."""
        return self.is_certain and term not in _UNCHANGED


def read_terminals(text: str, namespaces: Mapping[str, object]) -> Terminals:
    r"""Take the constants out of a text, of which prefixes stand for `namespaces` where it declares none.

    >>> found = read_terminals("ASK { ?s a <http://e/C> } # any", {})
    >>> found.skeleton
    ('ASK', ' ', '{', ' ', '?s', ' ', 'a', ' ', '\x00<', ' ', '}', ' ')
    >>> found.constants
    (rdflib.term.URIRef('http://e/C'),)
    """
    listed = list(terminals_of(text))
    declared = dict(_declared(listed))
    known = {**namespaces, **declared}
    constants: list[Node] = []
    skeleton: list[str] = []
    used: set[str] = set()
    # rdflib expands \u escapes before it looks at terminals
    certain = r"\u" not in text and r"\U" not in text
    is_plain = certain and not _CUT.search(text)
    last = before = ""
    for at, (kind, found) in enumerate(listed):
        if kind == "space":
            # to rdflib it may be no space, and a comment may be the end of a string
            if not is_plain or not _SPACE.fullmatch(found):
                skeleton.append(found)
            elif skeleton[-1:] != [" "]:  # a comment may stand between blanks
                skeleton.append(" ")
            continue
        hole, term = found, None
        if kind == "prefixed":
            prefix = found.partition(":")[0]
            used.add(prefix)
            hole = f"\0{prefix}:"
        elif kind in ("iri", "string", "number"):
            hole = {"iri": "\0<", "string": "\0'", "number": "\0'"}[kind]
        if hole is not found and not _is_no_term(last, before, kind):
            term = _term(kind, found, known, listed[at + 1 : at + 4])
            if term is None or (kind == "number" and last in ("+", "-")):
                certain, term = False, None
        if term is None:
            skeleton.append(found)
        else:
            skeleton.append(hole)
            constants.append(term)
        before, last = last, found.upper() if kind == "word" else found
    prefixes = tuple((prefix, str(namespaces.get(prefix))) for prefix in sorted(used - declared.keys()))
    return Terminals(tuple(skeleton), tuple(constants), prefixes, certain)


def _is_no_term(last: str, before: str, kind: str) -> bool:
    """Tell whether what stands here is part of something else."""
    return (
        last in ("^^", "BASE")
        or before == "PREFIX"
        or (kind == "prefixed" and last == "PREFIX")
        or (kind == "number" and last in _COUNTS)
        or (kind == "string" and last == "=" and before == "SEPARATOR")
    )


def _declared(listed: list[tuple[str, str]]) -> Iterator[tuple[str, object]]:
    """Give the namespaces of the prefixes that a text declares; none for a prefix that is not plain."""
    words = [each for each in listed if each[0] != "space"]
    seen: set[str] = set()
    for (_, word), (kind, name), (_, iri) in zip(words, words[1:], words[2:], strict=False):
        if word.upper() == "PREFIX" and kind == "prefixed":
            prefix, inner = name.removesuffix(":"), iri[1:-1]
            yield prefix, None if prefix in seen or not _ABSOLUTE.match(inner) else inner
            seen.add(prefix)


def _term(kind: str, found: str, known: Mapping[str, object], after: list[tuple[str, str]]) -> Node | None:
    """Give what a terminal stands for; None where it may be something else."""
    if kind == "iri":
        inner = found[1:-1]
        return URIRef(inner) if _ABSOLUTE.match(inner) and _UNLIKE.fullmatch(inner) else None
    if kind == "prefixed":
        name = _PREFIXED.fullmatch(found)
        namespace = None if name is None else known.get(name[1])
        return None if name is None or namespace is None else URIRef(f"{namespace}{name[2]}")
    if kind == "number":
        return next((Literal(found, datatype=of) for form, of in _NUMBERS if form.fullmatch(found)), None)
    quoted = _QUOTED.fullmatch(found)
    if quoted is None:
        return None
    tag, *rest = after or [("", "")]
    if tag[0] == "language":
        try:
            return Literal(quoted[2], lang=tag[1][1:])
        except ValueError:  # rdflib's parser takes what is no tag
            return None
    if tag[1] != "^^":
        # what follows behind blanks may still belong to it
        follows = next((each for each in after if each[0] != "space"), tag)
        return Literal(quoted[2]) if follows[0] != "language" and follows[1] != "^^" else None
    datatype = _term(*rest[0], known, []) if rest and rest[0][0] in ("iri", "prefixed") else None
    # of a literal, not of a text: as in rdflib's parser "01" of xsd:integer stays what it is
    return Literal(Literal(quoted[2]), datatype=datatype) if isinstance(datatype, URIRef) else None
