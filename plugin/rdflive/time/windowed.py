"""The parameters of a subscription to windows, and the instants at which its solutions expire."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from rdflive.engine.dictionary import UNBOUND
from rdflive.engine.multiset import TermWeights
from rdflive.engine.query import QueryState, Use
from rdflive.engine.store_state import StoreState
from rdflive.engine.view import View
from rdflive.entail.provenance import refuse_hidden
from rdflive.errors import UnsupportedQueryError
from rdflive.model import Terms
from rdflive.query import algebra
from rdflive.query.bgp import Variable
from rdflive.query.plan import Plan
from rdflive.time.instants import Instant
from rdflive.time.opening import Windowing
from rdflive.time.view import WindowView

__all__ = ["Endings", "Output", "Windowed"]

Bindings: TypeAlias = dict[str, int]


class Endings:
    """Computes when solutions expire.

    A match ends with the first of its triples. A solution with several matches ends with the last of them.

    Example: ?x has two matches. The triples of one expire at 12 and 15, those of the other at 14 and 20. The
    matches end at 12 and 14, so the solution ends at 14.
    """

    def __init__(self, plan: Plan, to_native: Callable[[Any], Any]) -> None:
        _check(plan)
        self._names = plan.query.names
        self._to_native = to_native
        self._preset = {name: to_native(term) for name, term in plan.query.preset.items()}

    def of(self, state: StoreState, use: Use, weights: Mapping[Terms, int]) -> dict[Terms, Instant | None]:
        """Return the ends of the solutions that appeared, None for never.

        The caller holds the store's lock.
        """
        known, intern = state.dictionary.ids.get, state.dictionary.intern
        asked = zip((v.name for v in use.query.plan.parameters), use.asked, strict=True)
        fixed = {**{name: known(term, -1) for name, term in self._preset.items()}, **dict(asked)}
        located = [
            (view, tuple(t if isinstance(t, Variable) else intern(self._to_native(t)) for t in pattern))
            for view, pattern in state.located(use.query)
        ]
        ends = {}
        for terms, weight in weights.items():
            if weight > 0:
                bound = zip(self._names, terms, strict=True)
                bindings = {name: known(term, -1) for name, term in bound if term is not None}
                found = list(_ends(located, {**fixed, **bindings}))
                ends[terms] = (
                    None if None in found else max((end for end in found if end is not None), default=None)
                )
        return ends


def _check(plan: Plan) -> None:
    """Raise UnsupportedQueryError unless each solution is a match of all patterns of the query."""
    passing = (algebra.Basic, algebra.Join, algebra.Filter, algebra.Extend, algebra.Project, algebra.Distinct)
    for step in plan.steps:
        if not isinstance(step.node, passing):
            raise UnsupportedQueryError(
                "expires=True needs a SELECT of joined patterns, with FILTER, BIND and DISTINCT: the end "
                f"of a solution of {type(step.node).__name__} is not known in advance",
                construct="expires",
            )
    if plan.query.form != "SELECT":
        raise UnsupportedQueryError(
            f"expires=True needs a SELECT: {plan.query.form} has no solutions", construct="expires"
        )
    refuse_hidden(plan, "expires")


def _ends(located: Sequence[tuple[View, tuple[Any, ...]]], bindings: Bindings) -> Iterator[Instant | None]:
    """List the ends of the matches that agree with the bindings.

    The pattern with most bound terms is matched first.
    """
    if not located:
        yield None
        return

    def value(term: Any) -> int:
        return bindings.get(term.name, UNBOUND) if isinstance(term, Variable) else int(term)

    # The pattern with the fewest unknown terms has the fewest matches.
    first = min(located, key=lambda item: sum(value(term) == UNBOUND for term in item[1][:3]))
    rest = [item for item in located if item is not first]
    view, pattern = first
    s, p, o = map(value, pattern[:3])
    for triple in list(view.matching((s, p, o))):
        found = dict(bindings)
        if all(
            not isinstance(term, Variable) or found.setdefault(term.name, part) == part
            for term, part in zip(pattern[:3], triple, strict=False)
        ):
            end = view.end(triple) if isinstance(view, WindowView) else None
            for later in _ends(rest, found):
                yield end if later is None else later if end is None else min(end, later)


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
