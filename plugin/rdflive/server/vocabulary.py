"""The predicates and classes of the data, by use, for the completion of a query editor."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections import Counter
from collections.abc import Callable
from time import monotonic
from typing import Any, Final

import rdflib
from rdflib.namespace import RDF
from starlette.requests import Request
from starlette.responses import Response

from rdflive.model.term_text import is_writable
from rdflive.server.first_query import class_query, node_query
from rdflive.server.slices import Ended, QuadSlices
from rdflive.syntax.prefixes import writable_prefixes

__all__ = ["DataVocabulary", "show_vocabulary"]

log = logging.getLogger("rdflive")

_TYPE: Final = str(RDF.type)
_COUNTED: Final = 5_000
"""The most predicates, and classes, that are counted: the first ones read."""
_SHOWN: Final = 1_000
"""The most predicates, and classes, in a response: the most used ones."""
_PATIENCE: Final = 0.5
"""Seconds that a request waits for a count to end, before it returns the last result."""
_LONGEST: Final = 600.0
"""Seconds after which a count ends, complete or not: meanwhile the store cannot free deleted quads."""
_REST: Final = 2.0
"""The least seconds between two counts; the pause is at least as long as the last count."""


class DataVocabulary:
    """Counts the uses of predicates and classes in a thread, on request.

    A count reads all quads in slices (`QuadSlices`), so that it does not block writers. A request starts a
    new count if the data have changed, and returns the last result until it ends. `last` returns the number
    of the last commit. The event loop's thread calls the methods.
    """

    def __init__(self, dataset: rdflib.Dataset, last: Callable[[], int]) -> None:
        self._dataset = dataset
        self._last = last
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._result = _json(Counter(), Counter(), 0, is_complete=False, first="")
        self.totals: dict[str, int] | None = None
        """The numbers of triples, properties and classes at the last complete count; None before one, and if
        there are too many to count."""
        self._sequence = -1
        """The number of the last commit at the start of the last count."""
        self._rests_until = 0.0
        self._took = 0.0

    async def result(self) -> bytes:
        """Return the vocabulary as JSON."""
        begun = monotonic()
        if not self._is_counting and begun >= self._rests_until and self._sequence != self._last():
            self._sequence = self._last()
            self._thread = threading.Thread(target=self._count, name="rdflive-vocabulary", daemon=True)
            self._thread.start()
        # waits only if the last count was short enough
        while self._is_counting and self._took < _PATIENCE and monotonic() < begun + _PATIENCE:
            await asyncio.sleep(0.01)
        return self._result

    def close(self) -> None:
        """Stop a running count, and wait for its thread."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    @property
    def _is_counting(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _count(self) -> None:
        """Count once. Objects of Oxigraph are dropped in this thread, as they must be."""
        begun = monotonic()
        try:
            self._read(is_first=not self._took)
        except Ended:
            return
        except Exception:
            # for example a store that changed during the reading: the next count may succeed
            log.exception("the vocabulary of the data could not be counted")
        self._took = monotonic() - begun
        self._rests_until = monotonic() + max(_REST, self._took)

    def _read(self, *, is_first: bool) -> None:
        slices = QuadSlices(self._dataset, self._ended)
        prefixes = writable_prefixes(self._dataset)
        predicates: Counter[str] = Counter()
        classes: Counter[str] = Counter()
        total, due, node, iri = 0, 1, "", slices.iri
        triples, ends = slices.all(), monotonic() + _LONGEST
        while taken := slices.take(triples):
            for triple in taken:
                predicate = iri(triple[1])
                _add(predicates, predicate)
                if predicate == _TYPE:
                    _add(classes, iri(triple[2]))
            total += len(taken)
            if total >= due:
                due = 2 * total
                node = node or node_query(slices, taken, prefixes)
                # the first count has no earlier result, so its partial results are returned
                if is_first:
                    self._result = _json(predicates, classes, total, is_complete=False, first=node)
            if monotonic() > ends:
                self._result = _json(predicates, classes, total, is_complete=False, first=node)
                return
        if max(len(predicates), len(classes)) < _COUNTED:
            self.totals = {"triples": total, "properties": len(predicates), "classes": len(classes)}
        else:
            self.totals = None
        first = class_query(slices, classes, prefixes) or node
        self._result = _json(predicates, classes, total, is_complete=True, first=first)


async def show_vocabulary(request: Request) -> Response:
    """Respond with the vocabulary of the data."""
    vocabulary: DataVocabulary = request.app.state.service.vocabulary
    headers = {"Cache-Control": "no-store"}
    return Response(await vocabulary.result(), media_type="application/json", headers=headers)


def _add(counts: Counter[str], iri: str) -> None:
    """Count one use of an IRI, except those that a query cannot write; other terms have the text ""."""
    if iri in counts or (len(counts) < _COUNTED and is_writable(iri)):
        counts[iri] += 1


def _json(
    predicates: Counter[str], classes: Counter[str], triples: int, *, is_complete: bool, first: str
) -> bytes:
    shown: dict[str, Any] = {
        "triples": triples,
        "complete": is_complete,
        "predicates": _most_used(predicates),
        "classes": _most_used(classes),
        "first": first,
    }
    return json.dumps(shown).encode()


def _most_used(counts: Counter[str]) -> list[dict[str, Any]]:
    return [{"iri": iri, "uses": uses} for iri, uses in counts.most_common(_SHOWN)]
