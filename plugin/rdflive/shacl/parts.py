"""One shape as the engine maintains it, and its results as they are told."""

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
from rdflive.shacl.found import ResultSource
from rdflive.shacl.shapes import Shape

__all__ = ["COLUMNS", "ShapeResults"]

COLUMNS: Final = ("focus", "path", "value", "component", "shape", "severity", "message", "constraint")
"""What a result is told as; each is called as in sh:ValidationResult."""


class ShapeResults(Use):
    """The results of one shape with targets, kept up to date."""

    __slots__ = ("_doubt", "_static", "_tell", "question", "results", "shape", "sources", "terms")

    terms: tuple[Any, ...]

    def __init__(
        self,
        shape: Shape | None,
        regime: Regime | None,
        to_native: Callable[[Any], Term],
        tell: Callable[[TermWeights], object],
        doubt: Callable[[], object],
    ) -> None:
        """Compile a shape; `tell` is called with what comes and goes, `doubt` where it is not known.
        Without a shape nothing comes.

        Raises `ShapesError`.
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
        """What was told last: each result, in the terms of the store, with how often it is there."""
        self._tell, self._doubt = tell, doubt
        self._static: dict[Term, tuple[ResultSource, Terms]] = {
            to_native(Literal(number)): (source, _static(source, to_native))
            for number, source in enumerate(self.sources)
        }

    @property
    def read_from(self) -> set[Node]:
        """The subjects of the shapes graph that say what the shape is."""
        return set() if self.shape is None else self.shape.read_from

    def emit(self, weights: TermWeights, sequence: int, initial: bool, expired: TermWeights, /) -> None:  # noqa: ARG002
        """Take what came and went. A whole answer comes where the query was started anew, so that what was
        told before is in doubt.
        """
        if initial:
            self.results = self._told(weights)
            self._doubt()
            return
        self._take(self._told(weights))

    def begin(self, weights: TermWeights) -> None:
        """Take the answer as it is at the beginning, or none at the end."""
        told = self._told(weights)
        add_weights(told, ((result, -weight) for result, weight in self.results.items()))
        self._take(told)

    def _told(self, weights: TermWeights) -> TermWeights:
        return add_up((self._result(row), weight) for row, weight in weights.items())

    def _take(self, told: TermWeights) -> None:
        add_weights(self.results, told.items())
        self._tell(told)

    def _result(self, row: Terms) -> Terms:
        focus, value, path, message, number = row
        _, static = self._static[number]
        path, message = (static[0] if path is None else path), (static[4] if message is None else message)
        return (focus, path, value, *static[1:4], message, static[5])


def _static(source: ResultSource, to_native: Callable[[Any], Term]) -> Terms:
    told = (
        source.path,
        source.component,
        source.shape,
        source.severity,
        source.messages[0],
        source.constraint,
    )
    return tuple(None if term is None else to_native(term) for term in told)
