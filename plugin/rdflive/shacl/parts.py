"""One shape as the engine maintains it, and its results as subscribers receive them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from rdflib import Literal
from rdflib.term import Node

from rdflive.delivery.membership import SUBCLASSES, with_subclasses
from rdflive.delivery.question import Question
from rdflive.engine.multiset import TermWeights, add_up, add_weights
from rdflive.engine.query import Use
from rdflive.entail.entailment import Regime
from rdflive.model import Term, Terms
from rdflive.query.parse import ParsedQuery
from rdflive.query.plan import make_plan
from rdflive.shacl.compiling import NAMES, compile_shape, nothing
from rdflive.shacl.conditions import ResultSource
from rdflive.shacl.shapes import Shape

__all__ = ["COLUMNS", "ShapeResults"]

COLUMNS: Final = ("focus", "path", "value", "component", "shape", "severity", "message", "constraint")
"""The columns of a result, named as in sh:ValidationResult."""


class ShapeResults(Use):
    """Maintains the results of one shape with targets."""

    __slots__ = ("_doubt", "_report", "_static", "question", "results", "shape", "sources", "terms")

    terms: tuple[Any, ...]

    def __init__(
        self,
        shape: Shape | None,
        regime: Regime | None,
        to_native: Callable[[Any], Term],
        report: Callable[[TermWeights], object],
        doubt: Callable[[], object],
    ) -> None:
        """Compile a shape. `report` receives the changes of results; `doubt` is called after a new full
        answer.

        Without a shape there are no results. Raises `ShapesError`.
        """
        self.shape = shape
        self.terms = ()
        self.sources: tuple[ResultSource, ...] = ()
        root, text = nothing(), "# no shape"
        if shape is not None:
            text = f"# the shape {shape.node.n3()}"
            root, self.sources = compile_shape(shape, merges=with_subclasses(regime) in (regime, SUBCLASSES))
        self.question = Question(text, make_plan(ParsedQuery(text, "SELECT", root, NAMES, {})), regime)
        self.results: TermWeights = {}
        """The results reported so far, in the terms of the store, with their multiplicity."""
        self._report, self._doubt = report, doubt
        self._static: dict[Term, tuple[ResultSource, Terms]] = {
            to_native(Literal(number)): (source, _static(source, to_native))
            for number, source in enumerate(self.sources)
        }

    @property
    def read_from(self) -> set[Node]:
        """The subjects of the shapes graph that define the shape."""
        return set() if self.shape is None else self.shape.read_from

    def emit(self, weights: TermWeights, sequence: int, initial: bool, expired: TermWeights, /) -> None:  # noqa: ARG002
        """Apply a change of the answer.

        An initial answer follows a restart of the query, so earlier reports are in doubt.
        """
        if initial:
            self.results = self._results_of(weights)
            self._doubt()
            return
        self._take(self._results_of(weights))

    def begin(self, weights: TermWeights) -> None:
        """Take the answer at the start, or an empty one at the end."""
        changes = self._results_of(weights)
        add_weights(changes, ((result, -weight) for result, weight in self.results.items()))
        self._take(changes)

    def _results_of(self, weights: TermWeights) -> TermWeights:
        return add_up((self._result(row), weight) for row, weight in weights.items())

    def _take(self, changes: TermWeights) -> None:
        add_weights(self.results, changes.items())
        self._report(changes)

    def _result(self, row: Terms) -> Terms:
        focus, value, path, message, number = row
        _, static = self._static[number]
        path, message = (static[0] if path is None else path), (static[4] if message is None else message)
        return (focus, path, value, *static[1:4], message, static[5])


def _static(source: ResultSource, to_native: Callable[[Any], Term]) -> Terms:
    terms = (
        source.path,
        source.component,
        source.shape,
        source.severity,
        source.messages[0],
        source.constraint,
    )
    return tuple(None if term is None else to_native(term) for term in terms)
