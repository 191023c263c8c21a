"""A live validation: a subscription to the results of shapes on a graph."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from dataclasses import replace
from itertools import chain, repeat
from typing import Any, Final, TypeAlias

from rdflib import BNode, Graph, Literal, URIRef
from rdflib.graph import ReadOnlyGraphAggregate
from rdflib.term import Node

from rdflive.delivery import membership
from rdflive.delivery.question import Question
from rdflive.delivery.relay import Receiver
from rdflive.delivery.resume import Journal
from rdflive.delivery.subscription import Member, Subscription
from rdflive.engine.multiset import TermWeights, add_up, add_weights
from rdflive.engine.query import QueryState
from rdflive.engine.store_state import StoreState
from rdflive.entail.entailment import Regime
from rdflive.entail.rdfs import Rdfs
from rdflive.entail.rules import RuleRegime
from rdflive.errors import PlanError, SchemaError, UnsupportedQueryError, UnsupportedStoreError
from rdflive.model import Answers, Delta, Header, Solution, Terms, TermWriter, rows_are_unread
from rdflive.query.demand import is_whole
from rdflive.query.explain import Explanation
from rdflive.query.parse import ParsedQuery
from rdflive.query.plan import make_plan
from rdflive.shacl.compiling import NAMES, nothing
from rdflive.shacl.imports import import_notes
from rdflive.shacl.parts import COLUMNS, ShapeResults
from rdflive.shacl.reading import ShapesReader
from rdflive.shacl.report import Report, ReportText
from rdflive.shacl.selection import SelectedShapes
from rdflive.shacl.shapes import FocusTarget, Shape, ShapesError
from rdflive.shacl.unread import unread_notes
from rdflive.shacl.values import shown
from rdflive.shacl.vocabulary import SH, path_text
from rdflive.store import Adapter, GraphLike

__all__ = ["LiveValidation"]

log = logging.getLogger("rdflive")

Watch: TypeAlias = Callable[[frozenset[URIRef], Callable[[Delta], object]], list[Subscription]]
"""Subscribes to the shapes graphs, including the given predicates of SPARQL-based components."""
_RDFS: Final = URIRef("http://www.w3.org/ns/entailment/RDFS")
_NOTHING: Final = "Nothing was validated: no shape has both a target and an active constraint."
_LISTED: Final = 5
"""Number of shapes that an error about an unknown shape names; the others are counted."""


class LiveValidation(Subscription):
    """The validation results of shapes on a graph, kept up to date. Returned by `rdflive.validate`.

    It is a `Subscription`. Its rows are results, with `focus`, `path`, `value`, `component`, `shape`,
    `severity` and `message` as in sh:ValidationResult. A delta's `added` are new results, its `removed` are
    resolved ones.
    """

    __slots__ = (
        "_anchor",
        "_given",
        "_is_outdated",
        "_net",
        "_owes",
        "_parts",
        "_read_from",
        "_reader",
        "_regime",
        "_selection",
        "_shapes",
        "_watch",
        "_watches",
        "errors",
    )

    def __init__(
        self,
        adapter: Adapter,
        graph: GraphLike,
        shapes: Sequence[Graph],
        selection: SelectedShapes,
        watch: Watch,
        regime: Regime | None,
        receiver: Receiver,
        prefixes: Any,
        key: tuple[str, ...],
        journal: Journal | None = None,
    ) -> None:
        self._given = shapes
        self._shapes = shapes[0] if len(shapes) == 1 else ReadOnlyGraphAggregate(list(shapes))
        self._selection = selection
        self._regime = regime
        self._parts: dict[Node, ShapeResults] = {}
        self._net: TermWeights = {}
        self._owes = False
        self._watch = watch
        self._watches: list[Subscription] = []
        """The subscriptions to the shapes graphs."""
        self._read_from: dict[Node, set[Node]] = {}
        """By subject of the shapes graph, the shapes that were read from it."""
        self.errors: dict[Node | None, ShapesError] = {}
        """The shapes that a change made ill-formed. They have no results until they are corrected."""
        plan = make_plan(ParsedQuery("SHACL validation", "SELECT", nothing(), NAMES, {}))
        question = Question("SHACL validation", plan, regime, prefixes=prefixes, key=key)
        header = Header("SELECT", COLUMNS, convert=adapter.from_native(), prefixes=prefixes, key=key)
        super().__init__(adapter, graph, question, (), header, receiver, journal)
        self._use = Member(self)
        self._reader = ShapesReader(self._shapes)
        self._is_outdated = False
        self._anchor = ShapeResults(None, regime, adapter.to_native, self._gather, self._doubt)
        """Keeps the engine of the store alive while no shape has targets."""

    @property
    def conforms(self) -> bool:
        """True if there are no results. Raises `ShapesError` if a shape is now ill-formed."""
        with self._capture.reading():
            self._live()
            for error in self.errors.values():
                raise error
            return not any(part.results for part in self._parts.values())

    @property
    def validates(self) -> bool:
        """True if a shape in use has a target and a constraint, so that data can fail to conform."""
        return any(part.sources for part in list(self._parts.values()))

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The shapes in use: all with targets, or the selected ones."""
        return tuple(part.shape for part in self._parts.values() if part.shape is not None)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on the unread parts of shapes, on selected focus nodes that are in no triple, and on shapes
        that validate nothing.

        Unread parts are SHACL properties that are misspelled or serve another purpose, and imports that were
        not followed.
        """
        with self._capture.reading():
            among_data = any(each is self._graph for each in self._given)
            has_rules = isinstance(self._regime, RuleRegime)
            unread = unread_notes(self._shapes, self._reader, among_data=among_data, has_rules=has_rules)
            return (*import_notes(self._given), *unread, *self._absent(), *self._idle(among_data))

    def _idle(self, among_data: bool) -> Iterator[str]:
        if not self.validates and not self.errors:
            place = "in the graph itself" if among_data else "among the given ones"
            yield f"nothing is validated: no shape {place} has both a target and an active constraint"

    def _absent(self) -> Iterator[str]:
        for node in self._selection.focus_nodes or ():
            native = self._adapter.to_native(node)
            triples = ((native, None, None), (None, None, native))
            if not any(quad for pattern in triples for quad in self._adapter.quads(pattern)):
                yield f"the focus node {node.n3()} is in no triple"

    @property
    def _unaudited(self) -> str:
        """The reason why a validation cannot be audited."""
        return "no query of the store's engine has the results of shapes"

    @property
    def graph(self) -> Graph:
        """The results as a live sh:ValidationReport. It can be subscribed to, but must not be changed."""
        with self._reading():
            if self._made is None:
                self._made = self._construct()
            return self._made.graph

    def report(self, *, details: bool = False) -> str:
        """Write the results for people, grouped by focus node; with `details`, with the reasons in nested
        shapes.
        """
        with self._reading():
            if not self.validates and not self.errors:
                return _NOTHING
            now = self._plain(self._answer(), self._capture.sequence, True)
            inner = self._inner if details else None
            return self._text().whole(self._in_rdflib(now.added), self.errors.values(), inner)

    def details(self, result: Solution) -> Answers[Solution]:
        """List why the value of a result does not conform to the shapes of its constraint.

        These are the values of sh:detail (3.6.2.5), for sh:node, sh:and, sh:or and sh:xone. They are computed
        on the present data.
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

    def _parts_within(self, row: tuple[Any, ...]) -> list[ShapeResults]:
        """Validate the value of a result once, against the shapes of its constraint."""
        self._live()
        _, _, value, component, shape, *_ = row
        parts = []
        for within in self._reader.shape(shape).within(component):
            alone = replace(within, targets=(FocusTarget("node", value),))
            part = ShapeResults(alone, self._regime, self._adapter.to_native, lambda _: None, lambda: None)
            if part.sources:
                state, (answer,) = membership.join(self._adapter, self._graph, part.question, [part])
                try:
                    part.begin(state.answer(part) if answer is None else answer)
                finally:
                    membership.leave(self._adapter, state, part)
                parts.append(part)
        return parts

    def lines(self, results: Iterable[Solution]) -> list[str]:
        """Write a line for each of some results of this validation."""
        return self._text().lines(self._in_rdflib(results))

    def graph_of(self, results: Iterable[Solution]) -> Graph:
        """Return some results of this validation as a separate sh:ValidationReport."""
        with self._reading():
            graph = self._report(results, self._capture.sequence).graph
        for prefix, namespace in self._question.prefixes().items():
            graph.bind(prefix, namespace)
        return graph

    def changes(self, delta: Delta) -> str:
        """Write a delta of this validation for people: a line for each added (+) or removed (-) result."""
        came, gone = self._in_rdflib(delta.added), self._in_rdflib(delta.removed)
        return self._text().changes(f"#{delta.sequence}", gone, came)

    def _text(self) -> ReportText:
        prefixes = self._question.prefixes()
        writer = TermWriter(prefixes)
        paths: dict[Node, str] = {}
        for shape in self._reader.read():
            if isinstance(shape.path_node, BNode):
                paths[shape.path_node] = path_text(shape.path, writer)
        return ReportText(prefixes, paths)

    def as_pyshacl(self) -> tuple[bool, Graph, str]:
        """Return the same as `pyshacl.validate`: whether the graph conforms, the report as a graph, and as
        text.
        """
        return self.conforms, self.graph, self.report()

    def explain(self, shape: Node | None = None) -> Explanation:
        """Show the plan of a shape, as `Subscription.explain`; without a shape, of the first with
        constraints.

        Raises KeyError if `shape` is not a shape with a target.
        """
        with self._capture.reading():
            known = [part for part in self._parts.values() if part.sources] or [self._anchor]
            part = known[0] if shape is None else self._parts[shape]
            if not part.sources:
                return Explanation(part.question.plan)
            lines = [line for view in part.query.views for line in view.describe()]
            return Explanation(part.question.plan, lines, is_whole=is_whole(part.query.plan))

    def start(self) -> None:
        """Start maintaining all shapes, and queue the first delta. The caller holds the store's lock."""
        try:
            self._join(self._anchor)
            self._check_entailment()
            for node in self._roots():
                self._add(node)
            self._begin()
            if self._receiver.initial or self._outbox is not None:
                self._use.emit(self._answer(), self._capture.sequence, True, {})
            self._net = {}
        except BaseException:
            self.close()
            raise

    def begin(self) -> None:
        """Subscribe to the shapes graphs, and log the notes. Called after `start`, without the lock."""
        self._follow_graphs()
        if not rows_are_unread():
            for note in self.notes:
                log.warning("%s", note)

    def _roots(self) -> Iterable[Node]:
        """List the shapes in use."""
        used = self._selection.shapes
        return self._reader.roots() if used is None else sorted(used, key=shown)

    def _is_root(self, node: Node) -> bool:
        used = self._selection.shapes
        return self._reader.is_root(node) if used is None else node in used

    def follow(self, delta: Any) -> None:
        """Apply changes of the shapes graph: the shapes that they concern are planned again."""
        changed = self._reader.concerned((*delta.added, *delta.removed))
        if not changed and not self._is_outdated:
            return
        with self._capture.lock:
            if self._closed or self._state is None:
                return
            before = self._reader.components.parameters
            # until the end: after an interruption the full answer is resent, and all shapes are read again
            is_outdated, owes = self._is_outdated, self._owes
            self._is_outdated = self._owes = True
            if is_outdated or self._reader.is_outdated(changed):
                self._read_all()
            else:
                self._reader.forget(changed)
                self._replace(self._stale(changed))
            # if not all shapes could be read, the next change must try again
            self._is_outdated, self._owes = None in self.errors, owes
            if self._net or self._owes:
                self._capture.sequence += 1  # so that no two deltas have the same number
            self._tell(self._capture.sequence)
            if isinstance(self._made, Report):
                self._made.conform(not self.errors)
            is_known = before == self._reader.components.parameters
        self._capture.deliver()
        if not is_known:
            self._follow_graphs()

    def _stale(self, changed: Set[Node]) -> set[Node | None]:
        """Return the shapes that were read from changed subjects, that failed, or that are new."""
        stale: set[Node | None] = {node for subject in changed for node in self._read_from.get(subject, ())}
        return stale | {node for node in changed if self._is_root(node)} | set(self.errors)

    def _read_all(self) -> None:
        try:
            self._reader = ShapesReader(self._shapes)
            self._check_entailment()
        except ShapesError as error:
            self._refuse(None, error)
            return
        self._replace({*self._parts, *self.errors, *self._roots()})

    def _check_entailment(self) -> None:
        """Raise `ShapesError` if the shapes require a regime that is not in use (2.4)."""
        for regime in sorted(self._reader.entailments, key=str):
            has_rules = regime == SH.Rules and isinstance(self._regime, RuleRegime)
            if not has_rules and (regime != _RDFS or not isinstance(self._regime, Rdfs)):
                advice = ': pass entailment="rdfs"' if regime == _RDFS else ""
                raise ShapesError(f"the shapes require the entailment regime {regime.n3()}{advice}")

    def _follow_graphs(self) -> None:
        """Subscribe to the shapes graphs, and close the earlier subscriptions."""
        before, self._watches = self._watches, self._watch(self._reader.components.parameters, self.follow)
        for watch in before:
            watch.close()

    def _replace(self, nodes: Set[Node | None]) -> None:
        for node in sorted(nodes, key=str):
            before = self.errors.pop(node, None)
            if node is None:
                continue
            self._remove(node)
            if self._is_root(node):
                try:
                    self._add(node)
                except ShapesError as error:
                    self._refuse(node, error, before)

    def _refuse(self, node: Node | None, error: ShapesError, before: ShapesError | None = None) -> None:
        """Continue without a shape, or with the former shapes if none can be read."""
        self.errors[node] = error
        if str(before) != str(error):
            log.warning("ill-formed shapes have no results until they are corrected: %s", error)

    def _add(self, node: Node) -> None:
        if not self._reader.is_shape(node):
            known = sorted(map(shown, self._reader.roots()))
            some = ", ".join(known[:_LISTED]) + (
                f" and {len(known) - _LISTED:,} more" * (len(known) > _LISTED)
            )
            raise ShapesError(f"{shown(node)} is not a shape; shapes with targets: {some or 'none'}", node)
        try:
            shape = self._selection.applied(self._reader.shape(node))
        except RecursionError as error:
            raise ShapesError(f"the shape {node.n3()} is nested too deeply", node) from error
        try:
            part = ShapeResults(shape, self._regime, self._adapter.to_native, self._gather, self._doubt)
            if part.sources:  # most classes of an ontology are shapes without constraints
                self._join(part)
        except (
            UnsupportedQueryError,
            UnsupportedStoreError,
            PlanError,
            SchemaError,
            RecursionError,
        ) as error:
            reason = "it is nested too deeply" if isinstance(error, RecursionError) else error
            raise ShapesError(f"the shape {node.n3()} cannot be maintained: {reason}", node) from error
        self._parts[node] = part
        for subject in shape.read_from:
            self._read_from.setdefault(subject, set()).add(node)

    def _join(self, part: ShapeResults) -> None:
        """Start maintaining a part, and take its results."""
        state, (answer,) = membership.join(self._adapter, self._graph, part.question, [part])
        self._state = state
        part.begin(state.answer(part) if answer is None else answer)

    def _remove(self, node: Node) -> None:
        part = self._parts.pop(node, None)
        for subject in () if part is None else part.read_from:
            self._read_from[subject].discard(node)
            if not self._read_from[subject]:
                del self._read_from[subject]
        if part is not None and part.sources and self._state is not None:
            part.begin({})
            membership.leave(self._adapter, self._state, part)

    def _gather(self, changes: TermWeights) -> None:
        add_weights(self._net, changes.items())
        if self._state is not None:
            self._state.commits.gather(self._tell)

    def _tell(self, sequence: int) -> None:
        """Emit the changes since the last call; the full answer if an interruption left them in doubt."""
        whole, net = self._owes, self._net
        # after an interrupted `close` the parts still report, and must not make a commit fail
        if self._closed or not (whole or net):
            return
        self._owes = True  # until the delta is emitted
        self._use.emit(self._answer() if whole else net, sequence, whole, {})
        self._net, self._owes = {}, False

    def _doubt(self) -> None:
        """Emit the full answer at the end of the commit."""
        self._owes = True
        if self._state is not None:
            self._state.commits.gather(self._tell)

    def _owe_answer(self, state: StoreState) -> None:  # noqa: ARG002 - the parts have the same state
        self._doubt()

    def _answer(self) -> TermWeights:
        self._live()
        return add_up(found for part in self._parts.values() for found in part.results.items())

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
        """Stop the subscription and end its iterators. May be repeated."""
        super().close()
        for watch in self._watches:
            watch.close()

    def _construct(self) -> Any:
        now = self._plain(self._answer(), self._capture.sequence, True)
        return self._report(now.added, now.sequence)

    def _report(self, results: Iterable[Solution], since: int) -> Report:
        read, messages = self._in_rdflib, self._messages_of
        return Report(results, since, self._shapes, read, messages, is_whole=not self.errors)

    def _messages_of(self, row: tuple[Any, ...]) -> tuple[Literal, ...]:
        """Return all messages of the constraint of a result; none if its own message is not among them."""
        _, _, _, component, shape, _, message, constraint = row
        for part in self._parts.values():
            for source in part.sources:
                same = (source.component, source.shape, source.constraint) == (component, shape, constraint)
                if same and message in source.messages:
                    return source.messages
        return ()

    def _in_rdflib(self, rows: Iterable[Solution]) -> Iterator[tuple[Any, ...]]:
        """Convert rows to rdflib's terms, if the store uses another library."""
        convert = None if self._adapter.from_native() is not None else self._adapter.to_rdflib()
        for row in rows:
            yield tuple(row) if convert is None else tuple(t if t is None else convert(t) for t in row)
