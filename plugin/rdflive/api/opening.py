"""Opens subscriptions on a graph, or on windows over streams."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import groupby
from typing import Any, Final, get_args

from rdflib import URIRef
from rdflib.term import Node

from rdflive.api.keeping import join, keep
from rdflive.api.stream import Stream
from rdflive.delivery.audit import Every
from rdflive.delivery.membership import holds
from rdflive.delivery.question import Question, check_key
from rdflive.delivery.relay import Receiver
from rdflive.delivery.resume import Journal, ResumeError, StreamLog
from rdflive.delivery.subscription import Subscription, start
from rdflive.delivery.unheld import log_notes, unsaid_notes
from rdflive.entail.entailment import Regime
from rdflive.entail.regimes import refuse_quads
from rdflive.model import Header, warn_of_hidden_names
from rdflive.plugins import manager
from rdflive.query.budget import Budget
from rdflive.query.plan import Plan
from rdflive.store import Adapter, GraphLike
from rdflive.time.expiry import Expiry, choose
from rdflive.time.opening import Windowing, WindowSource
from rdflive.time.windowed import Endings, Output, Windowed
from rdflive.time.windows import Window

__all__ = ["NO_WINDOWS", "Windows", "open_subscriptions"]


@dataclass(frozen=True)
class Windows:
    """The windows of a query, and the options of its reports."""

    default: tuple[tuple[Stream, Window], ...] = ()
    """Windows that are merged into the default graph."""
    named: Mapping[URIRef, tuple[Stream, Window]] = field(default_factory=dict)
    """Windows that stand for named graphs."""
    beside: Node | bool = True
    """The graph merged with the windows of the default graph; True for the graph beside the stream."""
    expiry: Expiry = "auto"
    output: Output = "delta"
    expires: bool = False
    stream_names: Mapping[Stream, str] = field(default_factory=dict)
    """The names of the streams in the text."""

    def __post_init__(self) -> None:
        if self.output not in get_args(Output):
            raise ValueError(f"output must be one of {get_args(Output)}, got {self.output!r}")
        if not self.streams and (self.expiry, self.output, self.expires) != ("auto", "delta", False):
            raise ValueError("expiry=, output= and expires= go with a stream and a window of it")
        for stream, window in self._all:
            # the class `Sliding` itself fits the protocol too
            known = isinstance(window, Window) and not isinstance(window, type)
            if not isinstance(stream, Stream) or not known:
                raise TypeError(
                    f"{window!r} of {stream!r} is not a window: give one such as Sliding('10s'), or a "
                    "Tumbling, Count or Landmark one"
                )
        if len({id(stream.graph) for stream in self.streams}) > 1:
            raise ValueError(
                "the streams of one query must stand beside the same graph: make each as "
                "rdflive.Stream(graph) with one graph, which may be empty"
            )

    def check(self, regime: Regime) -> None:
        """Raise ValueError if a regime's triples cannot expire in the requested way."""
        way = choose(self.expiry, regime, windows=max(len(self.default), 1))
        if self.expires and way != "labels":
            raise ValueError(
                f"expires=True needs expiry='labels' for entailed triples, got {self.expiry!r}"
                + (f" and {len(self.default)} windows in one graph" if len(self.default) > 1 else "")
            )

    @cached_property
    def streams(self) -> tuple[Stream, ...]:
        """The streams of all windows."""
        return tuple(dict.fromkeys(stream for stream, _ in self._all))

    @property
    def _all(self) -> tuple[tuple[Stream, Window], ...]:
        return *self.default, *self.named.values()

    @property
    def identity(self) -> str:
        """A text that identifies these windows, in the identity of a query; empty without windows."""
        if not self.streams:
            return ""
        default = [("", *self._seen(pair)) for pair in self.default]
        places = [*default, *((str(name), *self._seen(pair)) for name, pair in self.named.items())]
        beside = self.beside if isinstance(self.beside, bool) else self.beside.n3()
        return f" # windows: {places} beside {beside}"

    def _seen(self, pair: tuple[Stream, Window]) -> tuple[str, str]:
        stream, window = pair
        return stream.timeline.watermark.name or self.stream_names.get(stream, ""), repr(window)

    def windowed(self, plan: Plan, adapter: Adapter) -> Windowed | None:
        """Return the windows for a subscription; None without windows."""
        if not self.streams:
            return None
        windowing = Windowing(
            default=tuple(WindowSource(stream.timeline, window) for stream, window in self.default),
            named={
                name: (WindowSource(stream.timeline, window),)
                for name, (stream, window) in self.named.items()
            },
            # without a graph beside the streams there is nothing to merge
            beside=self.beside if self.beside is not True else not all(s.is_alone for s in self.streams),
            expiry=self.expiry,
            every=self.output == "rstream",
        )
        endings = Endings(plan, adapter.to_native) if self.expires else None
        return Windowed(windowing, self.output, self.streams[0].show, endings)


NO_WINDOWS: Final = Windows()
"""For a query without streams."""


def open_subscriptions(
    graph: GraphLike,
    question: Question,
    rows: Sequence[tuple[Node, ...]],
    receiver: Receiver,
    *,
    windows: Windows = NO_WINDOWS,
    resume: str | os.PathLike[str] | None = None,
    identity: str = "",
    budget: Budget | None = None,
    audit: Every | None = None,
) -> list[Subscription]:
    """Open a subscription to a question for each row of terms, in one commit.

    `resume` is the path of a journal, which stores the query's `identity`; it needs a single row.
    """
    plan, regime = question.plan, question.regime
    check_key(question.key, plan.query.form, plan.query.names)
    if question.provenance and (regime is None or resume is not None):
        raise ValueError("provenance needs entailment= or rules=, and does not go together with resume=")
    if windows.output != "delta" and resume is not None:
        raise ValueError(
            f"output={windows.output!r} does not go with resume=: a restart delivers a difference of answers"
        )
    if regime is not None:
        refuse_quads(plan)
        windows.check(regime)
    warn_of_hidden_names(question.text, plan.query.names)
    if not rows:
        return []
    with ExitStack() as undo:
        journal = None
        if resume is not None:
            journal = Journal(resume, str(receiver.name), identity + windows.identity)
            undo.callback(journal.close)
        with manager.locked(manager.store_of(graph)) as adapter:
            logs: list[StreamLog] = []
            if windows.streams and journal is not None:
                named = [(stream, windows.stream_names.get(stream, "")) for stream in windows.streams]
                logs = keep(named, journal, adapter)
            if windows.streams:
                question = replace(question, windowed=windows.windowed(plan, adapter))
            header = Header(
                plan.query.form,
                plan.query.names,
                convert=adapter.from_native(),
                prefixes=question.prefixes,
                key=question.key,
                bound=plan.bound,
                fixed=tuple(plan.query.preset.items()),
            )
            opened: list[Subscription] = []
            undo.callback(_close, opened)
            for shared, members in _plans(adapter, question, rows):
                began = [
                    Subscription(
                        adapter,
                        graph,
                        shared,
                        terms,
                        header,
                        receiver,
                        journal,
                    )
                    for terms in members
                ]
                start(began, budget)
                opened += began
            if audit is not None:
                for one in opened:
                    one._audits().begin(audit)
            if logs:
                join(logs, opened[0], str(receiver.name))
            notes = [] if question.is_own else unsaid_notes(adapter, graph, question, rows)
            for stream in windows.streams:
                stream.opened(adapter)
            # only if a plugin listens, because each write must then make a `Batch`
            if manager.listens("rdflive_batch"):
                adapter.capture.on_batch = partial(_announce, manager.store_of(graph))
        log_notes(notes, question.text)
        # the initial deltas, after the release of the lock
        adapter.capture.deliver()
        # an initial delta that could not be written to the journal
        first = opened[0]
        if isinstance(first.last_error, ResumeError) and first.closed:
            raise first.last_error
        undo.pop_all()
    return opened


def _plans(
    adapter: Adapter, question: Question, rows: Sequence[tuple[Node, ...]]
) -> Iterator[tuple[Question, list[tuple[Node, ...]]]]:
    """Group rows that share a plan; a row with a term that the store cannot hold has a plan of its own."""
    for is_held, members in groupby(rows, key=partial(holds, adapter)):
        if is_held:
            yield question, list(members)
        else:
            yield from ((replace(question, plan=question.readable(terms)), [terms]) for terms in members)


def _close(opened: Iterable[Subscription]) -> None:
    for subscription in opened:
        subscription.close()


def _announce(store: Any, captured: Any) -> None:
    manager.call_safely("rdflive_batch", store=store, batch=captured)
