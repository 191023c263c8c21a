"""The words of RDF Schema, as terms of a store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import Any

from rdflib import RDF, RDFS

__all__ = ["RdfsTerms"]


@dataclass(frozen=True, slots=True)
class RdfsTerms:
    """`rdf:type` and the four properties that make a triple a schema triple (Goasdoué et al., Figure 4)."""

    type: Any = RDF.type
    sub_class: Any = RDFS.subClassOf
    sub_property: Any = RDFS.subPropertyOf
    domain: Any = RDFS.domain
    range: Any = RDFS.range
    only_classes: bool = False
    """Whether only subclasses are reasoned with."""

    @classmethod
    def of(cls, to_native: Callable[[Any], Any], *, only_classes: bool = False) -> RdfsTerms:
        """Give the words as a store knows them."""
        return replace(cls(*map(to_native, cls().native)), only_classes=only_classes)

    @property
    def native(self) -> dict[Any, Any]:
        """The words of the store, by those of rdflib."""
        return {field.default: getattr(self, field.name) for field in fields(self)[:5]}

    @property
    def schema(self) -> tuple[Any, ...]:
        """The properties of schema triples."""
        if self.only_classes:
            return (self.sub_class,)
        return self.sub_class, self.sub_property, self.domain, self.range
