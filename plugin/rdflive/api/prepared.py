"""Prepared queries: planned once, and subscribed to with terms for some of their variables."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from types import TracebackType
from typing import Any, Self, Unpack, overload

import rdflib
from rdflib.term import Node, Variable

from rdflive.api.opening import Windows, open_subscriptions
from rdflive.api.options import Options, complete, receiver_of, shows_options
from rdflive.api.stream import Stream
from rdflive.delivery.question import Question, read_key
from rdflive.delivery.resume import query_identity
from rdflive.delivery.subscription import Subscription
from rdflive.entail.entailment import Regime
from rdflive.entail.regimes import regime_of
from rdflive.errors import QuerySyntaxError
from rdflive.model import Delta
from rdflive.plugins import manager
from rdflive.query.given import GivenQuery, check_row, namespaces, read_query
from rdflive.query.known import KnownQuery, find_plan
from rdflive.query.parse import parse_query
from rdflive.query.plan import make_plan
from rdflive.query.segment import Algorithm
from rdflive.store import GraphLike
from rdflive.syntax.prefixes import Prefixes
from rdflive.syntax.reader import read_query as read_sparql
from rdflive.syntax.tokens import looks_continuous
from rdflive.syntax.tree import leaves
from rdflive.time.windows import Window

__all__ = ["Prepared", "Subscriptions", "check_graph", "may_share", "prepare"]


class Subscriptions(tuple[Subscription, ...]):
    """The subscriptions of a table of parameters, one per row. As a context manager it closes all of them."""

    __slots__ = ()

    def close(self) -> None:
        """Close all of them. May be repeated."""
        with ExitStack() as closing:
            for subscription in self:
                closing.callback(subscription.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class Prepared:
    """A query for many subscriptions; see `prepare`."""

    def __init__(self, query: GivenQuery, init_ns: Mapping[str, Any] | None, *, graph: object = None) -> None:
        self._query = query
        self._init_ns = init_ns
        self._namespaces = namespaces(graph, init_ns)
        self._known: dict[tuple[Any, ...], tuple[KnownQuery, dict[str, int]]] = {}
        """The plan, and the index of each variable's parameter, by the variables with terms."""

    @property
    def query(self) -> str:
        """The text of the query."""
        return self._query.text

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {' '.join(self.query.split())!r:.80}>"

    @overload
    def subscribe(
        self,
        graph: GraphLike | Stream,
        callback: Callable[[Delta], object] | None = None,
        parameters: Mapping[str, Node] | None = None,
        **options: Unpack[Options],
    ) -> Subscription: ...
    @overload
    def subscribe(
        self,
        graph: GraphLike | Stream,
        callback: Callable[[Delta], object] | None = None,
        parameters: str | os.PathLike[str] | Prepared = ...,
        **options: Unpack[Options],
    ) -> Subscription: ...
    @overload
    def subscribe(
        self,
        graph: GraphLike | Stream,
        callback: Callable[[Delta], object] | None = None,
        parameters: Iterable[Mapping[str, Node]] = ...,
        **options: Unpack[Options],
    ) -> Subscriptions: ...
    @shows_options(Options)
    def subscribe(
        self,
        graph: GraphLike | Stream,
        callback: Callable[[Delta], object] | None = None,
        parameters: (
            Mapping[str, Node] | Iterable[Mapping[str, Node]] | str | os.PathLike[str] | Prepared | None
        ) = None,
        **options: Unpack[Options],
    ) -> Subscription | Subscriptions:
        """Keep the answer of the query up to date, with terms in the place of some variables.

        Args:
            graph: The graph or stream, as for `rdflive.subscribe`.
            callback: A function of a delta, as for `rdflive.subscribe`.
            parameters: Terms by the names of variables, as `{"line": EX.S1}`; a table of parameters, which is
                an iterable of such mappings; or a query that selects them.

        A table of parameters opens one subscription per row, all in one commit. `delta.parameters` is the row
        of a delta.

        Parameters may also come from data: then `parameters` is another query on the same graph, a SELECT
        whose variables are the parameters, as `"SELECT ?line { ?user :watches ?line }"`. This opens one
        subscription, whose answer covers all of these rows and follows their changes. SELECT shows
        the row of each solution; ASK and CONSTRUCT combine all rows.

        Raises the errors of `rdflive.subscribe`, and ValueError for a variable that the query does not have.
        """
        for name in options.keys() - Options.__optional_keys__:
            if name in self._variables:
                raise TypeError(
                    f"Prepared.subscribe() got an unexpected keyword argument {name!r}; give a row of terms "
                    f"as the third argument: {{{name!r}: ...}}"
                )
        chosen = complete(Options, options, "Prepared.subscribe")
        if isinstance(parameters, str | os.PathLike):
            parameters = Prepared(read_query(parameters), self._init_ns, graph=graph)
        if isinstance(parameters, Prepared):
            return self.open(graph, callback, [{}], chosen, parameters)[0]
        if parameters is None or isinstance(parameters, Mapping):
            return self.open(graph, callback, [self._checked(parameters or {})], chosen)[0]
        if isinstance(parameters, bytes) or not isinstance(parameters, Iterable):
            raise TypeError(
                "parameters must map variables to terms, as {'line': EX.S1}, or be several such rows, or a "
                f"query, got {parameters!r}"
            )
        if chosen["resume"] is not None:
            raise ValueError(
                "resume= keeps one subscriber, so it goes with one row of parameters, not a table"
            )
        return Subscriptions(self.open(graph, callback, map(self._checked, parameters), chosen))

    def open(
        self,
        graph: GraphLike | Stream,
        callback: Callable[[Delta], object] | None,
        rows: Iterable[Mapping[str, Node]],
        options: Options,
        given: Prepared | None = None,
    ) -> list[Subscription]:
        """Open a subscription for each row of terms, or for those of another query."""
        algorithm = options["algorithm"]
        regime = regime_of(options["entailment"], options["rules"], options["strategy"], options["counts"])
        graph, sources = self._sources(graph, options["window"])
        check_graph(graph)
        receiver = receiver_of(callback, options)
        windows = Windows(
            sources, expiry=options["expiry"], output=options["output"], expires=options["expires"]
        )
        # no shared plan with provenance, because origins are traced per subscription
        alone = options["provenance"] or not may_share(algorithm)
        opened: list[Subscription] = []
        with self._query.naming(), ExitStack() as undo:
            asked, identity = [], ""
            for row in rows:
                found = (
                    self.find(row, algorithm, family=not alone, clock=not sources)
                    if given is None
                    else self._of(given, algorithm)
                )
                asked.append((found.plan, found.terms))
                identity = "" if options["resume"] is None else self._identity(row, regime, given)
            prefixes = Prefixes(self.query, self._init_ns, graph)
            undo.callback(lambda: Subscriptions(opened).close())
            for plan, members in groupby(asked, key=itemgetter(0)):
                question = Question(
                    self.query,
                    plan,
                    regime,
                    provenance=options["provenance"],
                    prefixes=prefixes,
                    key=read_key(options["key"]),
                    clock=options["clock"],
                )
                opened += open_subscriptions(
                    graph,
                    question,
                    [terms for _, terms in members],
                    receiver,
                    windows=windows,
                    resume=options["resume"],
                    identity=identity,
                    budget=options["budget"],
                    audit=options["audit"],
                )
            undo.pop_all()
        return opened

    def find(
        self,
        row: Mapping[str, Node],
        algorithm: Algorithm = "auto",
        *,
        family: bool = False,
        clock: bool = True,
    ) -> KnownQuery:
        """Return the plan for a row of terms; with `family`, a plan that other rows may share.

        With `clock`, the query may compare times with NOW().
        """
        key = *sorted(row), algorithm, family, clock
        known = self._known.get(key)
        if known is not None:
            asked, places = known
            terms = list(asked.terms)
            for name, term in row.items():
                terms[places[name]] = term
            return KnownQuery(asked.plan, tuple(terms))
        try:
            asked = find_plan(
                self.query,
                init_ns=self._namespaces,
                init_bindings=row,
                algorithm=algorithm,
                family=family,
                clock=clock,
            )
        except QuerySyntaxError as error:
            # the parser stops at the first window, with an error that does not mention windows
            if looks_continuous(self.query):
                raise error.saying("a text that declares its windows is for rdflive.register") from error
            raise
        places = dict(asked.plan.bound)
        # a variable that cannot be a parameter, such as the name of a graph, needs a plan for each term
        if places.keys() == row.keys():
            self._known[key] = asked, places
        return asked

    def _of(self, given: Prepared, algorithm: Algorithm) -> KnownQuery:
        """Return the plan for the rows of another query."""
        with given._query.naming():
            rows = parse_query(given.query, init_ns=given._namespaces, clock=True)
        parsed = parse_query(self.query, init_ns=self._namespaces, clock=True, given=rows)
        return KnownQuery(make_plan(parsed, algorithm))

    def _sources(
        self, graph: GraphLike | Stream, window: Window | None
    ) -> tuple[GraphLike, tuple[tuple[Stream, Window], ...]]:
        """Return the graph, and the windows merged with it."""
        if not isinstance(graph, Stream):
            if window is not None:
                raise ValueError(f"window={window!r} goes with an rdflive.Stream, got {graph!r}")
            return graph, ()
        if window is not None:
            return graph.graph, ((graph, window),)
        if looks_continuous(self.query):
            raise QuerySyntaxError("a text that declares its windows is for rdflive.register, not subscribe")
        raise ValueError("a subscription to a stream needs a window, as window=rdflive.Sliding('10s')")

    def _identity(self, row: Mapping[str, Node], regime: Regime | None, given: Prepared | None) -> str:
        identity = query_identity(self.query, row, self._namespaces)
        if given is not None:
            identity += f" # parameters: {query_identity(given.query, {}, given._namespaces)}"
        # another regime changes the answer, so the file must treat it as another query
        return identity if regime is None else f"{identity} # entailment: {regime.identity}"

    def _checked(self, row: Mapping[str, Node]) -> Mapping[str, Node]:
        """Return a row by bare names; raises TypeError or ValueError if it does not fit the query."""
        check_row(row)
        bare = {name.lstrip("?$"): term for name, term in row.items()}
        for name in bare:
            if name not in self._variables:
                raise ValueError(f"the query has no variable ?{name} that a term could be given for")
        return bare

    @cached_property
    def _variables(self) -> frozenset[str]:
        terms = leaves(read_sparql(self.query, self._namespaces))
        return frozenset(str(term) for term in terms if isinstance(term, Variable))


def prepare(query: str | os.PathLike[str], *, initNs: Mapping[str, Any] | None = None) -> Prepared:  # noqa: N803 - the name of rdflib's Graph.query
    """Parse and plan a query once, for many subscriptions with terms for some of its variables.

    `query` is SPARQL text, or the `pathlib.Path` of a file with it. It may use the prefixes of `initNs` and
    the default prefixes of rdflib. Each subscription supplies its terms, which are never inserted into the
    text. SELECT shows the term of a variable that it lists. Subscriptions that differ only in terms share
    their work: the cost of a change depends on the affected subscriptions, not on their total number.

    Raises `QuerySyntaxError` and `UnsupportedQueryError`.

    >>> trains = prepare("SELECT ?train ?line { ?train <http://e/line> ?line }")
    >>> graph, lines = rdflib.Graph(), [rdflib.URIRef("http://e/S1"), rdflib.URIRef("http://e/S2")]
    >>> def report(delta):
    ...     for row in delta.added:
    ...         print(delta.parameters["line"].n3(), "has", row.train.n3())
    >>> watched = trains.subscribe(graph, report, [{"line": line} for line in lines])
    >>> _ = graph.add((rdflib.URIRef("http://e/IC5"), rdflib.URIRef("http://e/line"), lines[1]))
    <http://e/S2> has <http://e/IC5>
    >>> watched.close()
    """
    given = read_query(query)
    prepared = Prepared(given, initNs, graph=rdflib.Graph())
    with given.naming():
        prepared.find({}, family=True)
    return prepared


def may_share(algorithm: Algorithm) -> bool:
    """True if queries that differ in constants may share a plan: not with an algorithm for a class of
    patterns.

    >>> may_share("star")
    False
    """
    return algorithm in ("auto", "demand", "whole", "join", "product")


def check_graph(graph: GraphLike) -> None:
    """Raise `UnsupportedStoreError` for an object that is no graph, before a missing prefix is reported."""
    if not isinstance(graph, rdflib.Graph):
        with manager.locked(graph):
            pass
