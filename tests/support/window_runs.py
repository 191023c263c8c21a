"""Worlds of streams, windows and a graph beside them, with subscriptions and a reference."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import pyoxigraph as ox
from rdflib import URIRef
from rdflib.term import Node

import rdflive
from rdflive.api.opening import Windows, open_subscriptions
from rdflive.delivery.question import Question
from rdflive.delivery.relay import Receiver
from rdflive.query.known import find_plan
from rdflive.query.segment import Algorithm
from rdflive.time.windows import Window
from support.streams import (
    SECOND,
    Answer,
    Close,
    Course,
    Label,
    Pane,
    Told,
    Triple,
    View,
    evaluate,
    iri,
    second,
    spelled,
)  # fmt: skip
from support.worlds import KINDS, Face

__all__ = ["QUERIES", "STORES", "WINDOWS", "Entailing", "Opened", "Query", "World"]

STORES = ("graph", "oxigraph graph", "live store")
NODES, PREDICATES = "abcd", "pq"
WINDOWS: Sequence[Window] = (
    *(rdflive.Sliding(size, closed=closed) for size, closed in ((3, "right"), (6, "right"), (4, "both"))),
    *(
        rdflive.Sliding(size, step, start=start, closed=closed)
        for size, step, start, closed in (
            (5, 2, 0, "right"), (5, 2, 1, "left"), (4, 3, 0, "both"), (3, 1, 0, "neither"),
            (2, 5, 0, "right"),
        )
    ),
    rdflive.Tumbling(4),
    rdflive.Tumbling(3, start=1, closed="right"),
    rdflive.Landmark(0),
    rdflive.Landmark(4),
    rdflive.Landmark(0, step=3),
    rdflive.Count(3),
    rdflive.Count(5, 2),
    rdflive.Count(2, 3),
    rdflive.Count(4, 2, of="triples"),
    rdflive.Count(2, of="triples"),
)  # fmt: skip


@dataclass(frozen=True)
class Query:
    """A query and its algorithm, with `patterns` if its solutions are their matches."""

    text: str
    patterns: tuple[Triple, ...] = ()
    algorithm: Algorithm = "auto"


P, Q = iri("p"), iri("q")
QUERIES = (
    Query(f"SELECT * {{ ?x {P} ?y . ?y {Q} ?z }}", (("?x", "p", "?y"), ("?y", "q", "?z"))),
    Query(f"SELECT DISTINCT ?x {{ ?x {P} ?y . ?y ?r ?z }}", (("?x", "p", "?y"), ("?y", "?r", "?z"))),
    Query(f"SELECT * {{ ?x {P} ?y OPTIONAL {{ ?y {Q} ?z }} }}"),
    Query(f"SELECT * {{ ?x {P} ?y MINUS {{ ?y {Q} ?x }} }}"),
    Query(f"SELECT * {{ ?x {P} ?y FILTER NOT EXISTS {{ ?x {P} ?z FILTER(STR(?z) > STR(?y)) }} }}"),
    Query(f"SELECT ?x (COUNT(?y) AS ?n) {{ ?x {P} ?y }} GROUP BY ?x"),
    Query(f"SELECT * {{ {{ ?x {P} ?y }} UNION {{ ?y {Q} ?x . ?x {P} ?z }} }}"),
    Query(f"SELECT * {{ {{ {iri('a')} {P} ?y }} UNION {{ ?y {Q} {iri('b')} }} }}"),
)


@dataclass(frozen=True)
class Shown:
    """A delivered delta."""

    time: Any
    net: Answer
    expired: Answer
    initial: bool
    ends: dict[frozenset[tuple[str, str]], Any]


class Followed:
    """A subscription whose deltas are recorded and added up."""

    def __init__(self, subscribe: Callable[..., Any], *arguments: Any, **options: Any) -> None:
        self.deltas: list[Shown] = []
        self.weights: Answer = Counter()
        self.subscription = subscribe(*arguments, self._take, on_error=_fail, **options)

    def _take(self, delta: Any) -> None:
        net: Answer = Counter()
        for solution, weight in delta.weights().items():
            net[row(solution)] += weight
        expired, retracted = Counter(map(row, delta.expired)), Counter(map(row, delta.retracted))
        assert expired + retracted == Counter(map(row, delta.removed))
        ends = {row(solution): solution.expires for solution in (*delta.added, *delta.expired)}
        self.deltas.append(Shown(delta.time, net, expired, delta.initial, ends))
        self.weights.update(net)
        self.weights = Counter({found: n for found, n in self.weights.items() if n})

    def taken(self) -> list[Shown]:
        """Return the deltas since the last call."""
        if self.subscription.last_error is not None:
            raise self.subscription.last_error
        deltas, self.deltas = self.deltas, []
        return deltas

    def answers(self) -> Answer:
        """Return the answers of the subscription."""
        return Counter(map(row, self.subscription.answers()))


def row(solution: Any) -> frozenset[tuple[str, str]]:
    """Convert a solution of any library to a row of texts."""
    return frozenset((name, _text(term)) for name, term in solution.asdict().items())


def _text(term: Any) -> str:
    return str(term) if isinstance(term, Node) else str(term.value)


def _fail(subscription: Any, error: Exception) -> None:
    raise error


@dataclass(eq=False)
class Opened:
    """A subscription and its expected reports."""

    sources: tuple[tuple[int, Window], ...]
    query: Query
    view: View
    told: Told
    followed: Followed
    output: str
    expires: bool


@dataclass(frozen=True)
class Entailing:
    """A regime and the reference of its entailments."""

    name: str
    regime: Any
    close: Close
    labels: Label | None = None


@dataclass
class World:
    """Streams beside one graph, and the subscriptions to windows over them."""

    kind: str
    delay: int = 0
    lateness: int = 0
    beside: bool = True
    streams: int = 1
    opened: list[Opened] = field(default_factory=list)
    checks: int = 0

    def __post_init__(self) -> None:
        self.face = Face(KINDS[self.kind]())
        graph = self.face.graph if self.beside else None
        self.views: list[View] = []
        options = {"delay": self.delay or None, "lateness": self.lateness or None}
        self.live = [rdflive.Stream(graph, **options) for _ in range(self.streams)]
        delay, lateness = self.delay * SECOND, self.lateness * SECOND
        self.courses = [Course(self.views, delay, lateness) for _ in range(self.streams)]
        self.present: set[Triple] = set()
        self._keys: dict[Any, View] = {}

    def add(self, triples: Sequence[Triple], at: int, *, sign: int = 1, stream: int = 0) -> None:
        """Add an element to a stream, and compare."""
        exact = self._put(triples, at, sign=sign, stream=stream)
        self.check(exact=exact)

    def _put(self, triples: Sequence[Triple], at: int, *, sign: int = 1, stream: int = 0) -> bool:
        course, live = self.courses[stream], self.live[stream]
        exact = course.done is None or at * SECOND > course.done
        element: Any = [tuple(URIRef(spelled(name)) for name in triple) for triple in triples]
        taken = (live.add if sign > 0 else live.remove)(element, at=at)
        assert taken == course.put(sign, triples, at * SECOND)
        assert live.late == course.late
        return exact

    def advance(self, at: int, *, stream: int = 0) -> None:
        """Advance a stream, and compare."""
        self.live[stream].advance_to(at)
        self.courses[stream].advance(at * SECOND)
        self.check()

    def write(self, writes: Iterable[tuple[int, Triple]], *puts: Any, single: bool = False) -> None:
        """Change the graph in one commit, add elements to streams before its end, and compare."""
        with ExitStack() as stack:
            if not single:
                stack.enter_context(rdflive.batch(self.face.graph))
            for sign, triple in writes:
                (self.present.add if sign > 0 else self.present.discard)(triple)
                self._write(sign, triple)
            for triples, at, sign, stream in puts:
                self._put(triples, at, sign=sign, stream=stream)
        now = frozenset(self.present)
        if self.beside and now != self.courses[0].background:
            for course in self.courses:
                course.background = now
            for view in self.views:
                if view.beside and all(pane.shows_at_once for pane in view.panes):
                    view.commit([], 0, None, now)
        self.check(exact=not puts)

    def _write(self, sign: int, triple: Triple) -> None:
        graph = self.face.graph
        if self.face.native:
            quad = ox.Quad(*(ox.NamedNode(spelled(name)) for name in triple))
            (graph.add if sign > 0 else graph.remove)(quad)
        else:
            terms = tuple(URIRef(spelled(name)) for name in triple)
            (graph.add if sign > 0 else graph.remove)(terms)

    def open(
        self,
        query: Query,
        *sources: tuple[int, Window],
        output: str = "delta",
        expires: bool = False,
        entailing: Entailing | None = None,
        expiry: str = "auto",
    ) -> Opened | None:
        """Subscribe; return None if the windows reach farther back than the existing ones."""
        if not all(self._may_open(stream, window) for stream, window in sources):
            return None
        key = sources, output == "rstream", entailing and entailing.name, expiry
        view = self._keys.get(key)
        if view is None:
            view = self._keys[key] = self._view(sources, output == "rstream", entailing)
        told = Told(query.text, query.patterns if expires else ())
        view.told.append(told)
        windows = Windows(
            default=tuple((self.live[stream], window) for stream, window in sources),
            output=output, expires=expires, expiry=expiry,
        )  # fmt: skip
        followed = Followed(self._subscribe, query, windows, entailing)
        opened = Opened(sources, query, view, told, followed, output, expires)
        self.opened.append(opened)
        deltas, expected = followed.taken(), evaluate(query.text, view.triples())
        if output != "delta" and (output == "dstream" or not expected):
            assert not deltas
        else:
            (first,) = deltas
            assert first.initial
            assert first.net == expected
        return opened

    def _subscribe(
        self, query: Query, windows: Windows, entailing: Entailing | None, callback: Any, on_error: Any
    ) -> Any:
        regime = None if entailing is None else entailing.regime
        asked = find_plan(query.text, init_ns={}, algorithm=query.algorithm, family=True)
        (opened,) = open_subscriptions(
            self.live[0].graph, Question(query.text, asked.plan, regime), [asked.terms],
            Receiver.checked(callback, initial=True, name=None, on_error=on_error), windows=windows,
        )  # fmt: skip
        return opened

    def _view(self, sources: Any, every: bool, entailing: Entailing | None) -> View:
        close = (lambda triples: triples) if entailing is None else entailing.close
        panes: list[Pane] = []
        view = View(panes, self.beside, every, close, None if entailing is None else entailing.labels)
        panes += [self.courses[stream].pane(window) for stream, window in sources]
        view.background = self.courses[0].background if self.beside else frozenset()
        self.views.append(view)
        for pane in panes:
            pane.opened()
        return view

    def _axis(self, stream: int, window: Window) -> list[Opened]:
        axis = window.cadence.axis
        return [
            each for each in self.opened
            if any(other == stream and w.cadence.axis == axis for other, w in each.sources)
        ]  # fmt: skip

    def _may_open(self, stream: int, window: Window) -> bool:
        """Return True if a window reaches no farther back than the first on its axis."""
        alike = self._axis(stream, window)
        if not alike:
            return True
        found = [w for s, w in alike[0].sources if s == stream and w.cadence.axis == window.cadence.axis]
        if (
            self.lateness
            and self.courses[stream].released
            and window.cadence not in {w.cadence for w in found}
        ):
            return False  # with late elements, windows share content only with windows of the same cadence
        reaches = [w.scope.reach for w in found]
        if None in reaches:
            first = min(w.scope.first for w in found if w.scope.reach is None)
            return window.scope.reach is None and window.scope.first >= first
        held = max(w.scope.reach - w.cadence.lag for w in found if w.scope.reach is not None)
        return window.scope.reach is not None and window.scope.reach <= held

    def close(self, opened: Opened) -> None:
        """Close a subscription, and with the first on an axis all others on it."""
        if opened not in self.opened:
            return
        alike = [self._axis(stream, window) for stream, window in opened.sources]
        self.opened.remove(opened)
        opened.followed.subscription.close()
        opened.view.told.remove(opened.told)
        if not opened.view.told:
            self.views.remove(opened.view)
            self._keys = {key: view for key, view in self._keys.items() if view is not opened.view}
        for others in alike:
            if others[0] is opened:
                for other in others[1:]:
                    self.close(other)

    def check(self, *, exact: bool = True) -> None:
        """Compare the deltas and the answers of every subscription with the reference."""
        for each in self.opened:
            self.checks += 1
            deltas, reports = each.followed.taken(), each.told.reports
            each.told.reports = []
            timed = exact and len({s for s, _ in each.sources}) == 1
            loose = not exact and len(each.sources) > 1  # the order of corrections is undefined
            _compare(each, deltas, reports, timed=timed, loose=loose)
            expected = evaluate(each.query.text, each.view.triples())
            assert each.followed.answers() == expected
            if each.output == "delta":
                assert each.followed.weights == expected

    def finish(self) -> None:
        """Expire all triples, close all subscriptions, and check that no state is left."""
        self.write([(-1, triple) for triple in sorted(self.present)])
        for number, course in enumerate(self.courses):
            known = [at for at in (course.done, course.latest) if at is not None]
            if known:
                self.advance(max(known) // SECOND + 60, stream=number)
        for each in self.opened:
            if all(w.cadence.axis == "time" and w.scope.reach is not None for _, w in each.sources):
                assert each.followed.answers() == evaluate(each.query.text, frozenset()), each.sources
        last = self.opened[0].followed.subscription if self.opened else None
        state = None if last is None else last._state
        while self.opened:
            self.close(self.opened[0])
        for live in self.live:
            assert live.timeline.groups == {}
        if last is not None and state is not None:
            state.dictionary.sweep()
            assert len(state.dictionary) == 0
            assert not last._adapter.capture.listeners


def _compare(each: Opened, deltas: list[Any], reports: list[Any], *, timed: bool, loose: bool) -> None:
    found = [(delta.time if timed else None, delta.net, delta.expired) for delta in deltas]
    wanted = []
    for report in reports:
        net, expired = report.net, report.expired
        if each.output == "rstream":
            net, expired = report.whole, Counter()
        elif each.output != "delta":
            sign = 1 if each.output == "istream" else -1
            net = Counter({row: n for row, n in net.items() if n * sign > 0})
            expired = expired if sign < 0 else Counter()
        if net:
            wanted.append((report.time if timed else None, net, expired))
    found = [
        (None if n < len(wanted) and wanted[n][0] is None else time, net, expired)
        for n, (time, net, expired) in enumerate(found)
    ]
    if loose:
        found, wanted = [_total(found)], [_total(wanted)]
    assert found == wanted, (each.sources, each.query.text, each.output, found, wanted)
    if each.expires and not loose and len(deltas) == len(reports) and each.output == "delta":
        for delta, report in zip(deltas, reports, strict=True):
            timed_axis = each.sources[0][1].cadence.axis == "time"
            for row, end in report.ends.items():
                shown = second(end) if end is not None and timed_axis else end
                assert delta.ends[row] == shown, (each.sources, each.query.text, row)
            assert all(delta.ends[row] == delta.time for row in report.expired)


def _total(told: list[Any]) -> dict[Any, int]:
    total: Counter[Any] = Counter()
    for _, net, _ in told:
        total.update(net)
    return {row: n for row, n in total.items() if n}
