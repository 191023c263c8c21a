"""A reader of one consistent state of an endpoint in pages."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Final, NamedTuple

from rdflib.term import BNode

from rdflive.http import HttpFault, without_query
from rdflive.model import Quad
from rdflive_stores.endpoint.queries import Needed
from rdflive_stores.endpoint.requests import EndpointError, Requests, conditions
from rdflive_stores.endpoint.results import JSON_RESULTS, N_TRIPLES, ResultRows, WrongFormat, read_rows

__all__ = ["Pages"]


_UNCOUNTED: Final = -1


class _Page(NamedTuple):
    rows: ResultRows
    total: int
    """Number of rows of all pages; -1 if a limit of the server cut off the row with the number."""
    headers: Mapping[str, str]
    fresh: bool = True
    """False if the server reported that the page is unchanged."""


class _Torn(HttpFault):
    """The pages are not from one moment."""


class Pages:
    """Reads the state of an endpoint that matches some patterns, and keeps it for the next reading.

    Every answer has the number of rows of the full state, in one query with its own rows. A server answers a
    query from one state, so one page with all rows is a state of the endpoint. Rows that a server silently
    leaves out are detected by their number.

    Several pages are read twice, the second time with conditional requests if the server supports them. A
    page that is the same both times did not change between its two readings, and all these periods include
    the moment between the two rounds. So the result is the state at that moment. Only a change that was
    undone in between is missed. If all pages have one strong ETag, the server numbers its states, and one
    round is enough. Pages that differ, overlap or have different counts are read again after growing waits.
    An inconsistent state is never returned.
    """

    def __init__(self, requests: Requests, url: str, size: int, *, stable_labels: bool) -> None:
        self._requests = requests
        self._url = url
        self._place = without_query(url)
        self._size = size
        self._stable_labels = stable_labels
        self._can_construct = True
        self._has_answered = False
        self._needed: Needed | None = None
        self._last: list[_Page] = []

    def read(self, needed: Needed) -> tuple[Quad, ...] | None:
        """Return the distinct matching quads; None if the endpoint reports no change.

        Raises `EndpointError` if no consistent state can be read.
        """
        if needed != self._needed:
            self._needed, self._last = needed, []
        rounds: list[list[_Page]] = []
        pages = self._requests.attempt(self._url, lambda: self._consistent(needed, rounds))
        if pages is self._last:
            return None
        self._last = pages
        return tuple(dict.fromkeys(chain.from_iterable(page.rows.quads for page in pages)))

    def _consistent(self, needed: Needed, rounds: list[list[_Page]]) -> list[_Page]:
        """Read two equal rounds; `rounds` keeps the last round of an earlier attempt."""
        pages = rounds.pop() if rounds else self._round(needed, self._last)
        if self._last and not any(page.fresh for page in pages):
            return self._last
        if len(pages) == 1 or _is_one_version(pages):
            return self._distinct(pages)
        again = self._round(needed, pages)
        if [page.rows.keys for page in pages] != [page.rows.keys for page in again]:
            # fresh: a page unchanged since the first round may have changed since `_last`
            rounds.append([page._replace(fresh=True) for page in again])
            raise _Torn(
                f"its {len(pages)} pages of {self._size} rows changed while they were read; a larger page= "
                "or queries that need fewer triples are read faster"
            )
        return self._distinct(again)

    def _distinct(self, pages: list[_Page]) -> list[_Page]:
        """Refuse pages that repeat a row, and therefore lack another."""
        if len(set(chain.from_iterable(page.rows.keys for page in pages))) != pages[0].total:
            raise _Torn("it repeats rows, so it violates ORDER BY or DISTINCT; set a larger page=")
        return pages

    def _round(self, needed: Needed, known: list[_Page]) -> list[_Page]:
        """Read all pages once."""
        pages: list[_Page] = []
        while not pages or len(pages) * self._size < pages[0].total:
            number = len(pages)
            page = self._page(needed, number, known[number] if number < len(known) else None)
            pages.append(page)
            if page.total != pages[0].total:
                raise _Torn(f"it changed while its pages of {self._size} rows were read; set a larger page=")
            if page.total > self._size and not self._stable_labels:
                self._refuse_blank_nodes(page)
        return pages

    def _page(self, needed: Needed, number: int, known: _Page | None) -> _Page:
        received = -1

        def once() -> _Page:
            nonlocal received
            page = self._request(needed, number, known)
            expected = min(self._size, max(0, page.total - number * self._size))
            before, received = received, len(page.rows.quads)
            if received == expected and page.total != _UNCOUNTED:
                return page
            reason = f"it returned {received} rows but counts {expected}"
            if page.total == _UNCOUNTED:
                reason = f"it returned {received} rows without the row that counts them"
            # the same number twice: a limit of the server
            if received == before < self._size:
                # the row with the number of rows counts too
                advice = _limit_advice(received + (page.total != _UNCOUNTED))
                raise EndpointError(f"{self._place}: {reason}; {advice}")
            raise HttpFault(reason)

        return self._requests.attempt(self._url, once)

    def _request(self, needed: Needed, number: int, known: _Page | None) -> _Page:
        construct = self._can_construct and not needed.names_graphs
        query = needed.query(self._size, number, construct=construct)
        accept = N_TRIPLES if construct else JSON_RESULTS
        answer = self._requests.ask(self._url, query, accept, conditions(known.headers) if known else {})
        if answer.status == 304 and known is not None:
            return known._replace(fresh=False)
        try:
            rows = read_rows(answer, construct=construct)
        except WrongFormat as fault:
            # after an earlier answer it is a page of a proxy, which may pass
            if not construct and self._has_answered:
                raise
            if not construct:
                raise EndpointError(f"{self._place}: {fault}") from fault
            self._can_construct = False  # every endpoint answers a SELECT in JSON
            return self._request(needed, number, None)
        self._has_answered = True
        return _Page(rows, _UNCOUNTED if rows.total is None else rows.total, answer.headers)

    def _refuse_blank_nodes(self, page: _Page) -> None:
        if any(isinstance(term, BNode) for quad in page.rows.quads for term in quad):
            raise EndpointError(
                f"{self._place}: {page.total} rows do not fit on a page of {self._size}, and some hold blank "
                f"nodes, whose labels differ between pages; set page={page.total} or more, configure it to "
                "skolemise them, or set stable_labels=True if it gives a node the same label in every answer"
            )


def _limit_advice(limit: int) -> str:
    """Say what helps with a server that returns at most so many rows."""
    if limit == 0:
        return "the answer is empty: is this the URL of a SPARQL endpoint?"
    if limit == 1:
        return "it seems to return at most 1 row, and a page needs 2: raise that limit of the server"
    return f"it seems to return at most {limit} rows: set page={limit - 1} or less"


def _is_one_version(pages: list[_Page]) -> bool:
    tags = {page.headers.get("ETag", "") for page in pages}
    # a weak tag (`W/"1"`) may cover several states
    return len(tags) == 1 and tags.pop().startswith('"')
