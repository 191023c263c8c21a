"""The parameters of a subscription to windows: the windows, the output, and the display of instants."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias

from rdflive.engine.multiset import TermWeights
from rdflive.engine.query import QueryState, Use
from rdflive.engine.store_state import StoreState
from rdflive.model import Terms
from rdflive.time.endings import Endings
from rdflive.time.instants import Instant
from rdflive.time.opening import Windowing
from rdflive.time.view import WindowView

__all__ = ["Output", "Windowed"]

Output: TypeAlias = Literal["delta", "istream", "dstream", "rstream"]
"""The reported part: added and removed solutions, only one of the two, or at each report the full answer."""


class Windowed:
    """The windows of a subscription, its form of output, and the display of instants."""

    def __init__(
        self,
        windowing: Windowing,
        output: Output,
        show: Callable[[Instant], Any],
        endings: Endings | None,
    ) -> None:
        self.windowing = windowing
        self.output = output
        self._show = show
        self._endings = endings
        sources = [source for found in (windowing.default, *windowing.named.values()) for source in found]
        axes = {source.window.cadence.axis for source in sources}
        counting = {(source.timeline, source.window.cadence.axis) for source in sources}
        if endings is not None and axes != {"time"} and len(counting) > 1:
            raise ValueError(
                "expires=True needs windows over time only, or windows that count the same stream"
            )
        # windows that count end at a number of elements or triples, not at an instant
        self._show_end = show if axes == {"time"} else int

    @property
    def has_whole(self) -> bool:
        """True if the reports have a full answer; a stream of removed solutions has none."""
        return self.output != "dstream"

    def time(self, state: StoreState, query: QueryState) -> Any:
        """Return the instant of the last report of the query's windows; None before the first."""
        views = (view for view in state.watched(query) if isinstance(view, WindowView))
        reports = [at for view in views for pane in view.content.panes if (at := pane.instant()) is not None]
        return self._show(max(reports)) if reports else None

    def shown(
        self, weights: TermWeights, *, initial: bool, whole: Callable[[], TermWeights]
    ) -> TermWeights | None:
        """Return the reported part of a delta; None for nothing."""
        if self.output == "delta":
            return weights
        if self.output == "rstream":
            return (weights if initial else whole()) or None
        sign = 1 if self.output == "istream" else -1
        return {terms: weight for terms, weight in weights.items() if weight * sign > 0} or None

    def ends(
        self,
        state: StoreState,
        use: Use,
        weights: Mapping[Terms, int],
        expired: Mapping[Terms, int],
    ) -> dict[Terms, Any] | None:
        """Return when the solutions of a delta expire or have expired; None without `expires=True`."""
        if self._endings is None:
            return None
        ends = self._endings.of(state, use, weights)
        shown = {terms: None if end is None else self._show_end(end) for terms, end in ends.items()}
        return {**shown, **dict.fromkeys(expired, self.time(state, use.query))}
