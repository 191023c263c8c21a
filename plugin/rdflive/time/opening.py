"""How a query's windows are opened: which view it looks at in place of a graph."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from rdflive.engine.view import Lister, State
from rdflive.entail.entailment import Regime
from rdflive.entail.rules.program import Program
from rdflive.time.closed import Closed, SharedClosure
from rdflive.time.content import Background, Stated
from rdflive.time.entailed import Entailed
from rdflive.time.expiry import Expiry, choose, program_of, regime_for
from rdflive.time.labels import Labels
from rdflive.time.pane import Pane
from rdflive.time.timeline import Timeline
from rdflive.time.view import WindowView
from rdflive.time.windows import Window

__all__ = ["Source", "Windowing", "open_view"]


class Source(NamedTuple):
    """A window over a stream."""

    timeline: Timeline
    window: Window


@dataclass(frozen=True, slots=True)
class Windowing:
    """Where the patterns of a query are matched on windows, and how what these entail is kept."""

    default: tuple[Source, ...] = ()
    """The windows that are merged into the default graph."""
    named: Mapping[Any, tuple[Source, ...]] = field(default_factory=dict)
    """The windows that stand for named graphs, by their names as terms of the query."""
    beside: Any = True
    """The graph beside the windows as a term of the query; true for the target's own, false for none."""
    expiry: Expiry = "auto"
    every: bool = False
    """Whether reports that change nothing count too."""


def open_view(
    state: State,
    sources: Sequence[Source],
    background: Lister | None,
    regime: Regime | None,
    windowing: Windowing,
    *,
    beside: Hashable,
) -> WindowView:
    """Make the view of some windows over a graph, or over none, and of all that they entail by a regime.

    `background` lists the triples of the graph, and `beside` is its key.
    """
    view = WindowView(state)
    expiry = choose(windowing.expiry, regime, windows=len(sources))
    with ExitStack() as undo:
        if regime is not None and expiry == "labels":
            (source,) = sources
            shared = _shared(source, program_of(regime), background, beside, view, undo)
            pane = _pane(source, shared.closure.labels, view, windowing, undo)
            if shared.is_behind:
                pane.note_now()
            view.content = Closed(pane, shared)
        else:
            panes = [_pane(source, None, view, windowing, undo) for source in sources]
            held = Stated(panes, None if background is None else Background(background, state.dictionary))
            view.content = held if regime is None else Entailed(held, regime_for(expiry, regime), state)
        view.on_release = undo.pop_all().close
    return view


def _pane(
    source: Source, labels: Labels | None, view: WindowView, windowing: Windowing, undo: ExitStack
) -> Pane:
    group = source.timeline.group(source.window, view.state.dictionary)
    pane = Pane(
        source.window,
        group.explicit if labels is None else labels,
        view,
        ahead=partial(source.timeline.ahead, group),
        current=lambda: source.timeline.current,
        every=windowing.every,
    )
    undo.callback(source.timeline.release)
    undo.callback(group.close, pane)
    undo.callback(pane.close)
    group.open(pane, source.timeline.reached)
    return pane


def _shared(
    source: Source,
    program: Program,
    background: Lister | None,
    beside: Hashable,
    view: WindowView,
    undo: ExitStack,
) -> SharedClosure:
    """Give the closure that windows of one cadence share, for a program and the graph beside them."""
    cadence = source.window.cadence
    group = source.timeline.group(source.window, view.state.dictionary)
    key = cadence, program, beside
    shared = group.closures.get(key)
    if shared is None:
        shared = group.closures[key] = SharedClosure(program, group, background, view.state)
    shared.views[view] = None

    def leave() -> None:
        del shared.views[view]
        if not shared.views:
            shared.close()
            del group.closures[key]

    undo.callback(leave)
    return shared
