"""Warnings about registered functions that raise exceptions, which are errors of SPARQL and else not seen."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

from rdflib.plugins.sparql.sparql import SPARQLError

from rdflive.model.term_text import to_printable
from rdflive.query.expressions.geosparql import GeoSparql
from rdflive.query.expressions.registry import Registered
from rdflive.query.expressions.text import to_text
from rdflive.syntax.tree import Tree

__all__ = ["reporting"]

log = logging.getLogger("rdflive")

_MOST: Final = 1024
"""Largest number of warnings of a process: endless new queries must not fill memory and logs."""
_said: Final[set[tuple[str, int | None, type[BaseException]]]] = set()


def reporting(node: Tree, found: Registered) -> Callable[..., Any]:
    """Return the function of a call, which logs the first exception of each kind.

    Logged once for each text of a call. rdflib's SPARQLError is no mistake: a function raises it to say that
    it has no value.
    """
    # it refuses terms that are no geometries, as SPARQL says
    if isinstance(found.function, GeoSparql):
        return found.function
    call = to_text(node.changed(version=None))  # without the mark of a function that was registered again

    def reported(*arguments: Any) -> Any:
        try:
            return found.function(*arguments)
        except Exception as error:
            # the error of `register_function` has the exception of the user's function as its cause
            cause = error.__cause__ if type(error) is SPARQLError and error.__cause__ else error
            said = call, node.version, type(cause)
            if not isinstance(cause, SPARQLError) and said not in _said and len(_said) < _MOST:
                _said.add(said)
                log.warning(
                    "%.200s has no value in some rows: the function raised %s: %.200s",
                    call, type(cause).__name__, to_printable(str(cause)),
                )  # fmt: skip
            raise

    return reported
