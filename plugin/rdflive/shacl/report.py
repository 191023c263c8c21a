"""The results as SHACL writes them: a live sh:ValidationReport, and a text for people (SHACL, Section 3.6)."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any, Final

from rdflib import RDF, BNode, Graph, Literal
from rdflib.term import Node

from rdflive.model import Delta, Solution, TermWriter
from rdflive.plugins import manager
from rdflive.shacl.reading import PATHS
from rdflive.shacl.vocabulary import SH

__all__ = ["Report", "report_text"]

log = logging.getLogger("rdflive")

_PROPERTIES: Final = (
    SH.focusNode, SH.resultPath, SH.value, SH.sourceConstraintComponent, SH.sourceShape, SH.resultSeverity,
    SH.resultMessage, SH.sourceConstraint,
)  # fmt: skip
"""What tells each column of a result."""


class Report:
    """An rdflib graph with a sh:ValidationReport that follows the deltas of a validation, a commit for each."""

    def __init__(self, now: Delta, shapes: Graph) -> None:
        """Start with the whole answer; deltas up to its sequence number are in it already."""
        self.graph = Graph()
        self._shapes = shapes
        self._since = now.sequence
        self._report = BNode()
        self._nodes: dict[tuple[Any, ...], list[BNode]] = {}
        """The nodes of each result, in the order in which they came."""
        self.graph.add((self._report, RDF.type, SH.ValidationReport))
        self._put(now.added, ())
        self._conform()

    def take(self, delta: Delta) -> None:
        """Apply a delta; an initial one replaces everything."""
        if delta.sequence < self._since or (delta.sequence == self._since and not delta.initial):
            return
        with manager.batch(self.graph.store):
            gone: Iterable[Any] = delta.removed
            if delta.initial:
                gone = [row for row, nodes in self._nodes.items() for _ in nodes]
            self._put(delta.added, gone)
            self._conform()

    def _put(self, added: Iterable[Any], removed: Iterable[Any]) -> None:
        for row in removed:
            key = tuple(row)
            node = self._nodes[key].pop()
            if not self._nodes[key]:
                del self._nodes[key]
            for each in self._reached(node):
                self.graph.remove((each, None, None))
            self.graph.remove((self._report, SH.result, node))
        for row in added:
            node = BNode()
            self._nodes.setdefault(tuple(row), []).append(node)
            self.graph.add((self._report, SH.result, node))
            self.graph.add((node, RDF.type, SH.ValidationResult))
            for predicate, term in zip(_PROPERTIES, row, strict=True):
                if term is not None:
                    self.graph.add(
                        (node, predicate, self._path(term) if predicate == SH.resultPath else term)
                    )

    def _reached(self, node: BNode) -> list[Node]:
        """Give a result, and the blank nodes of its path."""
        found: list[Node] = [node]
        waiting = [self.graph.value(node, SH.resultPath)]
        while waiting:
            part = waiting.pop()
            if isinstance(part, BNode):
                found.append(part)
                waiting += self.graph.objects(part)
        return found

    def _path(self, term: Node) -> Node:
        """Copy a path out of the shapes graph, with blank nodes of its own (3.6.2.2)."""
        if not isinstance(term, BNode):
            return term
        copy = BNode()
        # a list is a sequence, whatever else is said of it
        is_list = (term, RDF.first, None) in self._shapes
        for predicate in (RDF.first, RDF.rest) if is_list else PATHS:
            for value in self._shapes.objects(term, predicate):
                self.graph.add((copy, predicate, self._path(value)))
        return copy

    def _conform(self) -> None:
        self.graph.set((self._report, SH.conforms, Literal(not self._nodes)))


def report_text(results: Iterable[Solution], prefixes: Mapping[str, str]) -> str:
    """Write results for people: a paragraph for each focus node."""
    by_focus: dict[Any, list[Solution]] = {}
    for row in results:
        by_focus.setdefault(row.focus, []).append(row)
    count = sum(map(len, by_focus.values()))
    shown = TermWriter(prefixes)

    if not count:
        return "Conforms: there are no results.\n"
    lines = [
        f"Does not conform: {count:,} result{'s' * (count != 1)} at {len(by_focus):,} focus node{'s' * (len(by_focus) != 1)}."
    ]
    for focus in sorted(by_focus, key=shown):
        lines += ["", shown(focus)]
        told = sorted(_line(row, shown) for row in by_focus[focus])
        lines += [f"  {line}" for line in told]
    return "\n".join(lines) + "\n"


def _line(row: Solution, shown: Any) -> str:
    place = "" if row.path is None else f"{shown(row.path)}: "
    what = "" if row.value is None else f"{shown(row.value)} "
    severity = str(row.severity).rpartition("#")[2].rpartition("/")[2]
    component = str(row.component).rpartition("#")[2].rpartition("/")[2].removesuffix("ConstraintComponent")
    return f"{severity}  {place}{what}{row.message!s}  ({component} of {shown(row.shape)})"
