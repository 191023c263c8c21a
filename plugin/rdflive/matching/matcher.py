"""A query compiled once, and matched with one event after another."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from rdflib import Graph

from rdflive.errors import QuerySyntaxError, UnsupportedQueryError
from rdflive.matching.events import EventError, read_background, read_event
from rdflive.matching.explanation import MatchStats, explain
from rdflive.matching.joins import Tally
from rdflive.matching.libraries import PLAIN, RDFLIB, Library, library_of
from rdflive.matching.machine import EventMachine, KeepingMachine, Machine, automata_of
from rdflive.matching.match import Match
from rdflive.model import Header, warn_of_hidden_names
from rdflive.query.given import namespaces, read_query
from rdflive.query.parse import ParsedQuery, parse_query
from rdflive.query.plan import make_plan
from rdflive.syntax.reader import read_query as read_sparql
from rdflive.syntax.tokens import looks_continuous
from rdflive.syntax.tree import Tree, place_of, walk
from rdflive.time.instants import Instant, numbered, to_instant
from rdflive.time.windows import Tumbling

__all__ = ["Matcher"]


class Matcher:
    """A query, compiled for matching small graphs, each by itself or as updates of a tumbling window.

    `query` is SPARQL, or the path of a file that contains it as a `pathlib.Path`. With `background`, a graph
    or a list of triples, the query is answered over each event together with it. The matcher reads the
    background when it is created and in `refresh`. With `window` the events come with instants, and are added
    up until the window ends. Raises `QuerySyntaxError` and `UnsupportedQueryError` as `subscribe` does. GRAPH
    and FROM are unsupported, because an event is one graph.

    >>> from rdflib import URIRef
    >>> matcher = Matcher("SELECT ?x { ?x <http://e/p> ?y . ?y <http://e/q> ?z }")
    >>> a, b, p, q = (URIRef(f"http://e/{name}") for name in "abpq")
    >>> matcher.match([(a, p, b), (b, q, a)]).solutions, matcher.match([(a, p, b)]).solutions
    ((Solution(x=rdflib.term.URIRef('http://e/a')),), ())
    """

    def __init__(
        self,
        query: str | os.PathLike[str],
        *,
        background: Graph | Sequence[Any] | None = None,
        window: Tumbling | None = None,
        lazy: bool = True,
        initNs: Mapping[str, Any] | None = None,  # noqa: N803 - as rdflib calls it
        initBindings: Mapping[str, Any] | None = None,  # noqa: N803 - as rdflib calls it
    ) -> None:
        if window is not None and not isinstance(window, Tumbling):
            raise TypeError(
                f"window is {window!r}; matching accepts Tumbling, subscribe accepts other windows"
            )
        given = read_query(query)
        with given.naming():
            parsed = _parse(given.text, initNs, initBindings)
            self._plan = make_plan(parsed)
        self._automata = automata_of(self._plan)
        self._header = Header(parsed.form, parsed.names)
        warn_of_hidden_names(given.text, parsed.names)
        self._shown: Header | None = None
        self._background = background
        self._window = window
        self._is_lazy = lazy
        self._machines: dict[Library, Machine] = {}
        self._last: Library = RDFLIB
        self._number = 0
        self._triples = 0
        self._solutions = 0
        self._tally: Tally = [0, 0, 0]
        self._now: Instant | None = None
        self._is_open = False
        self._static: list[Any] = []
        self.refresh()

    @property
    def stats(self) -> MatchStats:
        """Counters of all events so far, except those that could not be matched."""
        joins, rows, small = self._tally
        return MatchStats(self._number, self._triples, rows, joins, small, self._solutions)

    def refresh(self) -> None:
        """Read the background again. This ends an open window."""
        self._static = read_background(self._background)
        self._machines.clear()
        self._is_open = False

    def match(self, event: Any, *, at: Any = None) -> Match:
        """Match one event; in a window, add it and return the change of the answer.

        An event is an rdflib Graph, or an iterable of triples in terms of rdflib or pyoxigraph. Its instant
        is `at`, or the second item of a pair. Raises `EventError` and ignores the event if it cannot be
        matched.
        """
        # a plain list is the usual case, and skips the tests of `read_event`
        if type(event) is list and self._window is None:
            triples: Sequence[Any] = event
            name, of_file = None, False
        else:
            read = read_event(event, self._number)
            triples, name, at = read.triples, read.name, read.at if at is None else at
            of_file = read.of_file
        header = self._header
        # All triples of an event use one library.
        library = library_of(triples[0]) if triples else self._last
        if of_file:
            library = PLAIN if library is RDFLIB else library
            header = self._rdflib_header(library)
        instant = None if self._window is None else self._instant(at, library)
        machine = self._machines.get(library) or self._make(library)
        try:
            if instant is not None and self._is_next(instant):
                # Before the old window is dropped: a malformed event must change nothing.
                machine.check(triples)
                self._close()
            added, removed = machine.match(triples, self._tally)
        except (TypeError, ValueError, AttributeError) as error:
            raise self._explained(error, triples, library) from error
        # after the match: an event that cannot be matched must not move time
        self._last = library
        self._is_open = True
        self._now = instant
        number = self._number
        self._number = number + 1
        self._triples += len(triples)
        self._solutions += len(added)
        return Match(header, number, added, removed, name, at, machine.held)

    def explain(self) -> str:
        """Describe how the query is matched, and how the last event was.

        >>> print(Matcher("SELECT * { ?x <http://e/p> ?y ; <http://e/q> ?z FILTER(?y < ?z) }").explain())
        [1] star of 2 patterns, in the most recent order:
            ?x <http://e/p> ?y
            ?x <http://e/q> ?z
            sort-merge join: ?y < ?z
            nothing joined yet
        """
        machine = self._machines.get(self._last)
        return explain(self._automata, machine, self.stats, is_lazy=self._window is None or self._is_lazy)

    def _rdflib_header(self, library: Library) -> Header:
        """Return the header of solutions in rdflib's terms."""
        if self._shown is None or self._shown.convert is not library.to_rdflib:
            self._shown = Header(self._header.form, self._header.names, library.to_rdflib)
        return self._shown

    def _make(self, library: Library) -> Machine:
        machine: Machine
        if self._window is None and self._background is None:
            machine = EventMachine(self._plan, self._automata, library)
        else:
            machine = KeepingMachine(
                self._plan,
                self._automata,
                library,
                background=_in_terms_of(library, self._static),
                is_window=self._window is not None,
                is_lazy=self._is_lazy,
            )
        self._machines[library] = machine
        return machine

    def _instant(self, at: Any, library: Library) -> Instant:
        """Read the instant of an event, which must be in the open window or after it."""
        if at is None:
            raise EventError(self._number, "it has no instant; in a window give (event, at)")
        try:
            instant = to_instant(at)
        except (TypeError, ValueError) as error:
            raise EventError(self._number, str(error)) from error
        if self._now is not None and instant < self._now:
            raise EventError(
                self._number,
                f"its instant {numbered(instant)} is before {numbered(self._now)}, that of the previous "
                "event; give the events of windows in the order of time",
            )
        # a window is kept by one machine, in one library's terms
        if self._is_open and library is not self._last and not self._is_next(instant):
            raise EventError(
                self._number,
                "its triples have another form than those of the window; use the same form for all",
            )
        return instant

    def _is_next(self, instant: Instant) -> bool:
        """Return True if an instant is after the window of the previous event."""
        window, now = self._window, self._now
        return window is not None and now is not None and window.number(instant) != window.number(now)

    def _close(self) -> None:
        for machine in self._machines.values():
            machine.forget()
        self._is_open = False

    def _explained(self, error: Exception, triples: Sequence[Any], library: Library) -> Exception:
        """Return an `EventError` about the first malformed triple; if there is none, the original error."""
        for triple in triples:
            try:
                library.check(triple)
            except ValueError as found:
                return EventError(self._number, str(found))
        return error


def _parse(
    query: str, init_ns: Mapping[str, Any] | None, init_bindings: Mapping[str, Any] | None
) -> ParsedQuery:
    try:
        tree = read_sparql(query, namespaces(None, init_ns))
    except QuerySyntaxError as error:
        if looks_continuous(query):
            raise error.saying("use rdflive.register for a text that declares its windows") from error
        raise
    parsed = parse_query(query, tree=tree, init_bindings=init_bindings)
    _refuse_graphs(query, tree)
    return parsed


def _in_terms_of(library: Library, triples: list[Any]) -> list[Any]:
    """Convert the triples of an rdflib graph to the terms of a library."""
    if library is RDFLIB:
        return triples
    spelled = [tuple(map(library.to_native, triple)) for triple in triples]
    return [library.triples[0](*triple) for triple in spelled] if library.has_parts else spelled


def _refuse_graphs(query: str, tree: Tree) -> None:
    """Raise UnsupportedQueryError for clauses that read several graphs."""
    for node in walk(tree):
        name = {"GraphGraphPattern": "GRAPH", "DatasetClause": "FROM"}.get(node.name)
        if name is not None:
            line, column = place_of(query, node.begin)[:2]
            raise UnsupportedQueryError(
                f"{name} (line {line}, column {column}) cannot be matched: an event is one graph; leave "
                f"{name} out, and match each graph as an event of its own",
                construct=name,
                line=line,
                column=column,
            )
