"""What a shapes graph says and a validation does not read: most likely it is misspelled."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final

from rdflib import RDF, Graph, Namespace, URIRef
from rdflib.term import Node

from rdflive.shacl.reading import ABOUT_SHAPES, Reader
from rdflive.shacl.values import name_of, shown
from rdflive.shacl.vocabulary import SH

__all__ = ["unread_notes"]

_DASH: Final = Namespace("http://datashapes.org/dash#")
_CONSTRAINTS_OF_DASH: Final = frozenset(_DASH[name] for name in (
    "closedByTypes", "coExistsWith", "hasValueIn", "hasValueWithClass", "nonRecursive", "reifiableBy",
    "rootClass", "scriptConstraint", "singleLine", "stem", "subSetOf", "symmetric", "uniqueValueForClass",
    "uriStart",
))  # fmt: skip
"""The parameters of DASH. What else it has is for forms and editors."""
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
"""A graph may have reports beside shapes."""
_KNOWN: Final = frozenset({*ABOUT_SHAPES, *_RULES, *_NOT_VALIDATING, *_RESULTS})
_NEEDED: Final = {
    SH.flags: SH.pattern,
    SH.ignoredProperties: SH.closed,
    SH.qualifiedMinCount: SH.qualifiedValueShape,
    SH.qualifiedMaxCount: SH.qualifiedValueShape,
    SH.qualifiedValueShapesDisjoint: SH.qualifiedValueShape,
}
"""Parameters that mean nothing without another one."""


def unread_notes(graph: Graph, reader: Reader, *, has_rules: bool) -> Iterator[str]:
    """Say which properties of shapes are not read, each once, and which constraints are not validated.

    With `has_rules` what the shapes entail is entailed.
    """
    subjects = sorted(_subjects(graph), key=shown)
    said = {subject: {p for p in graph.predicates(subject) if isinstance(p, URIRef)} for subject in subjects}
    unread: dict[URIRef, list[Node]] = {}
    for subject, predicates in said.items():
        for predicate in predicates - reader.parameters:
            is_of_shacl = predicate.startswith(SH) and predicate not in _KNOWN
            if is_of_shacl or predicate in _CONSTRAINTS_OF_DASH:
                unread.setdefault(predicate, []).append(subject)
            needed = _NEEDED.get(predicate)
            if needed is not None and needed not in predicates:
                yield _lacking(name_of(predicate), subject, name_of(needed))
    for predicate in sorted(unread, key=shown):
        yield f"{_name(predicate)} of {_listed(unread[predicate])} is not read{_advice(predicate)}"
    for component in reader.components:
        mandatory = {p.path for p in component.parameters if not p.optional}
        optional = {p.path for p in component.parameters if p.optional}
        for subject, predicates in said.items():
            if (found := optional & predicates) and not mandatory <= predicates:
                wanted = " and ".join(map(shown, sorted(mandatory - predicates)))
                yield _lacking(shown(min(found)), subject, wanted)
        using = [subject for subject, predicates in said.items() if mandatory and mandatory <= predicates]
        without = [each for each in using if component.validator(has_path=SH.path in said[each]) is None]
        if without:
            yield (
                f"{shown(component.node)} of {_listed(without)} is not validated: it has no query in SPARQL "
                "for it"
            )
    if not has_rules and any(SH.rule in predicates for predicates in said.values()):
        yield (
            "sh:rule is not read: what the rules entail is validated where the shapes say sh:entailment "
            "sh:Rules, or with rules=rdflive.shacl_rules(shapes)"
        )


def _subjects(graph: Graph) -> set[Node]:
    """List what the graph describes by properties or classes of SHACL."""
    found = {s for predicate in _KNOWN if predicate.startswith(SH) for s in graph.subjects(predicate)}
    return found.union(*(graph.subjects(RDF.type, kind) for kind in (SH.NodeShape, SH.PropertyShape)))


def _name(predicate: URIRef) -> str:
    if predicate.startswith(_DASH):
        return f"dash:{predicate.removeprefix(_DASH)}"
    return name_of(predicate)


def _lacking(name: str, subject: Node, wanted: str) -> str:
    return f"{name} of {shown(subject)} is not read, for there is no {wanted}"


def _listed(subjects: list[Node]) -> str:
    """Name the first of some shapes, one with an IRI if there is any, and count the rest."""
    first = next((each for each in subjects if isinstance(each, URIRef)), subjects[0])
    return shown(first) + (f" and {len(subjects) - 1:,} more" if len(subjects) > 1 else "")


def _advice(predicate: URIRef) -> str:
    if predicate in _CONSTRAINTS_OF_DASH:
        return ": give the shapes that describe its constraint component too"
    names = {name_of(known).lower(): name_of(known) for known in _KNOWN if known.startswith(SH)}
    near = get_close_matches(_name(predicate).lower(), names, n=1, cutoff=0.8)
    return f"; did you mean {names[near[0]]}?" if near else ""
