"""The term libraries that events may use: rdflib's, and pyoxigraph's if it is installed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, Final, NoReturn

from rdflib import XSD, BNode, Literal, URIRef

from rdflive.model import DirectionalString, TripleTerm
from rdflive.plugins import manager
from rdflive.store import value_of
from rdflive.values import Value, typed_value

__all__ = ["PLAIN", "RDFLIB", "Library", "LibraryTerms", "library_of", "plain", "pyoxigraph"]

_MEMORY: Final = 4096
"""Size of the cache of converted pyoxigraph terms."""


# compared by identity: matchers use a library as the key of compiled code
@dataclass(frozen=True, slots=True, eq=False)
class Library:
    """The terms of one library, and functions to read, compare and convert them."""

    name: str
    predicates: frozenset[type]
    subjects: frozenset[type]
    terms: frozenset[type]
    triples: tuple[type, ...]
    """The types of a triple: tuple, or classes with `subject`, `predicate` and `object`."""
    to_native: Callable[[Any], Any]
    """Converts an rdflib term of the query to a term of the library, in the library's spelling."""
    to_rdflib: Callable[[Any], Any] | None
    """Converts a term of the library to rdflib's; None if they are the same."""
    value: Callable[[Any], Any]
    """Like `to_rdflib`, for expressions, which support terms that rdflib does not have."""

    @property
    def has_parts(self) -> bool:
        """True if the parts of a triple are attributes."""
        return tuple not in self.triples

    def check(self, triple: Any) -> None:
        """Raise `ValueError` unless this is a triple of the library's terms; subclasses are accepted."""
        if self.has_parts:
            if not isinstance(triple, self.triples):
                _refuse(f"{triple!r} is not a {self.name} triple like the triples before it")
            return
        try:
            subject, predicate, object_ = triple
        except (TypeError, ValueError):
            _refuse(f"{triple!r} is not a triple; give three terms of {self.name}")
        for term, role, types in (
            (subject, "subject", self.subjects),
            (predicate, "predicate", self.predicates),
            (object_, "object", self.terms),
        ):
            if not isinstance(term, tuple(types)):
                wanted = " or ".join(sorted(kind.__name__ for kind in types))
                _refuse(f"the {role} of a triple is {term!r}; give a {wanted} of {self.name}")


def _refuse(reason: str) -> NoReturn:
    raise ValueError(reason)


class LibraryTerms:
    """Terms for expressions whose rows hold terms, not ids (see `rdflive.query.expressions`)."""

    __slots__ = ("intern", "value")
    meter = None  # no budget

    def __init__(self, library: Library) -> None:
        self.value = library.value
        self.intern = library.to_native

    def content(self, term: Any) -> Value | None:
        """Return the value of a literal with a datatype."""
        return typed_value(self.value(term))

    def constant(self, term: Any) -> Any:
        """Return a constant unchanged: only a store would change its spelling."""
        return term


def _same(term: Any) -> Any:
    return term


RDFLIB: Final = Library(
    "rdflib",
    frozenset({URIRef}),
    frozenset({URIRef, BNode}),
    frozenset({URIRef, BNode, Literal}),
    (tuple,),
    _same,
    None,
    _same,
)
"""rdflib's terms."""


def plain(term: Any) -> Any:
    """Return an rdflib term as pyoxigraph writes it: strings without datatype, language tags in lower case.

    >>> plain(Literal("x", datatype=XSD.string)), plain(Literal("x", lang="EN"))
    (rdflib.term.Literal('x'), rdflib.term.Literal('x', lang='en'))
    """
    if type(term) is not Literal:
        return term
    # Oxigraph keeps tags in lower case; rdflib keeps the case, but ignores it in comparisons.
    if term.language is not None:
        return Literal(str(term), lang=term.language.lower())
    return Literal(str(term)) if term.datatype == XSD.string else term


PLAIN: Final = replace(RDFLIB, to_native=plain)
"""rdflib's terms as `plain` writes them, used for files, so that both libraries give the same matches."""


def library_of(triple: Any) -> Library:
    """Return the library, and the form, that a triple is written in.

    >>> library_of((BNode(), URIRef("http://e/p"), Literal(1))).name
    'rdflib'
    """
    if isinstance(triple, tuple):
        # by the name of its module, because pyoxigraph may not be installed
        is_rdflib = not triple or type(triple[0]).__module__ != "pyoxigraph"
        return RDFLIB if is_rdflib else pyoxigraph(parts=False)
    return pyoxigraph(parts=True) if type(triple).__module__ == "pyoxigraph" else RDFLIB


@cache
def pyoxigraph(*, parts: bool) -> Library:
    """Return the library of pyoxigraph's terms, as its own triples or as tuples; pyoxigraph must be
    installed.
    """
    from pyoxigraph import BaseDirection, BlankNode, NamedNode, Quad, Store, Triple
    from pyoxigraph import Literal as OxigraphLiteral

    # an empty store, to get its adapter
    live = manager.plugin_manager().hook.rdflive_wrap(store=Store())
    with manager.locked(live) as adapter:  # converts its terms to rdflib's
        to_rdflib = adapter.to_rdflib() or _same
        value = lru_cache(_MEMORY)(value_of(adapter) or _same)

    def to_native(term: Any) -> Any:
        """Convert a term with its spelling unchanged, which a store would change: events are in no store."""
        if isinstance(term, URIRef):
            return NamedNode(term)
        if isinstance(term, BNode):
            return BlankNode(term)
        if isinstance(term, TripleTerm):
            return Triple(*map(to_native, term.parts))
        if isinstance(term, DirectionalString):
            return OxigraphLiteral(term, language=term.language, direction=BaseDirection(term.direction))
        return OxigraphLiteral(
            term, datatype=term.datatype and NamedNode(term.datatype), language=term.language
        )

    resources = frozenset({NamedNode, BlankNode})
    return Library(
        "pyoxigraph",
        frozenset({NamedNode}),
        resources,
        resources | {OxigraphLiteral, Triple},
        (Triple, Quad) if parts else (tuple,),
        to_native,
        to_rdflib,
        value,
    )
