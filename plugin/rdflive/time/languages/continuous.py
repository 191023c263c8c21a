"""Continuous queries: their windows, their output and its frequency, and the remaining plain SPARQL."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from rdflib import URIRef
from rdflib.term import Variable

from rdflive.errors import QuerySyntaxError, UnsupportedQueryError
from rdflive.query import given
from rdflive.query.refusals import depth_limited
from rdflive.syntax.excerpt import excerpt
from rdflive.syntax.reader import read_query
from rdflive.syntax.tree import Tree, place_of, rewritten, walk
from rdflive.syntax.writing import write
from rdflive.time.instants import to_duration
from rdflive.time.languages.grammar import CONTINUOUS
from rdflive.time.windowed import Output
from rdflive.time.windows import Count, Sliding, Tumbling, Window

__all__ = ["ContinuousQuery", "Language", "StreamWindow", "parse_continuous"]

Language: TypeAlias = Literal["RSP-QL", "C-SPARQL"]

_OUTPUTS: Final[dict[str, Output]] = {"ISTREAM": "istream", "DSTREAM": "dstream", "RSTREAM": "rstream"}
_NO: Final = "not RSP-QL or C-SPARQL"
_DIGITS: Final = 18
"""Greatest number of digits in the number of triples or elements of a window."""
_FUNCTIONS: Final = "http://larkc.eu/csparql/sparql/jena/ext#"
"""The namespace of the C-SPARQL engine's functions, which SPARQL would treat as functions that always
fail.
"""
_ADVICE: Final = {
    "FROM": "FROM must be between the projection and WHERE, outside of subqueries",
    "WINDOW": "WINDOW must be inside the braces of WHERE",
}
"""Advice for keywords in a wrong place."""


@dataclass(frozen=True, slots=True)
class StreamWindow:
    """A window over a stream, and the name of its content in the query.

    Without a name the content belongs to the default graph.
    """

    stream: URIRef
    window: Window
    name: URIRef | None = None


@dataclass(frozen=True, slots=True)
class ContinuousQuery:
    """A query over windows of streams."""

    name: str | URIRef | None
    """The name in REGISTER; None without REGISTER."""
    output: Output
    """The operator of the query; "delta" without one."""
    every: int | None
    """COMPUTE EVERY, in nanoseconds; every window over time reports at this interval."""
    windows: tuple[StreamWindow, ...]
    """In the order of the text."""
    tree: Tree
    """Plain SPARQL, with positions in the original text; windows with a name are graphs of that name."""
    language: Language

    @property
    def text(self) -> str:
        """The plain SPARQL as a separate text, with full names."""
        return write(self.tree)


@depth_limited()
def parse_continuous(text: str, namespaces: Mapping[str, Any] | None = None) -> ContinuousQuery:
    """Parse an RSP-QL or C-SPARQL query into its windows and plain SPARQL.

    RSP-QL is that of Dell'Aglio et al., "RSP-QL Semantics" (2014), in the syntax of the W3C community group
    and of its engines; C-SPARQL that of Barbieri et al. (2010), as in Figure 2 of IMaRS. `namespaces` are
    those of prefixes that the text does not declare. Raises `QuerySyntaxError` and `UnsupportedQueryError`
    with line and column.

    >>> query = parse_continuous("ASK FROM STREAM <http://e/s> [RANGE 10s STEP 1s] { ?s ?p ?o }")
    >>> query.windows[0].window, query.text
    (Sliding(range=10, step=1), 'ASK WHERE { ?s ?p ?o . }')
    """
    text = given.read_query(text).text
    try:
        tree = read_query(text, namespaces, grammar=CONTINUOUS)
    except QuerySyntaxError as error:
        raise _explained(error) from error
    return _Query(text, tree).meant()


def _explained(error: QuerySyntaxError) -> QuerySyntaxError | UnsupportedQueryError:
    """Add the names of the languages to an error, and advice on a misplaced keyword."""
    message, line, column = str(error), error.line, error.column
    word = message.partition("met '")[2].partition("'")[0].upper()
    if word == "AGGREGATE":
        return _refused(
            line, column, word, "C-SPARQL has replaced it by SPARQL 1.1 aggregates", "use GROUP BY"
        )
    said = QuerySyntaxError(message.replace("not SPARQL", _NO, 1), line=line, column=column)
    # after FROM, WINDOW declares a window
    is_declared = "NAMED WINDOW" in message.partition("\n")[0]
    return said.saying(_ADVICE[word]) if word in _ADVICE and not is_declared else said


def _refused(line: int, column: int, construct: str, reason: str, advice: str) -> UnsupportedQueryError:
    return UnsupportedQueryError(
        f"{construct} (line {line}, column {column}) cannot be maintained: {reason}. Instead: {advice}.",
        construct=construct,
        line=line,
        column=column,
    )


class _Query:
    """A parsed query, and the interpretation of its clauses."""

    __slots__ = ("_every", "_text", "_tree")

    def __init__(self, text: str, tree: Tree) -> None:
        self._text = text
        self._tree = tree
        self._every = None if tree.every is None else self._duration(tree.every)
        """COMPUTE EVERY, as written."""

    def meant(self) -> ContinuousQuery:
        """Interpret the query."""
        tree = self._tree
        if tree.entailment is not None:
            raise self._refused(
                tree.entailment,
                "UNDER ENTAILMENT REGIME",
                "the text of a query cannot choose its entailment",
                "omit it, and pass entailment= or rules= when you register the query",
            )
        language: Language | None = None
        windows: list[StreamWindow] = []
        graphs: set[URIRef] = set()
        for clause in tree.query.datasetClause or ():
            self._check_name(clause, windows, graphs)
            if clause.window is not None:
                language = self._spoken(clause, language)
                windows.append(self._declared(clause))
        if language is None:
            raise self._wrong(
                tree,
                "it has no window; declare one with FROM STREAM <s> [RANGE 10s STEP 1s] (C-SPARQL) or "
                "FROM NAMED WINDOW <w> ON <s> [RANGE PT10S STEP PT1S] (RSP-QL); subscribe takes plain SPARQL",
            )
        self._check_pattern({window.name for window in windows})
        self._check_calls()
        every = None if self._every is None else to_duration(self._every)
        return ContinuousQuery(tree.called, self._output(), every, tuple(windows), _plain(tree), language)

    def _output(self) -> Output:
        before, behind = self._tree.output, self._tree.query.output
        if before is not None and behind is not None and before != behind:
            raise self._wrong(
                behind,
                f"the query has two operators, {before.operator} and {behind.operator}: choose one",
            )
        found = behind or before
        return "delta" if found is None else _OUTPUTS[found.operator]

    def _spoken(self, clause: Tree, before: Language | None) -> Language:
        """Return the language of a clause that declares a window."""
        language: Language = "C-SPARQL" if clause.called is None or clause.stream is None else "RSP-QL"
        if before not in (None, language):
            raise self._wrong(clause, f"this clause is {language}, an earlier one {before}")
        return language

    def _check_name(self, clause: Tree, windows: Collection[StreamWindow], graphs: set[URIRef]) -> None:
        """Check that the names of windows are unique, and differ from those of graphs."""
        name = clause.called or clause.named
        if name is None:
            return
        # FROM NAMED may repeat a graph, as in SPARQL
        if any(window.name == name.iri for window in windows) or (clause.called and name.iri in graphs):
            raise self._wrong(
                name, f"{self._written(name)} is already the name of a window or graph: choose another name"
            )
        graphs.add(name.iri)

    def _check_pattern(self, names: Collection[URIRef | None]) -> None:
        """Check that each WINDOW refers to a declared window, and that its content is one graph."""
        for pattern in walk(self._tree.query):
            if pattern.name != "GraphGraphPattern" or not isinstance(pattern.term, Tree):
                continue
            shown = self._written(pattern.term)
            if isinstance(pattern.term.iri, Variable):
                raise self._refused(
                    pattern.term,
                    f"WINDOW {shown}",
                    "its windows are not known in advance",
                    "name the window",
                )
            if pattern.term.iri not in names:
                raise self._wrong(
                    pattern.term,
                    f"no window {shown}: declare it with FROM NAMED WINDOW {shown} ON a stream",
                )
            for inner in walk(pattern.graph):
                if inner.name == "GraphGraphPattern":
                    raise self._refused(
                        inner,
                        f"{'WINDOW' if isinstance(inner.term, Tree) else 'GRAPH'} inside WINDOW",
                        "the content of a window is one graph",
                        "close the braces of WINDOW before it",
                    )

    def _check_calls(self) -> None:
        """Check that the query calls no function that only the C-SPARQL engine has."""
        for call in walk(self._tree.query):
            if call.name == "Function" and call.iri.startswith(_FUNCTIONS):
                raise self._refused(
                    call,
                    f"the function {self._written(call).partition('(')[0].strip()}",
                    "a window holds triples without their instants",
                    "add the instant as a separate triple, and compare that",
                )

    # windows

    def _declared(self, clause: Tree) -> StreamWindow:
        stream: URIRef = (clause.stream or clause.called).iri
        return StreamWindow(stream, self._window(clause.window), clause.called and clause.called.iri)

    def _window(self, window: Tree) -> Window:
        """Return a window, open on the left and closed on the right, as in RSP-QL."""
        if window.triples is not None:
            return self._counted(window.triples, "triples")
        if window.elements is not None:
            return self._counted(window.elements, "elements")
        pace, every, span = window.pace, self._every, self._duration(window.range)
        if window.past is not None:
            raise self._refused(
                window.past,
                "a window that ends in the past",
                "windows end at the present",
                f"use [FROM NOW-{span} TO NOW] and compare times in a FILTER",
            )
        step = every if pace is None else span if pace.step is None else self._duration(pace.step)
        if every is not None and step is not None and to_duration(step) != to_duration(every):
            raise self._refused(
                pace,
                "COMPUTE EVERY",
                f"the query is computed every {every}, but its window reports every {step}",
                f"write the same length in both; STEP {every} gives an answer every {every}",
            )
        if pace is not None and pace.step is None:
            return Tumbling(span, closed="right")
        return Sliding(span, step)

    def _counted(self, count: Tree, of: Literal["elements", "triples"]) -> Count:
        if self._every is not None:
            raise self._refused(
                count,
                "COMPUTE EVERY",
                f"a window of {of} reports when they arrive, not when time passes",
                "omit COMPUTE EVERY, and give the window a STEP",
            )
        step = count.size if count.tumbling else count.step or "1"
        if max(len(count.size), len(step)) > _DIGITS:
            raise self._wrong(count, f"a whole number here can have up to {_DIGITS} digits")
        try:
            return Count(int(count.size), int(step), of=of)
        except ValueError as error:
            raise self._wrong(count, str(error)) from error

    def _duration(self, duration: Tree) -> str:
        """Return a duration as a text for `to_duration`."""
        text = self._written(duration)
        if duration.amount is not None:
            if duration.unit is None:
                raise self._wrong(
                    duration,
                    f"{text} has no unit, and engines differ in theirs: write {text}s, {text}ms or PT{text}S",
                )
            text = f"{duration.amount}{duration.unit}"
        try:
            to_duration(text)
        except ValueError as error:
            raise self._wrong(duration, str(error)) from error
        return text

    # errors

    def _written(self, part: Tree) -> str:
        return self._text[part.begin : part.end]

    def _wrong(self, part: Tree, reason: str) -> QuerySyntaxError:
        """Return the error for a part that violates the rules of the languages."""
        line, column = place_of(self._text, part.begin)[:2]
        return QuerySyntaxError(
            f"{_NO} at line {line}, column {column}: {reason}\n{excerpt(self._text, line, column)}",
            line=line,
            column=column,
        )

    def _refused(self, part: Tree, construct: str, reason: str, advice: str) -> UnsupportedQueryError:
        """Return the error for a part that cannot be maintained."""
        return _refused(*place_of(self._text, part.begin)[:2], construct, reason, advice)


def _plain(tree: Tree) -> Tree:
    """Return the query without windows; in its pattern they are graphs of their names."""
    clauses = tuple(
        clause if clause.named is None else clause.changed(named=clause.named.iri)
        for clause in tree.query.datasetClause
        if clause.window is None
    )
    query = tree.query.changed(datasetClause=clauses)
    dropped = ("output",) if clauses else ("output", "datasetClause")
    fields = {key: part for key, part in query.fields.items() if key not in dropped}
    plain = rewritten(Tree(query.name, fields, query.begin, query.end), _graph_of_window)
    return Tree("Query", {"query": plain, "base": tree.base}, tree.begin, tree.end)


def _graph_of_window(part: Any) -> Tree | None:
    # need not recurse: there is no WINDOW inside WINDOW
    is_window = isinstance(part, Tree) and part.name == "GraphGraphPattern" and isinstance(part.term, Tree)
    return part.changed(term=part.term.iri) if is_window else None
