"""The tokens of a query's text, with its constants apart: texts that differ in these alone have one skeleton.

Say a text is `?t :line <http://e/S1>`. Its skeleton has a hole in the place of each name, and the constants
are
what `:line` and `<http://e/S1>` stand for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from rdflib.namespace import RDF
from rdflib.term import Literal, Node, URIRef

from rdflive.syntax import terms
from rdflive.syntax.iris import is_absolute
from rdflive.syntax.terms import Names, TokenError
from rdflive.syntax.tokens import TOKEN

__all__ = ["Terminals", "read_terminals"]

_NAME: Final = "\0<"
_VALUE: Final = "\0'"
"""The holes of IRIs and of literals: a plan may rely on which of the two a constant is."""
_CONSTANTS: Final = frozenset({"iri", "prefixed", "string", "number", "signed"})
_WRITTEN: Final = frozenset({"BASE", "LIMIT", "OFFSET", "PREFIX", "VERSION"})
"""What follows these words is no term of the query."""
_UNCHANGED: Final = frozenset({RDF.type, RDF.first, RDF.rest, RDF.nil, Literal(True), Literal(False)})
"""What a text may also have by other tokens: `a`, lists and truth values."""


@dataclass(frozen=True, slots=True)
class Terminals:
    """A text without its constants, and these."""

    skeleton: tuple[str, ...]
    """The tokens; a hole stands for a constant."""
    constants: tuple[Node, ...]
    """The term for each hole, in the order of the text."""

    def may_change(self, term: Node) -> bool:
        """Tell whether a text with another constant in the holes of this one differs in nothing else."""
        return term not in _UNCHANGED


def read_terminals(text: str, namespaces: Mapping[str, Any]) -> Terminals:
    r"""Take the constants out of a text, of which prefixes stand for `namespaces` where it declares none.

    What is no SPARQL has terminals too.

    >>> found = read_terminals("ASK { ?s a <http://e/C> } # any", {})
    >>> found.skeleton
    ('ASK', '{', '?s', 'a', '\x00<', '}')
    >>> found.constants
    (rdflib.term.URIRef('http://e/C'),)
    """
    names = Names(namespaces)
    skeleton: list[str] = []
    constants: list[Any] = []
    before = last = ""
    for match in TOKEN.finditer(text):
        kind = str(match.lastgroup)
        if kind == "end":
            break
        token = match[kind]
        word = last.upper()
        term = None
        if before.upper() == "PREFIX" and kind == "iri":
            # a relative one depends on BASE
            names.prefixes[last[:-1]] = (
                token[1:-1] if is_absolute(token[1:-1]) and "\\" not in token else None
            )
        elif (
            kind in _CONSTANTS
            and word not in _WRITTEN
            and not (last == "=" and before.upper() == "SEPARATOR")
        ):
            term = _term(kind, token, names)
        if term is None:
            skeleton.append(token)
        elif last == "^^" and skeleton[-2:] == [_VALUE, "^^"]:
            constants[-1] = terms.literal(constants[-1], None, term)
            skeleton.pop()
        else:
            constants.append(term)
            skeleton.append(_NAME if isinstance(term, URIRef) else _VALUE)
        if kind == "language" and skeleton[-2:-1] == [_VALUE]:
            try:
                constants[-1] = terms.literal(constants[-1], token[1:], None)
            except TokenError:
                pass
            else:
                skeleton.pop()
        before, last = last, token
    return Terminals(tuple(skeleton), tuple(constants))


def _term(kind: str | None, token: str, names: Names) -> Any:
    """Give the term that a token stands for; None where the rest of the text has a say in that."""
    try:
        if kind == "iri":
            iri = names.iri(token)
            return iri if is_absolute(iri) else None
        if kind == "prefixed":
            return names.prefixed(token)
        return terms.string(token) if kind == "string" else terms.number(token)
    except TokenError:
        return None
