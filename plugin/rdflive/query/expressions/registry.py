"""Functions with an IRI: SPARQL's casts, GeoSPARQL's, and those that users register.

Registered functions are in rdflib's table, so that rdflib's own queries and updates know the same.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from rdflib.plugins.sparql import operators
from rdflib.plugins.sparql.sparql import SPARQLError
from rdflib.term import BNode, Literal, Node, URIRef

from rdflive.extras import install_command
from rdflive.model import TripleTerm
from rdflive.model.term_text import is_writable
from rdflive.query.expressions.errors import no_value
from rdflive.query.expressions.geosparql import GEOSPARQL, GeoSparql, is_computed
from rdflive.syntax.diagnosis import nearest
from rdflive.values.casts import CASTS

__all__ = [
    "Registered", "is_current", "register_function", "registered", "unknown", "users_functions", "version_of",
]  # fmt: skip

_LOCAL: Final = re.compile(r"[^/#:]*\Z")
_VERY_LIKE: Final = 0.8
"""Least similarity of a name in another namespace that is suggested."""


class Registered(NamedTuple):
    """An entry of rdflib's table: a raw function takes rdflib's expression and solution instead of terms."""

    function: Callable[..., Any]
    is_raw: bool

    @property
    def called(self) -> Callable[..., Any]:
        """The user's function, with its own signature."""
        return self.function.function if isinstance(self.function, _OfTerms) else self.function


_TERMS: Final = (URIRef, BNode, Literal, TripleTerm)
_table: Final[MutableMapping[URIRef, tuple[Callable[..., Any], bool]]] = operators._CUSTOM_FUNCTIONS
"""The table that rdflib's `register_custom_function` changes."""
_seen: Final[dict[URIRef, list[Registered]]] = defaultdict(list)
"""All functions that each IRI has had: a query keeps the function that it was planned with."""


@dataclass(frozen=True, slots=True)
class _OfTerms:
    """A function in the form that rdflib calls, which raises rdflib's exception for errors."""

    function: Callable[..., Node | None]

    def __call__(self, *terms: Node) -> Node:
        try:
            found = self.function(*terms)
        except Exception as error:
            no_value(error, None)
            raise SPARQLError(str(error)) from error
        if not isinstance(found, _TERMS) or (isinstance(found, URIRef) and not is_writable(found)):
            # None is no mistake: it is how a function says that it has no value
            mistake = None if found is None else TypeError(f"it returned {found!r}, which is not a term")
            raise SPARQLError(f"{self.function!r} returned {found!r}, which is not a term") from mistake
        return found


def register_function(iri: str, function: Callable[..., Node | None]) -> None:
    """Register a function under an IRI for all queries of this process, replacing an earlier one.

    `function` takes the arguments of the call as rdflib terms, whatever the store, and returns a term. None,
    an exception or a result that is no term is an error of SPARQL: a FILTER drops the row, and BIND leaves
    the variable unbound. The first exception of a call is logged; to have no value without a warning, the
    function returns None. It is not called if an argument is an error or unbound. It must return the
    same for the same terms: its result for an inserted triple is computed again when the triple is deleted.
    It is called while the store is locked, so it must not write to the graph, and may be called in any
    thread.

    A subscription keeps the function that was registered when it was opened. Queries and updates that rdflib
    evaluates use it too; Oxigraph has `custom_functions` instead.

    Raises ValueError for a text that is no absolute IRI, and TypeError for an object that cannot be called.

    >>> import rdflib, rdflive
    >>> rdflive.register_function("http://e/half", lambda n: rdflib.Literal(n.toPython() / 2))
    >>> graph = rdflib.Graph().parse(data="<http://e/a> <http://e/delay> 6.0 .", format="turtle")
    >>> query = "SELECT ?h { ?t <http://e/delay> ?m BIND(<http://e/half>(?m) AS ?h) }"
    >>> rdflive.subscribe(graph, query).answers()[0].h.toPython()
    Decimal('3.0')
    """
    if not isinstance(iri, str):
        raise TypeError(f"an IRI as a string is expected for a function, got {iri!r}")
    if not callable(function):
        raise TypeError(f"a function is expected for {iri}, got {function!r}")
    if ":" not in iri or not is_writable(iri):
        raise ValueError(f"an absolute IRI is expected for a function, got {iri!r}")
    _table[URIRef(iri)] = _OfTerms(function), False


def version_of(iri: URIRef) -> int | None:
    """Return the number of the function that is registered under an IRI now; None if there is none.

    The number distinguishes it from earlier functions under this IRI.
    """
    entry = _entry(iri)
    if entry is None:
        return None
    seen = _seen[iri]
    if entry not in seen:
        seen.append(entry)
    return seen.index(entry)


def registered(iri: URIRef, version: int | None) -> Registered | None:
    """Return a registered function by its number, or the present one without a number; None if there is
    none.
    """
    # a worker of Spark has no numbers, but knows GeoSPARQL's functions
    return _entry(iri) if version is None or version == version_of(iri) else _seen[iri][version]


def is_current(functions: Mapping[URIRef, int]) -> bool:
    """Return True if IRIs still have the functions with these numbers."""
    return all(version_of(iri) == version for iri, version in functions.items())


def users_functions(functions: Mapping[URIRef, int]) -> list[URIRef]:
    """List the functions that only this process knows: all but GeoSPARQL's."""
    return [iri for iri, version in functions.items() if registered(iri, version) != (GeoSparql(iri), False)]


def _entry(iri: URIRef) -> Registered | None:
    found = _table.get(iri)
    if found is None and iri in GEOSPARQL and is_computed():
        # in rdflib's table, for the arguments of raw functions and the updates of a server
        found = _table.setdefault(iri, (GeoSparql(iri), False))
    # rdflib's own casts are in the same table
    return None if found is None or found[0] is operators.default_cast else Registered(*found)


def unknown(iri: URIRef) -> str:
    """Return why a function is not known, and a remedy; empty for a known function.

    >>> unknown(URIRef("http://www.w3.org/2001/XMLSchema#interger"))[:84]
    'is not a known function; the nearest is <http://www.w3.org/2001/XMLSchema#integer>. '
    """
    if iri in CASTS or _entry(iri) is not None:
        return ""
    if iri in GEOSPARQL:
        return f"is computed by Oxigraph, which is not installed: {install_command('oxigraph')}"
    near = _nearest(iri)
    hint = "" if near is None else f"; the nearest is <{near}>"
    return f"is not a known function{hint}. Instead: register it with rdflive.register_function()"


def _nearest(iri: URIRef) -> str | None:
    """Return the known function with the most similar name: in the same namespace, or else in any."""
    namespace, name = _parts(iri)
    known = [_parts(each) for each in _known()]
    near = nearest(name, (local for within, local in known if within == namespace))
    if near is not None:
        return f"{namespace}{near}"
    near = nearest(name, (local for _, local in known), _VERY_LIKE)
    return next((f"{within}{local}" for within, local in sorted(known) if local == near), None)


def _known() -> Iterator[URIRef]:
    yield from CASTS
    yield from GEOSPARQL
    yield from list(_table)  # listed at once: other threads register too


def _parts(iri: URIRef) -> tuple[str, str]:
    name = _LOCAL.findall(iri)[0]
    return iri.removesuffix(name), name
