"""Makes the delta of a subscriber from the weights of the engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rdflive.engine.multiset import TermWeights
from rdflive.engine.query import Use
from rdflive.engine.store_state import StoreState
from rdflive.entail.provenance import Traced, Tracer
from rdflive.model import Delta, Header, Origin, Terms
from rdflive.time.instants import dated
from rdflive.time.view import WindowView
from rdflive.time.windowed import Windowed

__all__ = ["DeltaMaker"]


class DeltaMaker:
    """Makes the deltas of one subscription with origins, windows or NOW().

    Other subscriptions need none: they report the engine's weights. All methods run under the store's lock.
    """

    def __init__(
        self, header: Header, asked: Terms, tracer: Tracer | None, windowed: Windowed | None
    ) -> None:
        self._header = header
        self._asked = asked
        self._tracer = tracer
        self._windowed = windowed
        self._has_begun = False

    @property
    def is_traced(self) -> bool:
        """True if origins of solutions are traced, so that every delta must be made."""
        return self._tracer is not None

    def make(
        self,
        state: StoreState,
        use: Use,
        weights: TermWeights,
        sequence: int,
        initial: bool,
        expired: TermWeights,
        *,
        traces: bool = True,
    ) -> Delta | None:
        """Return the delta to report, or None. It has origins if `traces` is true.

        A full answer at the start is reported only if it is not empty. A later full answer is always
        reported, because it replaces the subscriber's answer.
        """
        begun, self._has_begun = self._has_begun, True
        origins = None
        if traces and self._tracer is not None:
            # a query with provenance has one basic graph pattern, so it reads one view
            view: Any = state.watched(use.query)[0]
            traced: Traced = view.traced if isinstance(view, WindowView) else view
            # all changes, also those that a window does not report
            origins = self._tracer.trace(traced, weights, initial=initial)
        replaces = initial and begun
        return self._report(state, use, weights, sequence, initial, expired, origins, replaces=replaces)

    def whole(self, state: StoreState, use: Use, sequence: int) -> Delta | None:
        """Return the initial delta for an iterator that starts now; None if there is nothing to report."""
        # without `trace`, which would count the solutions a second time
        return self._report(state, use, state.answer(use), sequence, True, {}, None)

    def _report(
        self,
        state: StoreState,
        use: Use,
        weights: TermWeights,
        sequence: int,
        initial: bool,
        expired: TermWeights,
        origins: Mapping[Terms, Origin] | None,
        *,
        replaces: bool = False,
    ) -> Delta | None:
        ends = time = None
        if use.query.present is not None:
            time = dated(use.query.present.now)
        if self._windowed is not None:
            shown = self._windowed.shown(weights, initial=initial, whole=lambda: state.answer(use))
            if shown is None and not (replaces and self._windowed.has_whole):
                return None
            # RSTREAM reports the full answer each time, so no solution expires from it
            whole = self._windowed.output == "rstream"
            initial, weights = initial or whole, shown or {}
            expired = {} if whole else {terms: n for terms, n in expired.items() if terms in weights}
            time = self._windowed.time(state, use.query)
            ends = self._windowed.ends(state, use, weights, expired)
        return Delta(
            self._header,
            weights,
            sequence=sequence,
            initial=initial,
            origins=self._tracer.origins() if initial and self._tracer is not None else origins,
            expired=expired,
            ends=ends,
            time=time,
            asked=self._asked,
        )
