"""Makes the delta that a subscriber gets from the weights that the engine gives."""

from __future__ import annotations

from rdflive.engine.query import TermWeights, Use
from rdflive.engine.store_state import StoreState
from rdflive.entail.provenance import Tracer
from rdflive.entail.view import EntailedView
from rdflive.model import Delta, Header, Terms
from rdflive.time.windowed import Windowed

__all__ = ["DeltaMaker"]


class DeltaMaker:
    """Makes the deltas of one subscription with origins or windows: any other is told what the engine gives.

    All methods run under the store's lock.
    """

    def __init__(
        self, header: Header, asked: Terms, tracer: Tracer | None, windowed: Windowed | None
    ) -> None:
        self._header = header
        self._asked = asked
        self._tracer = tracer
        self._windowed = windowed

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
    ) -> Delta | None:
        """Make the delta that is reported; None if nothing is."""
        if self._windowed is not None:
            shown = self._windowed.shown(weights, initial=initial, whole=lambda: state.answer(use))
            if shown is None:
                return None
            # RSTREAM reports the whole answer in place of what was told, so nothing expires from it
            whole = self._windowed.output == "rstream"
            initial, weights = initial or whole, shown
            expired = {} if whole else {terms: n for terms, n in expired.items() if terms in shown}
        origins = ends = time = None
        if self._tracer is not None:
            # provenance is for a query of one basic graph pattern, so it looks at one view
            view = state.watched(use.query)[0]
            assert isinstance(view, EntailedView)  # noqa: S101 - there is entailment where there is a tracer
            origins = self._tracer.trace(view, weights, initial=initial)
        if self._windowed is not None:
            time = self._windowed.time(state, use.query)
            ends = self._windowed.ends(state, use, weights, expired)
        return Delta(
            self._header,
            weights,
            sequence=sequence,
            initial=initial,
            origins=origins,
            expired=expired,
            ends=ends,
            time=time,
            asked=self._asked,
        )

    def whole(self, state: StoreState, use: Use, sequence: int) -> Delta | None:
        """Make the initial delta for an iterator that starts now; None if nothing is reported."""
        weights = state.answer(use)
        if self._tracer is None:
            return self.make(state, use, weights, sequence, True, {})
        # what was traced is given again: `trace` would count the solutions a second time
        return Delta(
            self._header,
            weights,
            sequence=sequence,
            initial=True,
            origins=self._tracer.origins(),
            asked=self._asked,
        )
