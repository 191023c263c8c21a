"""Results as a live sh:ValidationReport (SHACL, Section 3.6), and as a text for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from rdflib import RDF, BNode, Graph, Literal
from rdflib.term import Node

from rdflive.model import Delta, Solution, TermWriter, to_printable
from rdflive.plugins import manager
from rdflive.shacl.reading import PATHS
from rdflive.shacl.vocabulary import SH

__all__ = ["Report", "changes_text", "report_text"]

Row: TypeAlias = tuple[Any, ...]
_PROPERTIES: Final = (
    SH.focusNode, SH.resultPath, SH.value, SH.sourceConstraintComponent, SH.sourceShape, SH.resultSeverity,
    SH.resultMessage, SH.sourceConstraint,
)  # fmt: skip
"""What tells each column of a result."""


class Report:
    """A graph of rdflib with a sh:ValidationReport that follows the deltas of a validation."""

    def __init__(
        self, now: Delta, shapes: Graph, read: Callable[[Iterable[Solution]], Iterable[Row]]
    ) -> None:
        """Start with the whole answer; deltas up to its sequence number are in it already.

        `read` gives rows in rdflib's terms.
        """
        self.graph = Graph()
        self._shapes = shapes
        self._read = read
        self._since = now.sequence
        self._report = BNode()
        self._nodes: dict[Row, list[BNode]] = {}
        """The nodes of each result, in the order in which they came."""
        self.graph.add((self._report, RDF.type, SH.ValidationReport))
        self._put(self._read(now.added), ())
        self._conform()

    def take(self, delta: Delta) -> None:
        """Apply a delta; an initial one replaces everything."""
        if delta.sequence < self._since or (delta.sequence == self._since and not delta.initial):
            return
        with manager.batch(self.graph.store):
            gone = self._read(delta.removed)
            if delta.initial:
                gone = [row for row, nodes in self._nodes.items() for _ in nodes]
            self._put(self._read(delta.added), gone)
            self._conform()

    def _put(self, added: Iterable[Row], removed: Iterable[Row]) -> None:
        for row in removed:
            node = self._nodes[row].pop()
            if not self._nodes[row]:
                del self._nodes[row]
            for each in self._reached(node):
                self.graph.remove((each, None, None))
            self.graph.remove((self._report, SH.result, node))
        for row in added:
            node = BNode()
            self._nodes.setdefault(row, []).append(node)
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


def report_text(
    results: Iterable[Row], prefixes: Mapping[str, str], inner: Callable[[Row], Iterable[Row]] | None = None
) -> str:
    """Write results for people: a paragraph for each focus node. `inner` gives the details of a result."""
    by_focus: dict[Any, list[Row]] = {}
    for row in results:
        by_focus.setdefault(row[0], []).append(row)
    count = sum(map(len, by_focus.values()))
    shown = TermWriter(prefixes)

    if not count:
        return "Conforms: there are no results."
    told, nodes = _counted(count, "result"), _counted(len(by_focus), "focus node")
    lines = [f"Does not conform: {told} at {nodes}."]
    for focus in sorted(by_focus, key=shown):
        lines += ["", shown(focus)]
        lines += _lines(by_focus[focus], shown, inner, 1)
    return "\n".join(lines)


def _lines(
    rows: Iterable[Row], shown: TermWriter, inner: Callable[[Row], Iterable[Row]] | None, depth: int
) -> list[str]:
    found = []
    for row in sorted(rows, key=lambda row: _line(row, shown)):
        found.append("  " * depth + _line(row, shown))
        if inner is not None:
            found += _lines(inner(row), shown, inner, depth + 1)
    return found


def changes_text(commit: str, gone: Iterable[Row], came: Iterable[Row], prefixes: Mapping[str, str]) -> str:
    """Write results that went and came for people, with the number of the commit."""
    shown = TermWriter(prefixes)
    lines = [
        f"{commit}  {sign} {line}\n"
        for sign, rows in (("-", gone), ("+", came))
        for line in sorted(f"{shown(row[0])}  {_line(row, shown)}" for row in rows)
    ]
    return "".join(lines)


def _line(row: Row, shown: TermWriter) -> str:
    _, path, value, component, shape, severity, message, _ = row
    place = "" if path is None else f"{shown(path)}: "
    what = "" if value is None else f"{shown(value)} "
    name = _local(component).removesuffix("ConstraintComponent")
    source = name if isinstance(shape, BNode) else f"{name} of {shown(shape)}"
    return f"{_local(severity)}  {place}{what}{to_printable(str(message))}  ({source})"


def _local(iri: Any) -> str:
    return str(iri).rpartition("#")[2].rpartition("/")[2]


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"
