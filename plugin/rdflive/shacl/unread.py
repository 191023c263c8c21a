"""Notes on the parts of a shapes graph that a validation does not read, which are probably misspelled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from difflib import get_close_matches
from typing import Final, TypeAlias

from rdflib import RDF, BNode, Graph, Namespace, URIRef
from rdflib.term import Node

from rdflive.shacl.reading import ABOUT_SHAPES, ShapesReader
from rdflive.shacl.shapes import Component
from rdflive.shacl.values import name_of, shown
from rdflive.shacl.vocabulary import SH

__all__ = ["unread_notes"]

_Said: TypeAlias = Mapping[Node, Set[URIRef]]
"""The predicates of each subject."""

_DASH: Final = Namespace("http://datashapes.org/dash#")
_CONSTRAINTS_OF_DASH: Final = frozenset(_DASH[name] for name in (
    "closedByTypes", "coExistsWith", "hasValueIn", "hasValueWithClass", "nonRecursive", "reifiableBy",
    "rootClass", "scriptConstraint", "singleLine", "stem", "subSetOf", "symmetric", "uniqueValueForClass",
    "uriStart",
))  # fmt: skip
"""The parameters of DASH. Its other properties are for forms and editors."""
_RULES: Final = (
    SH.rule, SH.condition, SH.subject, SH.predicate, SH.object, SH.construct, SH.nodes, SH.filterShape,
    SH.union, SH.intersection,
)  # fmt: skip
_NOT_VALIDATING: Final = (
    SH.name, SH.description, SH.order, SH.group, SH.defaultValue, SH.labelTemplate, SH.intent,
    SH.agentInstruction, SH.codeIdentifier,
)  # fmt: skip
_RESULTS: Final = (
    SH.conforms, SH.result, SH.detail, SH.focusNode, SH.resultPath, SH.resultMessage, SH.resultSeverity,
    SH.value, SH.sourceShape, SH.sourceConstraint, SH.sourceConstraintComponent, SH.shapesGraphWellFormed,
)  # fmt: skip
"""A graph may contain reports in addition to shapes."""
_KNOWN: Final = frozenset({*ABOUT_SHAPES, *_RULES, *_NOT_VALIDATING, *_RESULTS})
_NEEDED: Final = {
    SH.flags: SH.pattern,
    SH.ignoredProperties: SH.closed,
    SH.qualifiedMinCount: SH.qualifiedValueShape,
    SH.qualifiedMaxCount: SH.qualifiedValueShape,
    SH.qualifiedValueShapesDisjoint: SH.qualifiedValueShape,
}
"""Parameters that have no effect without another one."""


def unread_notes(graph: Graph, reader: ShapesReader, *, among_data: bool, has_rules: bool) -> Iterator[str]:
    """List the unread properties of shapes, each once, and the constraints that are not validated.

    With `among_data`, the graph may have too many triples to read all of them. With `has_rules`, the
    conclusions of the shapes' rules are entailed.
    """
    said = {
        subject: {predicate for predicate in graph.predicates(subject) if isinstance(predicate, URIRef)}
        for subject in sorted(_described_by_shacl(graph, among_data=among_data), key=shown)
    }
    yield from _of_properties(graph, reader.components.parameters, said)
    for component in reader.components.all:
        yield from _of_component(graph, component, said)
    if not has_rules and any(SH.rule in predicates for predicates in said.values()):
        yield (
            "sh:rule is not read: to validate the conclusions of rules, add sh:entailment sh:Rules to the "
            "shapes, or pass rules=rdflive.shacl_rules(shapes)"
        )


def _of_properties(graph: Graph, parameters: Set[URIRef], said: _Said) -> Iterator[str]:
    unread: dict[URIRef, list[Node]] = {}
    for subject, predicates in said.items():
        for predicate in sorted(predicates - parameters):
            is_of_shacl = predicate.startswith(SH) and predicate not in _KNOWN
            if is_of_shacl or predicate in _CONSTRAINTS_OF_DASH:
                unread.setdefault(predicate, []).append(subject)
            needed = _NEEDED.get(predicate)
            if needed is not None and needed not in predicates:
                yield _lacking(name_of(predicate), _described(graph, subject), name_of(needed))
    for predicate in sorted(unread):
        yield f"{_name(predicate)} of {_listed(graph, unread[predicate])} is not read{_advice(predicate)}"


def _of_component(graph: Graph, component: Component, said: _Said) -> Iterator[str]:
    mandatory = {p.path for p in component.parameters if not p.optional}
    optional = {p.path for p in component.parameters if p.optional}
    unvalidated = []
    for subject, predicates in said.items():
        if not mandatory <= predicates:
            for path in sorted(optional & predicates):
                wanted = " and ".join(map(shown, sorted(mandatory - predicates)))
                yield _lacking(shown(path), _described(graph, subject), wanted)
        elif component.validator(has_path=SH.path in predicates) is None:
            unvalidated.append(subject)
    if unvalidated and not mandatory <= _KNOWN:
        name, where = shown(component.node), _listed(graph, unvalidated)
        yield f"{name} of {where} is not validated: it has no SPARQL query for this kind of shape"


def _described_by_shacl(graph: Graph, *, among_data: bool) -> set[Node]:
    """List the nodes that the graph describes by SHACL properties or classes; among data, only by known
    ones.
    """
    if among_data:
        found = {s for predicate in _KNOWN if predicate.startswith(SH) for s in graph.subjects(predicate)}
    else:
        found = {s for s, p, _ in graph if str(p).startswith((SH, _DASH))}
    return found.union(*(graph.subjects(RDF.type, kind) for kind in (SH.NodeShape, SH.PropertyShape)))


def _name(predicate: URIRef) -> str:
    if predicate.startswith(_DASH):
        return f"dash:{predicate.removeprefix(_DASH)}"
    return name_of(predicate)


def _lacking(name: str, subject: str, wanted: str) -> str:
    return f"{name} of {subject} is not read, because there is no {wanted}"


def _listed(graph: Graph, subjects: list[Node]) -> str:
    """Name the first of some shapes, preferably one with an IRI, and count the others."""
    first = next((each for each in subjects if isinstance(each, URIRef)), subjects[0])
    return _described(graph, first) + (f" and {len(subjects) - 1:,} more" if len(subjects) > 1 else "")


def _described(graph: Graph, subject: Node) -> str:
    """Write an IRI; for a blank node, the IRI that leads to it."""
    above, seen = subject, {subject}
    while isinstance(above, BNode):
        parents = (each for each in graph.subjects(None, above) if each not in seen)
        above = min(parents, key=shown, default=RDF.nil)
        seen.add(above)
    if above in (subject, RDF.nil):
        return shown(subject)
    path = next(graph.objects(subject, SH.path), None)
    place = f" with sh:path {shown(path)}" if isinstance(path, URIRef) else ""
    return f"a blank node{place} below {shown(above)}"


def _advice(predicate: URIRef) -> str:
    if predicate in _CONSTRAINTS_OF_DASH:
        return ": also pass the shapes that declare its constraint component"
    names = {name_of(known).lower(): name_of(known) for known in _KNOWN if known.startswith(SH)}
    near = get_close_matches(_name(predicate).lower(), names, n=1, cutoff=0.8)
    return f"; did you mean {names[near[0]]}?" if near else ""
