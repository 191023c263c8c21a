"""What all subscriptions share, whether their answer is computed in this process or by a server."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from html import escape
from types import TracebackType
from typing import Any, Final, Literal, Self, TypeAlias

from rdflib import Graph

from rdflive.delivery.calling import Calling
from rdflive.delivery.constructed import ConstructedGraph
from rdflive.delivery.display import Display, notebook
from rdflive.delivery.mailbox import AsyncDeltas, Deltas, Mailbox, Source
from rdflive.errors import ClosedError, RdfliveError
from rdflive.model import Answers, Delta, Glimpse, Header, Solution, to_printable

__all__ = ["BaseSubscription", "Callback"]

_TITLE: Final = 60
"""Characters of the query that stand for a subscription without a name."""
_PROLOGUE: Final = re.compile(r"(?:\s*(?:PREFIX\s+\S*:|BASE)\s*<[^<>]*>)*\s*", re.IGNORECASE)

Callback: TypeAlias = Callable[[Delta], object]


class BaseSubscription(ABC):
    """A query whose answer is kept up to date, and the ways to follow it: by callback and by iterators."""

    def __init__(
        self,
        query: str,
        *,
        callback: Callback | None,
        initial: bool,
        name: str | None,
        on_error: Literal["log", "ignore"] | Callable[[Any, Exception], object],
    ) -> None:
        self.name = name
        self.last_error: Exception | None = None
        """What the callback raised last, or the error that ended the subscription."""
        self._text = query
        self._callback = callback
        self._initial = initial
        self._calling = Calling(self, on_error)
        self._delivered = 0
        self._made: ConstructedGraph | None = None
        self._display: Display | None = None
        self._mailboxes: dict[Mailbox, int] = {}
        """The mailbox of each iterator, with the sequence number of the last commit that it does not need."""
        self._untaken: list[Mailbox] = []
        """The mailbox of the first iterator, if nobody iterates yet; it has every delta from the
        beginning.
        """

    @property
    def query(self) -> str:
        """The text of the query."""
        return self._text

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of a SELECT query in its order; none for ASK and CONSTRUCT."""
        return self._shown.names if self._shown.form == "SELECT" else ()

    @property
    @abstractmethod
    def closed(self) -> bool:
        """True after `close`."""

    @abstractmethod
    def answers(self) -> Answers[Solution]:
        """List the answer, each solution as often as it occurs."""

    def show(self) -> None:
        """Show the first 20 solutions; in a notebook they are kept up to date, with what came and went last.

        Elsewhere they are printed, once. A display is updated a few times a second at most, until the
        subscription closes or is shown again. Raises `ClosedError`.
        """
        shower = notebook()
        if shower is None:
            print(self._glimpse())  # noqa: T201 - it is what was asked for
            return
        mailbox = Mailbox()
        with self._reading():
            self._mailboxes[mailbox] = self._now()
        display = Display(shower, mailbox, self._html, partial(self._mailboxes.pop, mailbox, None))
        self._display, former = display, self._display
        if former is not None:
            former.end()

    def _repr_html_(self) -> str:
        try:
            return self._html(None)
        except RdfliveError as error:
            return f"<p>{escape(to_printable(str(error)))}</p>"

    def _html(self, delta: Delta | None) -> str:
        return self._glimpse().html(delta, self._title)

    @abstractmethod
    def _glimpse(self) -> Glimpse:
        """Take the first solutions, without computing all of the answer where that can be avoided."""

    @property
    def graph(self) -> Graph:
        """The triples of a CONSTRUCT query as a live rdflib graph, which can be subscribed to itself.

        It changes before the callback is called. Do not write to it.
        """
        if self._shown.form != "CONSTRUCT":
            raise AttributeError("only the subscription of a CONSTRUCT query has a graph")
        with self._reading():
            if self._made is None:
                self._made = self._construct()
            return self._made.graph

    def deltas(self, timeout: float | None = None) -> Deltas:
        """Iterate the deltas from now on, blocking; ends when the subscription closes.

        Without a callback the first iterator starts where the subscription did; any other starts with
        the current answers (unless `initial=False`). What its consumer has not taken yet merges into
        one delta. With `timeout` (seconds) a wait that is too long raises `TimeoutError`, and the
        iterator goes on.
        """
        source, forget = self._open_source()
        return Deltas(source, timeout, forget)

    def __aiter__(self) -> AsyncDeltas:
        return AsyncDeltas(*self._open_source())

    @abstractmethod
    def doubt(self) -> None:
        """Take note that a callback was interrupted, perhaps half-way through its delta."""

    @abstractmethod
    def close(self) -> None:
        """Stop, and let the iterators end. May be repeated."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._title!r} {self._status}>"

    @property
    def _title(self) -> str:
        """The name, or else the beginning of the query, without its prefixes."""
        if self.name:
            return self.name
        text = " ".join(_PROLOGUE.sub("", self.query, 1).split())
        return text if len(text) <= _TITLE else f"{text[: _TITLE - 1]}…"

    @property
    def _status(self) -> str:
        return "closed" if self.closed else "open"

    @property
    @abstractmethod
    def _shown(self) -> Header:
        """What all rows share."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[object]:
        """Hold the lock of the answer."""

    @abstractmethod
    def _construct(self) -> ConstructedGraph:
        """Make the live graph of what is constructed now."""

    @abstractmethod
    def _now(self) -> int:
        """Give the sequence number of the answer as it is known here; raises `ClosedError` if it is not."""

    @abstractmethod
    def _whole(self) -> Delta | None:
        """Give the answer as an initial delta; None if there is nothing to tell."""

    def _open_source(self) -> tuple[Source, Callable[[], object]]:
        """Give what an iterator takes deltas from, and the function to call when it is closed."""
        mailbox = self._open_mailbox()
        return mailbox, partial(self._mailboxes.pop, mailbox, None)

    def _open_mailbox(self) -> Mailbox:
        try:
            # `pop` is one step for all threads, so two iterators cannot both be the first.
            return self._untaken.pop()
        except IndexError:
            mailbox = Mailbox()
        with self._reading():
            now = self._now()
            whole = self._whole() if self._initial else None
            if whole is not None:
                mailbox.put(whole)
            # the deltas of commits up to `now`, which may still be queued, are in `whole`
            self._mailboxes[mailbox] = now
        return mailbox

    def _open_first(self, since: int) -> Mailbox:
        """Open the mailbox of the first iterator before there is one."""
        mailbox = Mailbox()
        self._untaken.append(mailbox)
        self._mailboxes[mailbox] = since
        return mailbox

    def _end_iterators(self) -> None:
        # a copy: an iterator that is freed meanwhile takes its mailbox out
        for mailbox in tuple(self._mailboxes):
            mailbox.close()

    def _closed_error(self) -> ClosedError:
        return ClosedError(f"subscription {self.name or self.query!r} is closed; subscribe again")
