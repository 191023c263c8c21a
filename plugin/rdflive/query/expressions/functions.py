"""SPARQL's functions for which rdflib's deviate from the recommendation.

Arguments are terms. A function returns None or raises for an error of SPARQL; those of `PREDICATES` return a
truth value.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final

from rdflib.namespace import RDF, XSD
from rdflib.term import BNode, Literal, Node, URIRef

from rdflive.model import DirectionalString, TripleTerm, is_triple
from rdflive.query.recent import recent
from rdflive.regex import matches, replaced
from rdflive.values import number, tag_of, text, typed
from rdflive.values.arithmetic import NUMBER_FUNCTIONS, minus, plus
from rdflive.values.numbers import round_half_up as rounded
from rdflive.values.parts import MOMENT_FUNCTIONS

__all__ = ["FUNCTIONS", "PREDICATES", "like", "string_literal"]


def string_literal(term: Node) -> Literal | None:
    """Return a string literal (simple, xsd:string or with a language), or None for other terms."""
    if isinstance(term, Literal) and (term.datatype is None or term.datatype == XSD.string):
        return term
    return None


def like(characters: str, model: Literal) -> Literal:
    """Make a string literal of the kind of another."""
    if isinstance(model, DirectionalString):
        return DirectionalString(characters, str(model.language), model.direction)
    return Literal(characters, lang=model.language, datatype=model.datatype)


def _compatible(one: Node, other: Node) -> tuple[Literal, Literal] | None:
    """Return two compatible arguments (Section 17.4.3.1.2), or None: the second must have no other language.

    A base direction belongs to the language, as in SPARQL 1.2.
    """
    left, right = string_literal(one), string_literal(other)
    if left is None or right is None or (right.language and tag_of(left) != tag_of(right)):
        return None
    return left, right


def _test(test: Callable[[str, str], bool]) -> Callable[[Node, Node], bool | None]:
    def predicate(one: Node, other: Node) -> bool | None:
        pair = _compatible(one, other)
        return None if pair is None else test(str(pair[0]), str(pair[1]))

    return predicate


def regex(subject: Node, pattern: Node, flags: Node | None = None) -> bool | None:
    """Return True if a pattern matches anywhere (REGEX)."""
    string, expression = string_literal(subject), text(pattern)
    options = "" if flags is None else text(flags)
    if string is None or expression is None or options is None:
        return None
    return matches(string, expression, options)


def replace(subject: Node, pattern: Node, replacement: Node, flags: Node | None = None) -> Node | None:
    """Replace every match; `$1` is a group, `\\$` and `\\\\` are `$` and `\\` (REPLACE).

    A pattern that matches the empty string, such as `b*`, is an error.
    """
    string, expression, new = string_literal(subject), text(pattern), text(replacement)
    options = "" if flags is None else text(flags)
    if string is None or expression is None or new is None or options is None:
        return None
    return like(replaced(string, expression, new, options), string)


def substr(source: Node, start: Node, length: Node | None = None) -> Node | None:
    """Return the characters at the rounded places from `start`, counted from 1 (SUBSTR)."""
    string, first = string_literal(source), number(start)
    size = None if length is None else number(length)
    if string is None or first is None or (length is not None and size is None):
        return None
    begin = int(rounded(first))
    end = len(string) + 1 if size is None else begin + int(rounded(size))
    # places before the first count too: SUBSTR("foobar", 0, 3) is "fo"
    return like(string[max(begin, 1) - 1 : max(end, 1) - 1], string)


def strbefore(one: Node, other: Node) -> Node | None:
    """Return the part before the first occurrence; a simple empty literal without one (STRBEFORE)."""
    pair = _compatible(one, other)
    if pair is None:
        return None
    string, sought = map(str, pair)
    # Python refuses to search for the empty string, which SPARQL finds at the start
    before, found, _ = string.partition(sought) if sought else ("", True, "")
    return like(before, pair[0]) if found else Literal("")


def strafter(one: Node, other: Node) -> Node | None:
    """Return the part after the first occurrence; a simple empty literal without one (STRAFTER)."""
    pair = _compatible(one, other)
    if pair is None:
        return None
    string, sought = map(str, pair)
    _, found, after = string.partition(sought) if sought else ("", True, string)
    return like(after, pair[0]) if found else Literal("")


def strdt(lexical: Node, datatype: Node) -> Node | None:
    """Add a datatype to a simple literal (STRDT)."""
    form = text(lexical)
    if form is None or not isinstance(datatype, URIRef):
        return None
    return typed(form, datatype)


def strlang(lexical: Node, tag: Node) -> Node | None:
    """Add a language to a simple literal (STRLANG)."""
    form, language = text(lexical), text(tag)
    return Literal(form, lang=language.lower()) if form is not None and language else None


def strlangdir(lexical: Node, tag: Node, direction: Node) -> Node | None:
    """Add a language and a base direction to a simple literal (STRLANGDIR)."""
    form, language, towards = text(lexical), text(tag), text(direction)
    if form is None or not language or towards not in ("ltr", "rtl"):
        return None
    return DirectionalString(form, language, towards)


def langdir(term: Node) -> Node | None:
    """Return the base direction of a literal, or the empty string if it has none (LANGDIR)."""
    if not isinstance(term, Literal):
        return None
    return Literal(term.direction if isinstance(term, DirectionalString) else "")


def triple(s: Node, p: Node, o: Node) -> Node | None:
    """Make a triple term (TRIPLE)."""
    return TripleTerm(s, p, o) if is_triple(s, p, o) else None


def _part(place: int) -> Callable[[Node], Node | None]:
    return lambda term: term.parts[place] if isinstance(term, TripleTerm) else None


def string(term: Node) -> Node | None:
    """Return the characters of a literal or an IRI (STR)."""
    return Literal(str(term)) if isinstance(term, Literal | URIRef) else None


def datatype(term: Node) -> Node | None:
    """Return the datatype of a literal (DATATYPE)."""
    if not isinstance(term, Literal):
        return None
    if term.language:
        return RDF.langString if not isinstance(term, DirectionalString) else _DIRECTIONAL
    return term.datatype or XSD.string


_DIRECTIONAL: Final = URIRef(f"{RDF}dirLangString")  # not in rdflib's namespace


def _in_case(change: Callable[[str], str]) -> Callable[[Node], Node | None]:
    def changed(term: Node) -> Node | None:
        characters = string_literal(term)
        return None if characters is None else like(change(str(characters)), characters)

    return changed


def _hash(name: str) -> Callable[[Node], Node | None]:
    def digest(term: Node) -> Node | None:
        characters = text(term)
        return None if characters is None else Literal(hashlib.new(name, characters.encode()).hexdigest())

    return digest


def concat(*parts: Node) -> Node | None:
    """Join strings; the result has their language, direction or datatype if all have the same (CONCAT)."""
    strings = [string for part in parts if (string := string_literal(part)) is not None]
    if len(strings) < len(parts):
        return None
    joined = "".join(strings)
    if len({(tag_of(string), string.datatype) for string in strings}) != 1:
        return Literal(joined)
    # tags that differ in case are the same language, which has one spelling
    model = strings[0]
    if model.language and not isinstance(model, DirectionalString):
        return Literal(joined, lang=model.language.lower())
    return like(joined, model)


def langmatches(tag: Node, range_: Node) -> bool | None:
    """Match a language by basic filtering (RFC 4647, Section 3.3.1), in any case (LANGMATCHES)."""
    language, wanted = text(tag), text(range_)
    if language is None or wanted is None:
        return None
    if wanted == "*":
        return language != ""
    # with the hyphen, so that the range "en" includes "en-GB" and not "eng"
    return wanted != "" and f"{language.lower()}-".startswith(f"{wanted.lower()}-")


FUNCTIONS: Final[dict[str, Callable[..., Node | None]]] = {
    # hundreds of filters may compute the same string of the term that was written
    "Builtin_STR": recent(string),
    "Builtin_DATATYPE": datatype,
    "Builtin_LCASE": recent(_in_case(str.lower)),
    "Builtin_UCASE": recent(_in_case(str.upper)),
    "Builtin_STRDT": strdt,
    "Builtin_STRLANG": strlang,
    "Builtin_STRLANGDIR": strlangdir,
    "Builtin_LANGDIR": langdir,
    "Builtin_TRIPLE": triple,
    "Builtin_SUBJECT": _part(0),
    "Builtin_PREDICATE": _part(1),
    "Builtin_OBJECT": _part(2),
    "Builtin_STRBEFORE": strbefore,
    "Builtin_STRAFTER": strafter,
    "Builtin_SUBSTR": substr,
    "Builtin_REPLACE": replace,
    "Builtin_CONCAT": concat,
    "UnaryPlus": plus,
    "UnaryMinus": minus,
    **NUMBER_FUNCTIONS,
    **MOMENT_FUNCTIONS,
    **{f"Builtin_{name.upper()}": _hash(name) for name in ("md5", "sha1", "sha256", "sha384", "sha512")},
}

PREDICATES: Final[dict[str, Callable[..., bool | None]]] = {
    "Builtin_isIRI": lambda term: isinstance(term, URIRef),
    "Builtin_isURI": lambda term: isinstance(term, URIRef),
    "Builtin_isBLANK": lambda term: isinstance(term, BNode),
    "Builtin_isLITERAL": lambda term: isinstance(term, Literal),
    "Builtin_isTRIPLE": lambda term: isinstance(term, TripleTerm),
    "Builtin_hasLANG": lambda term: isinstance(term, Literal) and bool(term.language),
    "Builtin_hasLANGDIR": lambda term: isinstance(term, DirectionalString),
    "Builtin_isNUMERIC": lambda term: number(term) is not None,
    # rdflib's `==` compares terms and not values: 1 and 1.0 differ
    "Builtin_sameTerm": lambda one, other: one == other,
    "Builtin_CONTAINS": _test(lambda one, other: other in one),
    "Builtin_STRSTARTS": _test(str.startswith),
    "Builtin_STRENDS": _test(str.endswith),
    "Builtin_REGEX": regex,
    "Builtin_LANGMATCHES": langmatches,
}
