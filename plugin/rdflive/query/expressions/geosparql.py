"""GeoSPARQL functions, computed by Oxigraph on rdflib terms; they need the extra `oxigraph`.

None is an error. A call takes about 40 µs, most of it for parsing the query that calls the function, so
results are cached.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import Any, Final

from rdflib.namespace import XSD
from rdflib.term import Literal, Node, URIRef

from rdflive.model import DirectionalString

__all__ = ["GEOSPARQL", "GeoSparql", "is_computed"]

_NAMESPACE: Final = "http://www.opengis.net/def/function/geosparql/"
_NAMES: Final = (
    "area", "asGeoJSON", "centroid", "convexHull", "coordinateDimension", "difference", "dimension",
    "distance", "ehContains", "ehCoveredBy", "ehCovers", "ehDisjoint", "ehEquals", "ehInside", "ehMeet",
    "ehOverlap", "envelope", "getSRID", "intersection", "isEmpty", "isSimple", "length", "perimeter",
    "rcc8dc", "rcc8ec", "rcc8eq", "rcc8ntpp", "rcc8ntppi", "rcc8po", "rcc8tpp", "rcc8tppi", "relate",
    "sfContains", "sfCrosses", "sfDisjoint", "sfEquals", "sfIntersects", "sfOverlaps", "sfTouches",
    "sfWithin", "spatialDimension", "symDifference", "union",
)  # fmt: skip
GEOSPARQL: Final = frozenset(URIRef(_NAMESPACE + name) for name in _NAMES)
"""The functions that Oxigraph 0.5 computes."""


@cache
def is_computed() -> bool:
    """Return True if Oxigraph is installed."""
    return find_spec("pyoxigraph") is not None


@dataclass(frozen=True, slots=True)
class GeoSparql:
    """A function in the form of rdflib's registry."""

    iri: URIRef

    def __call__(self, *terms: Node) -> Node | None:
        """Compute the value."""
        return _computed(self.iri, terms)


@cache
def _store() -> Any:
    from pyoxigraph import Store

    return Store()


@lru_cache(maxsize=4096)
def _computed(iri: URIRef, terms: tuple[Node, ...]) -> Node | None:
    arguments = ", ".join(map(_written, terms))
    (solution,) = _store().query(f"SELECT ({iri.n3()}({arguments}) AS ?value) {{ }}")
    value = solution["value"]  # a literal, and no string: a geometry, a number or a boolean
    return None if value is None else Literal(value.value, datatype=URIRef(value.datatype.value))


def _written(term: Node) -> str:
    """Write a term as SPARQL; raises ValueError for terms that cannot be in an expression."""
    import pyoxigraph as native

    if isinstance(term, URIRef):
        return str(native.NamedNode(str(term)))
    if not isinstance(term, Literal) or isinstance(term, DirectionalString):
        raise ValueError(f"no function of GeoSPARQL takes {term!r}")
    if term.language:
        return str(native.Literal(str(term), language=term.language))
    return str(native.Literal(str(term), datatype=native.NamedNode(str(term.datatype or XSD.string))))
