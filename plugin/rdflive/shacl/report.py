"""Results as a live sh:ValidationReport (SHACL, Section 3.6), and as a text for people."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeAlias

from rdflib import RDF, BNode, Graph, Literal
from rdflib.term import Node

from rdflive.model import Delta, Solution, TermWriter, to_printable
from rdflive.plugins import manager
from rdflive.shacl.vocabulary import PATHS, SH

__all__ = ["Report", "ReportText"]

Row: TypeAlias = tuple[Any, ...]
_PROPERTIES: Final = (
    SH.focusNode, SH.resultPath, SH.value, SH.sourceConstraintComponent, SH.sourceShape, SH.resultSeverity,
    SH.resultMessage, SH.sourceConstraint,
)  # fmt: skip
"""The property of each column of a result."""


class Report:
    """An rdflib graph with a sh:ValidationReport that follows the deltas of a validation."""

    def __init__(
        self,
        now: Iterable[Solution],
        since: int,
        shapes: Graph,
        read: Callable[[Iterable[Solution]], Iterable[Row]],
        messages: Callable[[Row], Iterable[Node]],
        *,
        is_whole: bool,
    ) -> None:
        """Start with the full answer, which already includes deltas up to the sequence number `since`.

        `read` returns rows in rdflib's terms, and `messages` all messages of a row. `is_whole` is True if
        every shape can be validated.
        """
        self.graph = Graph()
        self._shapes = shapes
        self._read = read
        self._messages = messages
        self._is_whole = is_whole
        self._since = since
        self._report = BNode()
        self._nodes: dict[Row, list[BNode]] = {}
        """The nodes of each result, in the order of creation."""
        self.graph.add((self._report, RDF.type, SH.ValidationReport))
        self._put(self._read(now), ())
        self._conform()

    def take(self, delta: Delta) -> None:
        """Apply a delta; an initial one replaces all results."""
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
                    value = self._path(term) if predicate == SH.resultPath else term
                    if predicate == SH.resultMessage and not term.language:
                        value = Literal(str(term))  # some stores add the datatype of a plain text
                    self.graph.add((node, predicate, value))
            for message in self._messages(row):
                self.graph.add((node, SH.resultMessage, message))

    def _reached(self, node: BNode) -> list[Node]:
        """Return a result, and the blank nodes of its path."""
        found: list[Node] = [node]
        waiting = [self.graph.value(node, SH.resultPath)]
        while waiting:
            part = waiting.pop()
            if isinstance(part, BNode):
                found.append(part)
                waiting += self.graph.objects(part)
        return found

    def _path(self, term: Node) -> Node:
        """Copy a path from the shapes graph, with blank nodes of its own (3.6.2.2)."""
        if not isinstance(term, BNode):
            return term
        copy = BNode()
        # a list is a sequence, even if it has other properties
        is_list = (term, RDF.first, None) in self._shapes
        for predicate in (RDF.first, RDF.rest) if is_list else PATHS:
            for value in self._shapes.objects(term, predicate):
                self.graph.add((copy, predicate, self._path(value)))
        return copy

    def conform(self, is_whole: bool) -> None:
        """Set whether every shape can be validated, which sh:conforms depends on."""
        if is_whole != self._is_whole:
            self._is_whole = is_whole
            with manager.batch(self.graph.store):
                self._conform()

    def _conform(self) -> None:
        self.graph.set((self._report, SH.conforms, Literal(self._is_whole and not self._nodes)))


class ReportText:
    """Writes results for people, with prefixes, and with complex paths in SPARQL syntax."""

    def __init__(self, prefixes: Mapping[str, str], paths: Mapping[Node, str]) -> None:
        self._shown = TermWriter(prefixes)
        self._paths = paths

    def whole(
        self,
        results: Iterable[Row],
        errors: Iterable[Exception],
        inner: Callable[[Row], Iterable[Row]] | None = None,
    ) -> str:
        """Write a paragraph for each focus node. `inner` returns the details of a result."""
        by_focus: dict[Any, list[Row]] = {}
        for row in results:
            by_focus.setdefault(row[0], []).append(row)
        count = sum(map(len, by_focus.values()))
        failed = [f"Not validated: {to_printable(str(error))}" for error in errors]
        if not count:
            return "\n".join(failed or ["Conforms: there are no results."])
        results_text, nodes = _counted(count, "result"), _counted(len(by_focus), "focus node")
        lines = [*failed, f"Does not conform: {results_text} at {nodes}."]
        for focus in sorted(by_focus, key=self._shown):
            lines += ["", self._shown(focus), *self._lines(by_focus[focus], inner, 1)]
        return "\n".join(lines)

    def changes(self, commit: str, gone: Iterable[Row], came: Iterable[Row]) -> str:
        """Write removed and added results, a line each, with the number of the commit."""
        lines = [
            f"{commit}  {sign} {line}\n"
            for sign, rows in (("-", gone), ("+", came))
            for line in self.lines(rows)
        ]
        return "".join(lines)

    def lines(self, rows: Iterable[Row]) -> list[str]:
        """Write a line for each result."""
        return sorted(f"{self._shown(row[0])}  {self._line(row)}" for row in rows)

    def _lines(
        self, rows: Iterable[Row], inner: Callable[[Row], Iterable[Row]] | None, depth: int
    ) -> list[str]:
        found = []
        for row in sorted(rows, key=self._line):
            found.append("  " * depth + self._line(row))
            if inner is not None:
                found += self._lines(inner(row), inner, depth + 1)
        return found

    def _line(self, row: Row) -> str:
        _, path, value, component, shape, severity, message, _ = row
        place = "" if path is None else f"{self._paths.get(path) or self._shown(path)}: "
        what = "" if value is None else f"{self._shown(value)} "
        name = _local(component).removesuffix("ConstraintComponent")
        source = name if isinstance(shape, BNode) else f"{name} of {self._shown(shape)}"
        return f"{_local(severity)}  {place}{what}{to_printable(str(message))}  ({source})"


def _local(iri: Any) -> str:
    return str(iri).rpartition("#")[2].rpartition("/")[2]


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"
