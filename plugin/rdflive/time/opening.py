"""Opens the windows of a query and makes the view that its patterns read in place of a graph."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from rdflive.engine.view import Lister, State
from rdflive.entail.entailment import Regime
from rdflive.entail.rules.labels import Labels
from rdflive.entail.rules.program import Program
from rdflive.time.content import ExplicitContent, ReportedBackground
from rdflive.time.entailed_content import EntailedContent
from rdflive.time.expiry import Expiry, choose, program_of, regime_for
from rdflive.time.labelled_content import LabelledContent, LabelledProofs, SharedClosure
from rdflive.time.pane import Pane
from rdflive.time.timeline import Timeline
from rdflive.time.view import WindowView
from rdflive.time.windows import Window

__all__ = ["WindowSource", "Windowing", "open_view"]


class WindowSource(NamedTuple):
    """A window over a stream."""

    timeline: Timeline
    window: Window


@dataclass(frozen=True, slots=True)
class Windowing:
    """The windows that the patterns of a query are matched on, and how entailed triples expire."""

    default: tuple[WindowSource, ...] = ()
    """The windows that are merged into the default graph."""
    named: Mapping[Any, tuple[WindowSource, ...]] = field(default_factory=dict)
    """The windows in place of named graphs, by their names as terms of the query."""
    beside: Any = True
    """The background graph as a term of the query; True for the target's own graph, False for none."""
    expiry: Expiry = "auto"
    every: bool = False
    """True to deliver reports without changes too."""

    @property
    def identity(self) -> Hashable:
        """A key that is equal for queries over the same windows."""
        return self.default, frozenset(self.named.items()), self.beside, self.expiry, self.every


def open_view(
    state: State,
    sources: Sequence[WindowSource],
    background: Lister | None,
    regime: Regime | None,
    windowing: Windowing,
    *,
    beside: Hashable,
) -> WindowView:
    """Make the view of some windows and an optional background graph, and of the triples they entail by a
    regime.

    `background` lists the triples of the background graph, and `beside` is its key.
    """
    view = WindowView(state)
    expiry = choose(windowing.expiry, regime, windows=len(sources))
    # On an error all opened parts are closed again; otherwise the view closes them when it is released.
    with ExitStack() as undo:
        if regime is not None and expiry == "labels":
            (source,) = sources
            shared = _shared(source, program_of(regime), background, beside, view, undo)
            pane = _pane(source, shared.closure.labels, view, windowing, undo)
            # Other windows share the closure, which may lack their changes until the next report.
            if shared.is_behind:
                pane.note_now()
            view.content = LabelledContent(pane, shared)
            view.traced = LabelledProofs(program_of(regime), shared._explicit, pane, state)
        else:
            panes = [_pane(source, None, view, windowing, undo) for source in sources]
            held = ExplicitContent(
                panes, None if background is None else ReportedBackground(background, state.dictionary)
            )
            if regime is None:
                view.content = held
            else:
                view.content = view.traced = EntailedContent(held, regime_for(expiry, regime), state)
        view.on_release = undo.pop_all().close
    return view


def _pane(
    source: WindowSource, labels: Labels | None, view: WindowView, windowing: Windowing, undo: ExitStack
) -> Pane:
    group = source.timeline.group(source.window, view.state.dictionary)
    pane = Pane(
        source.window,
        group.explicit if labels is None else labels,
        view,
        ahead=partial(source.timeline.ahead, group),
        current=lambda: source.timeline.watermark.current,
        every=windowing.every,
    )
    # run from the last to the first: a pane leaves its group before empty groups are removed
    undo.callback(source.timeline.release)
    undo.callback(group.close, pane)
    undo.callback(pane.close)
    group.open(pane, source.timeline.reached)
    return pane


def _shared(
    source: WindowSource,
    program: Program,
    background: Lister | None,
    beside: Hashable,
    view: WindowView,
    undo: ExitStack,
) -> SharedClosure:
    """Return the closure that windows with one cadence share, for a program and a background graph.

    Windows with other cadences are at other points of the stream, so their closures differ.
    """
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
