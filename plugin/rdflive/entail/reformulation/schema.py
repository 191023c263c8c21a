"""The schema as the rules of reformulation read it: subjects by object, and closed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, Final, TypeAlias

from rdflib import RDF, RDFS, URIRef

from rdflive.entail.reformulation.partial import Atom, is_variable
from rdflive.entail.schema import RdfsTerms, Schema
from rdflive.errors import SchemaError

__all__ = ["SCHEMA_PROPERTIES", "KnownSchema", "Used"]

_WORDS: Final = RdfsTerms()
SCHEMA_PROPERTIES: Final = _WORDS.schema
"""The properties of schema triples."""

_Index: TypeAlias = Mapping[tuple[Any, ...], Sequence[Atom]]


@dataclass(frozen=True, slots=True)
class Used:
    """The properties and classes that triples of the data use (rules 6 and 9)."""

    properties: tuple[Any, ...] = ()
    classes: tuple[Any, ...] = ()

    @classmethod
    def of(cls, triples: Iterable[tuple[Any, Any, Any]], of_type: Any = RDF.type) -> Used:
        """Collect them from all triples; `of_type` is rdf:type in the same kind of terms."""
        properties, classes = set(), set()
        for _, p, o in triples:
            properties.add(p)
            if p == of_type:
                classes.add(o)
        return cls(_in_order(properties), _in_order(classes))


@dataclass(frozen=True, eq=False)
class KnownSchema:
    """Schema triples at one moment, as rdflib terms; other triples are ignored.

    Raises `SchemaError` if a triple would make data entail schema triples (Theorem 6 assumes that data and
    schema are disjoint).
    """

    triples: tuple[Atom, ...]
    use: Callable[[], Used] = field(default=Used, repr=False)
    """Reads the used properties and classes from the data, on first access."""

    def __post_init__(self) -> None:
        kept = {triple for triple in self.triples if triple[1] in SCHEMA_PROPERTIES}
        object.__setattr__(self, "triples", _in_order(kept))
        for s, p, o in self.triples:
            # `s == o` adds nothing: every property is a subproperty of itself
            if p == RDFS.subPropertyOf and o in SCHEMA_PROPERTIES and s != o:
                raise SchemaError(
                    f"the schema triple {s.n3()} rdfs:subPropertyOf {o.n3()} cannot be reasoned with: data "
                    "would entail schema. Every other schema triple is accepted, also about rdf:type; remove "
                    "this one, or add the schema triples that it entails"
                )

    @cached_property
    def used(self) -> Used:
        """The properties and classes that the data use."""
        return self.use()

    @cached_property
    def below(self) -> Mapping[URIRef, Mapping[Any, Sequence[Any]]]:
        """Per schema property, the subjects of the explicit triples by object."""
        below: dict[URIRef, dict[Any, list[Any]]] = {word: {} for word in SCHEMA_PROPERTIES}
        for s, p, o in self.triples:
            below[p].setdefault(o, []).append(s)
        return below

    def subjects(self, constraint: URIRef) -> tuple[Any, ...]:
        """List the distinct subjects of a schema property."""
        return tuple(dict.fromkeys(chain.from_iterable(self.below[constraint].values())))

    @cached_property
    def terms(self) -> frozenset[Any]:
        """All terms that the rules treat specially."""
        return frozenset((RDF.type, *SCHEMA_PROPERTIES)).union(*self.triples)

    @cached_property
    def _closure(self) -> _Index:
        schema = Schema(_WORDS)
        for triple in self.triples:
            schema.change(1, triple)
        index: dict[tuple[Any, ...], list[Atom]] = {}
        for triple in _in_order(schema.entailed((None, None, None))):
            s, p, o = triple
            # `entailed` always looks up a property, with or without the other two
            for key in ((None, p, None), (s, p, None), (None, p, o), (s, p, o)):
                index.setdefault(key, []).append(triple)
        return index

    def entailed(self, atom: Atom) -> list[Atom]:
        """List the triples of the closure (Figure 6) that an atom may match."""
        s, p, o = (None if is_variable(term) else term for term in atom)
        keys = [(s, q, o) for q in SCHEMA_PROPERTIES if p in (None, q)]
        return [triple for key in keys for triple in self._closure.get(key, ())]


def _in_order(terms: Iterable[Any]) -> tuple[Any, ...]:
    """Sort by text, so that the order of a reformulation's members does not vary between runs."""
    return tuple(sorted(terms, key=repr))
