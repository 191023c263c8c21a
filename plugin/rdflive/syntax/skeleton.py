"""Skeletons of query texts: the tokens without constants, so texts that differ only in constants share one.

For example, the skeleton of `?t :line <http://e/S1>` has a hole in the place of each IRI; the constants are
the IRIs of `:line` and `<http://e/S1>`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from rdflib.namespace import RDF
from rdflib.term import Literal, Node, URIRef

from rdflive.syntax import terms
from rdflive.syntax.prefixes import usual_prefixes
from rdflive.syntax.terms import Names, TokenError
from rdflive.syntax.tokens import TOKEN

__all__ = ["Skeleton", "skeleton_of"]

_HOLES: Final = {"iri": "\0<", "prefixed": "\0<", "string": "\0'", "number": "\0#", "signed": "\0-"}
"""The holes of IRIs, strings and numbers; a plan may depend on the kind of a constant."""
_WRITTEN: Final = frozenset({"BASE", "LIMIT", "OFFSET", "PREFIX", "VERSION"})
"""Keywords before a token that is not a term of the query."""
_UNCHANGED: Final = frozenset({RDF.type, RDF.first, RDF.rest, RDF.nil, Literal(True), Literal(False)})
"""Terms that a text may also have through other tokens: `a`, lists and booleans."""


@dataclass(frozen=True, slots=True)
class Skeleton:
    """The tokens of a text without its constants, and the constants."""

    tokens: tuple[str, ...]
    """The tokens, with a hole for each constant."""
    constants: tuple[Node, ...]
    """The term for each hole, in the order of the text."""

    def may_change(self, term: Node) -> bool:
        """True if another constant in the holes of `term` changes nothing else in the text."""
        return term not in _UNCHANGED


def skeleton_of(text: str, namespaces: Mapping[str, Any]) -> Skeleton:
    r"""Return the skeleton of a text; `namespaces` defines the prefixes that it does not declare.

    Invalid SPARQL has a skeleton too.

    >>> found = skeleton_of("ASK { ?s a <http://e/C> } # any", {})
    >>> found.tokens
    ('ASK', '{', '?s', 'a', '\x00<', '}')
    >>> found.constants
    (rdflib.term.URIRef('http://e/C'),)
    """
    names = Names({**usual_prefixes(), **namespaces})
    skeleton: list[str] = []
    constants: list[Any] = []
    before = last = of_last = ""
    for match in TOKEN.finditer(text):
        kind = str(match.lastgroup)
        if kind == "end":
            break
        token = match[kind]
        try:
            term = _constant(kind, token, before, last, names)
            if kind == "language" and of_last == "string" and last != "^^":
                constants[-1] = terms.literal(constants[-1], token[1:], None)
            elif last == "^^" and of_last == "string" and isinstance(term, URIRef):
                skeleton.pop()
                constants[-1] = terms.literal(constants[-1], None, term)
            elif term is not None:
                constants.append(term)
                skeleton.append(_HOLES[kind])
            else:
                skeleton.append(token)
        except TokenError:  # the reader refuses the text, with the reason
            skeleton.append(token)
        before, last = last, token
        # a language tag, or ^^ and a datatype, may follow a string
        is_string = kind == "string" and skeleton[-1] == _HOLES[kind]
        of_last = "string" if is_string or (of_last and token == "^^") else ""  # noqa: S105 - of a text
    return Skeleton(tuple(skeleton), tuple(constants))


def _constant(kind: str, token: str, before: str, last: str, names: Names) -> Any:
    """Return the term of a token; None if it is no term of the query. Raises `TokenError`."""
    if kind == "iri" and before.upper() == "PREFIX":
        names.prefixes[last[:-1]] = names.iri(token)
    elif kind == "iri" and last.upper() == "BASE":
        names.base = names.iri(token)
    elif (
        kind in _HOLES
        and last.upper() not in _WRITTEN
        and not (last == "=" and before.upper() == "SEPARATOR")
    ):
        if kind == "iri":
            return names.iri(token)
        if kind == "prefixed":
            return names.prefixed(token)
        return terms.string(token) if kind == "string" else terms.number(token)
    return None
