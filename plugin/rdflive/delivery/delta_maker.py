"""Makes the delta that a subscriber gets from the weights that the engine gives."""

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
    """Makes the deltas of one subscription with origins, windows or NOW(); any other is told what the engine
    gives.

    All methods run under the store's lock.
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
        """Whether origins of solutions are tracked, so that every delta must be made."""
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
        """Make the delta that is reported; None if nothing is. Origins are known if it `traces`.

        A whole answer is reported at the beginning if there is anything in it, and later in any case, as it
        replaces what the subscriber has.
        """
        begun, self._has_begun = self._has_begun, True
        origins = None
        if traces and self._tracer is not None:
            # provenance is for a query of one basic graph pattern, so it looks at one view
            view: Any = state.watched(use.query)[0]
            traced: Traced = view.traced if isinstance(view, WindowView) else view
            # all that changes, whatever of it is shown
            origins = self._tracer.trace(traced, weights, initial=initial)
        replaces = initial and begun
        return self._report(state, use, weights, sequence, initial, expired, origins, replaces=replaces)

    def whole(self, state: StoreState, use: Use, sequence: int) -> Delta | None:
        """Make the initial delta for an iterator that starts now; None if nothing is reported."""
        # what was traced is given again: `trace` would count the solutions a second time
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
            # RSTREAM reports the whole answer in place of what was told, so nothing expires from it
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
