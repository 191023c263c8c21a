"""A live validation: the results of shapes on a graph, as a subscription."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain, repeat
from typing import Any

from rdflib import Graph
from rdflib.term import Node

from rdflive.delivery import membership
from rdflive.delivery.members import Member
from rdflive.delivery.question import Question
from rdflive.delivery.receiver import Receiver
from rdflive.delivery.resume import Journal
from rdflive.delivery.subscription import Subscription
from rdflive.engine.query import QueryState, TermWeights
from rdflive.engine.store_state import StoreState
from rdflive.entail.entailment import Regime
from rdflive.model import Answers, Delta, Header, Solution, Terms
from rdflive.query.explain import Explanation
from rdflive.query.parse import ParsedQuery
from rdflive.query.plan import make_plan
from rdflive.shacl.compiling import NAMES, nothing
from rdflive.shacl.parts import COLUMNS, Part
from rdflive.shacl.reading import Reader
from rdflive.shacl.report import Report, changes_text, report_text
from rdflive.shacl.shapes import Shape, ShapesError, Target
from rdflive.store import Adapter, GraphLike

__all__ = ["LiveValidation"]

log = logging.getLogger("rdflive")


class LiveValidation(Subscription):
    """The validation results of shapes on a graph, kept up to date. Made by `rdflive.validate`.

    It has the manners of a `Subscription`. Its rows are results, with `focus`, `path`, `value`, `component`,
    `shape`, `severity` and `message` as sh:ValidationResult has them; a delta's `added` are new results, its
    `removed` those that are resolved.
    """

    __slots__ = (
        "_anchor",
        "_is_outdated",
        "_net",
        "_owes",
        "_parts",
        "_reader",
        "_regime",
        "_shapes",
        "_watches",
        "errors",
    )

    def __init__(
        self,
        adapter: Adapter,
        graph: GraphLike,
        shapes: Graph,
        regime: Regime | None,
        receiver: Receiver,
        prefixes: Any,
        key: tuple[str, ...],
        journal: Journal | None = None,
    ) -> None:
        self._shapes = shapes
        self._regime = regime
        self._parts: dict[Node, Part] = {}
        self._net: TermWeights = {}
        self._owes = False
        self._watches: list[Subscription] = []
        """Of the graphs with shapes."""
        self.errors: dict[Node | None, ShapesError] = {}
        """The shapes that a change made ill-formed. They have no results until they are mended."""
        plan = make_plan(ParsedQuery("# SHACL validation", "SELECT", nothing(), NAMES, {}))
        question = Question("# SHACL validation", plan, regime, prefixes=prefixes, key=key)
        header = Header("SELECT", COLUMNS, convert=adapter.from_native(), prefixes=prefixes, key=key)
        super().__init__(adapter, graph, question, (), header, receiver, journal)
        self._use = Member(self)
        self._reader = Reader(shapes)
        self._is_outdated = False
        self._anchor = Part(None, regime, adapter.to_native, self._gather, self._doubt)
        """Keeps the engine of the store while no shape has targets."""

    @property
    def conforms(self) -> bool:
        """Whether there is no result. Raises `ShapesError` where a shape is ill-formed now."""
        with self._capture.reading():
            self._live()
            for error in self.errors.values():
                raise error
            return not any(part.results for part in self._parts.values())

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The shapes with targets."""
        return tuple(part.shape for part in self._parts.values() if part.shape is not None)

    @property
    def graph(self) -> Graph:
        """The results as a live sh:ValidationReport, which can be subscribed to. Do not write to it."""
        with self._reading():
            if self._made is None:
                self._made = self._construct()
            return self._made.graph

    def report(self, *, details: bool = False) -> str:
        """Write the results for people, focus nodes first; with `details` why shapes within are broken."""
        with self._reading():
            now = self._plain(self._answer(), self._capture.sequence, True)
            inner = self._inner if details else None
            return report_text(self._in_rdflib(now.added), self._question.prefixes(), inner)

    def details(self, result: Solution) -> Answers[Solution]:
        """List why the value of a result does not conform to the shapes of its constraint: what SHACL calls
        sh:detail (3.6.2.5), of sh:node, sh:and, sh:or and sh:xone.

        They are worked out when they are asked for, of the data as they are now.
        """
        with self._reading():
            (row,) = self._in_rdflib([result])
            found = [item for part in self._parts_within(row) for item in part.results.items()]
            return Answers(
                self._header, chain.from_iterable(repeat(terms, weight) for terms, weight in found)
            )

    def _inner(self, row: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        parts = self._parts_within(row)
        now = self._plain(
            {key: n for part in parts for key, n in part.results.items()}, self._capture.sequence, True
        )
        return list(self._in_rdflib(now.added))

    def _parts_within(self, row: tuple[Any, ...]) -> list[Part]:
        """Validate the value of a result by the shapes of its constraint, once."""
        self._live()
        _, _, value, component, shape, *_ = row
        parts = []
        for within in self._reader.shape(shape).within(component):
            alone = replace(within, targets=(Target("node", value),))
            part = Part(alone, self._regime, self._adapter.to_native, lambda _: None, lambda: None)
            if part.sources:
                state, (answer,) = membership.join(self._adapter, self._graph, part.question, [part])
                try:
                    part.begin(state.answer(part) if answer is None else answer)
                finally:
                    membership.leave(self._adapter, state, part)
                parts.append(part)
        return parts

    def changes(self, delta: Delta) -> str:
        """Write a delta of this validation for people: a line for each result that came (+) or went (-)."""
        came, gone = self._in_rdflib(delta.added), self._in_rdflib(delta.removed)
        return changes_text(f"#{delta.sequence}", gone, came, self._question.prefixes())

    def as_pyshacl(self) -> tuple[bool, Graph, str]:
        """Give what `pyshacl.validate` returns: whether it conforms, the report as a graph, and as text."""
        return self.conforms, self.graph, self.report()

    def explain(self, shape: Node | None = None) -> Explanation:
        """Show the plan of a shape, as `Subscription.explain`; without one, of the first with constraints.

        Raises KeyError for what is no shape with a target.
        """
        with self._capture.reading():
            known = [part for part in self._parts.values() if part.sources] or [self._anchor]
            part = known[0] if shape is None else self._parts[shape]
            lines = [line for view in part.query.views for line in view.describe()] if part.sources else []
            return Explanation(part.question.plan, lines)

    def start(self) -> None:
        """Have all shapes maintained, and queue the first delta. Called under the store's lock."""
        try:
            self._join(self._anchor)
            for node in self._reader.roots():
                self._add(node)
            self._begin()
            if self._receiver.initial or self._outbox is not None:
                self._use.emit(self._answer(), self._capture.sequence, True, {})
            self._net = {}
        except BaseException:
            self.close()
            raise

    def watch(self, shapes: Subscription) -> None:
        """Take what is subscribed to a graph with shapes, to be closed with this."""
        self._watches.append(shapes)

    def follow(self, delta: Any) -> None:
        """Take what changed in the shapes graph: the shapes that it concerns are planned again."""
        changed = {row.s for row in (*delta.added, *delta.removed)}
        with self._capture.lock:
            if self._closed or self._state is None:
                return
            # until all is done: what interrupts it leaves all to be told anew, and all shapes to be read anew
            is_outdated, owes = self._is_outdated, self._owes
            self._is_outdated = self._owes = True
            if is_outdated or self._reader.is_outdated(changed):
                try:
                    self._reader = Reader(self._shapes)
                except ShapesError as error:
                    self._refuse(error.shape, error)
                    self._owes = owes
                    return
                stale = {*self._parts, *self.errors}
            else:
                self._reader.forget(changed)
                stale = {node for node, part in self._parts.items() if part.read_from & changed}
                stale |= set(self.errors)
            roots = set(self._reader.roots())
            for node in sorted(stale | (roots - {*self._parts, *self.errors}), key=str):
                self._replace(node, is_root=node in roots)
            self._is_outdated, self._owes = False, owes
            self._tell(self._capture.sequence)
        self._capture.deliver()

    def _replace(self, node: Node | None, *, is_root: bool) -> None:
        self.errors.pop(node, None)
        if node is None:
            return
        self._remove(node)
        if is_root:
            try:
                self._add(node)
            except ShapesError as error:
                self._refuse(node, error)

    def _refuse(self, node: Node | None, error: ShapesError) -> None:
        """Go on without a shape, or with the former ones where no shape can be read."""
        self.errors[node] = error
        log.warning("shapes have no results until they are mended: %s", error)

    def _add(self, node: Node) -> None:
        shape = self._reader.shape(node)
        if shape.deactivated or not shape.targets:
            return
        part = Part(shape, self._regime, self._adapter.to_native, self._gather, self._doubt)
        if part.sources:  # most classes of an ontology are shapes without a constraint
            self._join(part)
        self._parts[node] = part

    def _join(self, part: Part) -> None:
        """Have a part maintained, and take its results."""
        state, (answer,) = membership.join(self._adapter, self._graph, part.question, [part])
        self._state = state
        part.begin(state.answer(part) if answer is None else answer)

    def _remove(self, node: Node) -> None:
        part = self._parts.pop(node, None)
        if part is not None and part.sources and self._state is not None:
            part.begin({})
            membership.leave(self._adapter, self._state, part)

    def _gather(self, told: TermWeights) -> None:
        for result, weight in told.items():
            left = self._net.get(result, 0) + weight
            if left:
                self._net[result] = left
            else:
                del self._net[result]
        if self._state is not None:
            self._state.commits.gather(self._tell)

    def _tell(self, sequence: int) -> None:
        """Tell what came and went since the last time; the whole answer where an interruption left doubt."""
        whole, net = self._owes, self._net
        if not (whole or net):
            return
        self._owes = True  # as long as this may be interrupted
        self._use.emit(self._answer() if whole else net, sequence, whole, {})
        self._net, self._owes = {}, False

    def _doubt(self) -> None:
        """Tell the whole answer at the end of the commit."""
        self._owes = True
        if self._state is not None:
            self._state.commits.gather(self._tell)

    def _owe(self) -> None:
        with self._capture.lock:
            if self._state is not None and not self._closed:
                self._doubt()
                self._capture.owe()

    def _answer(self) -> TermWeights:
        self._live()
        found: TermWeights = {}
        for part in self._parts.values():
            for result, weight in part.results.items():
                found[result] = found.get(result, 0) + weight
        return found

    def _listed(self, most: int | None = None) -> list[tuple[Terms, int]]:
        return list(self._answer().items())[:most]

    def _queries(self) -> list[QueryState]:
        return [part.query for part in self._parts.values() if part.sources]

    def _algorithms(self) -> tuple[str, ...]:
        plans = (part.question.plan for part in self._parts.values())
        return tuple(name for plan in plans for basic in plan.basics for name in basic.algorithms)

    def _leave(self, state: StoreState) -> None:
        for node, part in tuple(self._parts.items()):
            if part.sources:
                membership.leave(self._adapter, state, part)
            del self._parts[node]
        membership.leave(self._adapter, state, self._anchor)

    def close(self) -> None:
        """Stop, and let its iterators end. May be repeated."""
        super().close()
        for watch in self._watches:
            watch.close()

    def _construct(self) -> Any:
        now = self._plain(self._answer(), self._capture.sequence, True)
        return Report(now, self._shapes, self._in_rdflib)

    def _in_rdflib(self, rows: Iterable[Solution]) -> Iterator[tuple[Any, ...]]:
        """Give rows in rdflib's terms; with some stores they are those of another library."""
        convert = None if self._adapter.from_native() is not None else self._adapter.to_rdflib()
        for row in rows:
            yield tuple(row) if convert is None else tuple(t if t is None else convert(t) for t in row)
