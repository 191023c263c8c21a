"""The vocabulary of the data, which a query editor completes: the predicates and classes, by use."""

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

__all__ = ["DataVocabulary", "tell_vocabulary"]

log = logging.getLogger("rdflive")

_TYPE: Final = str(RDF.type)
_COUNTED: Final = 5_000
"""Predicates, and classes, that are counted: the first ones met."""
_TOLD: Final = 1_000
"""Predicates, and classes, that are told: those most used."""
_PATIENCE: Final = 0.5
"""Seconds that whoever asks waits for a count that has begun; after these what is counted so far is told."""
_LONGEST: Final = 600.0
"""Seconds after which a count ends, complete or not: a store keeps what is read, also what is deleted."""
_REST: Final = 2.0
"""Seconds between two counts; after a count that took longer, as long as it took."""


class DataVocabulary:
    """Counts how often predicates and classes are used, in a thread, while somebody asks.

    A count reads all quads in slices (`QuadSlices`), so that it holds up no writer, and is begun anew when
    somebody asks and the data have changed; until it ends the last one's is told. `last` gives the number of
    the last commit. Methods are called by the event loop's thread.
    """

    def __init__(self, dataset: rdflib.Dataset, last: Callable[[], int]) -> None:
        self._dataset = dataset
        self._last = last
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._told = _json(Counter(), Counter(), 0, is_complete=False, first="")
        self._sequence = -1
        """The last commit that was there when the last count began."""
        self._rests_until = 0.0
        self._took = 0.0

    async def tell(self) -> bytes:
        """Give the vocabulary as JSON."""
        begun = monotonic()
        if not self._is_counting and begun >= self._rests_until and self._sequence != self._last():
            self._sequence = self._last()
            self._thread = threading.Thread(target=self._count, name="rdflive-vocabulary", daemon=True)
            self._thread.start()
        # a count that took longer before will do so again
        while self._is_counting and self._took < _PATIENCE and monotonic() < begun + _PATIENCE:
            await asyncio.sleep(0.01)
        return self._told

    def close(self) -> None:
        """End the count that is under way, and wait for its thread."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    @property
    def _is_counting(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _count(self) -> None:
        """Count once. What Oxigraph gives is dropped in this thread, as it must be."""
        begun = monotonic()
        try:
            self._read(is_first=not self._took)
        except Ended:
            return
        except Exception:
            # such as a store that is changed while it is read, and says so: the next count may do
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
                # the first time whoever asks has nothing yet, so it is told as it grows
                if is_first:
                    self._told = _json(predicates, classes, total, is_complete=False, first=node)
            if monotonic() > ends:
                self._told = _json(predicates, classes, total, is_complete=False, first=node)
                return
        first = class_query(slices, classes, prefixes) or node
        self._told = _json(predicates, classes, total, is_complete=True, first=first)


async def tell_vocabulary(request: Request) -> Response:
    """Answer with the vocabulary of the data."""
    vocabulary: DataVocabulary = request.app.state.service.vocabulary
    headers = {"Cache-Control": "no-store"}
    return Response(await vocabulary.tell(), media_type="application/json", headers=headers)


def _add(counts: Counter[str], iri: str) -> None:
    """Count one use; blank nodes, literals and IRIs that no query can write are no names."""
    if iri in counts or (len(counts) < _COUNTED and is_writable(iri)):
        counts[iri] += 1


def _json(
    predicates: Counter[str], classes: Counter[str], triples: int, *, is_complete: bool, first: str
) -> bytes:
    told: dict[str, Any] = {
        "triples": triples,
        "complete": is_complete,
        "predicates": _most_used(predicates),
        "classes": _most_used(classes),
        "first": first,
    }
    return json.dumps(told).encode()


def _most_used(counts: Counter[str]) -> list[dict[str, Any]]:
    return [{"iri": iri, "uses": uses} for iri, uses in counts.most_common(_TOLD)]
