"""The base class of local and remote subscriptions, and their statistics."""

from __future__ import annotations

import re
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from html import escape
from types import TracebackType
from typing import Any, Final, Literal, Self

from rdflib import Graph
from sortedcontainers import SortedDict, SortedList

from rdflive.delivery.calling import Callback
from rdflive.delivery.constructed import ConstructedGraph
from rdflive.delivery.mailbox import AsyncDeltas, Deltas, DeltaSource, Mailbox, MailboxReader, take_async
from rdflive.delivery.relay import Receiver, Relay
from rdflive.delivery.widget import Display, bars, make_widget, notebook, widget_type
from rdflive.errors import ClosedError, RdfliveError
from rdflive.model import Answers, Delta, Glimpse, Header, Solution, to_printable

__all__ = ["BaseSubscription", "Callback", "Stats", "size_of"]


@dataclass(frozen=True, slots=True)
class Stats:
    """The work and the size of a subscription. Shared indexes count for each subscription."""

    algorithms: tuple[str, ...]
    """The algorithm of each segment, after `product` if segments are combined."""
    updates: int
    """Changes of the graph since the subscription began, or since its last resynchronisation."""
    matched: int
    """Number of times that such a change matched a pattern of the query."""
    deltas: int
    """Deltas delivered, the initial one included."""
    entries: int
    """Cached entries: keys of access paths and of masks, rows kept above them, and entailed triples."""
    size: int
    """Bytes of the containers behind `entries`, each once; rows and terms are not counted."""
    seconds: float
    """Seconds that the engine spent on changes of the graph that matched any subscription."""
    callback_seconds: float
    """Seconds spent in this subscription's callback."""
    members: int = 1
    """Number of members of its family: the subscriptions that share the plan and the work."""
    audits: int = 0
    """Number of audits of its answer."""
    audit_differences: int = 0
    """Number of audits that found a wrong answer."""


def size_of(containers: Iterable[Any]) -> int:
    """Return the bytes of containers of the engine, with the sets and lists inside them.

    A shared object counts once: the nodes of a cycle share the set of starts that reach them.

    >>> shared = {1, 2, 3}
    >>> size_of([{1: shared, 2: shared}, shared]) == sys.getsizeof({1: 0, 2: 0}) + sys.getsizeof(shared)
    True
    """
    found: dict[int, object] = {}
    waiting = list(containers)
    while waiting:
        container = waiting.pop()
        found[id(container)] = container
        if isinstance(container, dict):
            found.update((id(value), value) for value in container.values() if type(value) is set)
            if isinstance(container, SortedDict):  # a SortedList holds its keys in order
                waiting.append(vars(container)["_list"])
        elif isinstance(container, SortedList):  # `getsizeof` leaves out its lists
            lists = [value for value in vars(container).values() if isinstance(value, list)]
            lists += [inner for value in lists for inner in value if isinstance(inner, list)]
            found.update((id(value), value) for value in lists)
    return sum(map(sys.getsizeof, found.values()))


_TITLE: Final = 60
"""Length of the text of the query that names a subscription without a name."""
_PROLOGUE: Final = re.compile(
    r"(?:\s*(?:#[^\n]*(?=\n)|(?:PREFIX\s+\S*:|BASE)\s*<[^<>]*>))*\s*", re.IGNORECASE
)


class BaseSubscription(ABC):
    """A query whose answer is kept up to date, and the ways to follow it: by callback and by iterators."""

    # no `__dict__`: a store may have a million subscriptions
    __slots__ = (
        "__weakref__", "_callback_seconds", "_delivered", "_displays", "_doubted", "_elsewhere", "_followers",
        "_made", "_own", "_queue", "_receiver", "last_error",
    )  # fmt: skip

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self.last_error: Exception | None = None
        """The last exception of the callback, or the error that ended the subscription."""
        self._callback_seconds = 0.0
        self._delivered = 0
        self._doubted = -1
        """The number of the commit at which an interrupted callback was last noticed."""
        self._made: ConstructedGraph | None = None
        self._displays: dict[str, Mailbox] | None = None
        """The mailboxes of the output of `show`, and of the widget of each chart."""
        place = receiver.elsewhere
        self._elsewhere = None if place is None else Relay(self, receiver.callback, place)
        self._queue: Mailbox | None = None
        """The mailbox of all iterators. Without a callback it exists from the start, otherwise from the first
        iterator on.
        """
        self._own: DeltaSource | None = None
        """The source of `next`."""
        self._followers: tuple[tuple[Mailbox, int], ...] = ()
        """The queue and the mailboxes of displays, each with the last commit that it does not need."""

    @property
    @abstractmethod
    def query(self) -> str:
        """The text of the query."""

    @property
    def name(self) -> str | None:
        """The name given as `name=`."""
        return self._receiver.name

    @property
    def _on_error(self) -> Literal["log", "ignore"] | Callable[[Any, Exception], object]:
        return self._receiver.on_error

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of a SELECT query in its order; none for ASK and CONSTRUCT."""
        return self._shown.variables

    @property
    @abstractmethod
    def closed(self) -> bool:
        """True after `close`."""

    @abstractmethod
    def answers(self) -> Answers[Solution]:
        """List the answer, each solution as often as it occurs."""

    def show(self) -> None:
        """Show the first 20 solutions; a notebook keeps them up to date and marks the last changes.

        Elsewhere they are printed, once. A display is updated at most a few times a second, until the
        subscription closes or is shown again. Raises `ClosedError`.
        """
        shower = notebook()
        if shower is None:
            print(self._glimpse())  # noqa: T201 - printing is the purpose
            return
        mailbox = self._open_display("show")
        handle = shower.display(self._bundle(None), raw=True, display_id=True)
        Display(mailbox, lambda delta: handle.update(self._bundle(delta), raw=True))

    def widget(self, chart: str | None = None) -> Any:
        """Make a widget for notebooks: a table of the first 20 solutions, and a bar for each above it.

        `chart` names the variable whose numbers the bars show; without it there are no bars. The widget is an
        `anywidget.AnyWidget`, kept up to date like the output of `show`, until the subscription closes, the
        widget is closed, or another widget is made with the same `chart`. An export of the notebook, as HTML
        or elsewhere, shows its last content. Raises `MissingExtraError` if
        anywidget is missing (extra `notebook`), `ClosedError`, and ValueError for a variable that SELECT does
        not show.
        """
        if chart is not None and chart not in self.variables:
            known = ", ".join(self.variables) or "none"
            raise ValueError(f"chart must be a variable that SELECT shows ({known}), got {chart!r}")
        kind = widget_type()
        mailbox = self._open_display(f"widget {chart or ''}")
        return make_widget(kind, mailbox, lambda delta: self._bundle(delta, chart))

    def _open_display(self, name: str) -> Mailbox:
        """Return a new mailbox for a display, which replaces the last display of that name."""
        mailbox = Mailbox(limit=0)
        with self._reading():
            now, shown = self._now(), self._displays or {}
            if name in shown:
                shown[name].stop()
            others = [each for each in self._followers if not each[0].is_stopped]
            self._displays, self._followers = {**shown, name: mailbox}, (*others, (mailbox, now))
        return mailbox

    def _repr_html_(self) -> str:
        try:
            return self._glimpse().html(None, self._title)
        except RdfliveError as error:
            return f"<p>{escape(to_printable(str(error)))}</p>"

    def _bundle(self, delta: Delta | None, chart: str | None = None) -> dict[str, str]:
        """Return the content of a display, by media type."""
        glimpse = self._glimpse()
        above = "" if chart is None else bars(glimpse, delta, chart)
        return {"text/html": above + glimpse.html(delta, self._title), "text/plain": str(glimpse)}

    @abstractmethod
    def _glimpse(self) -> Glimpse:
        """Return the first solutions, if possible without computing the full answer."""

    @property
    def graph(self) -> Graph:
        """The triples of a CONSTRUCT query as a live rdflib graph, which can itself be subscribed to.

        It changes before the callback is called. Do not write to it.
        """
        if self._shown.form != "CONSTRUCT":
            raise AttributeError("only the subscription of a CONSTRUCT query has a graph")
        with self._reading():
            if self._made is None:
                self._made = self._construct()
            return self._made.graph

    def deltas(self, timeout: float | None = None) -> Deltas:
        """Iterate over waiting and future deltas, blocking; the iterator ends when the subscription closes.

        Waiting deltas belong to the subscription: abandoning an iterator loses nothing, and the next iterator
        continues. Several iterators share the deltas: each delta goes to the first that requests one.
        Without a callback, deltas wait from the start of the subscription. With a callback, they wait from
        the first iterator on, which starts with the current answer (unless `initial=False`). Each commit adds
        one delta until 10,000 rows wait; later deltas are merged into the newest. With `timeout` (seconds)
        a longer wait raises `TimeoutError`, and the iterator stays usable. Raises `ClosedError` if the
        subscription is closed and no delta waits.
        """
        source, release = self._open_source()
        return Deltas(source, timeout, release)

    def __aiter__(self) -> AsyncDeltas:
        return AsyncDeltas(*self._open_source())

    def next(self, timeout: float | None = None) -> Delta:
        """Wait for the next delta and take it, like an iterator.

        Raises `TimeoutError` after `timeout` seconds (0: return only a waiting delta), and `ClosedError` if
        the subscription is closed and no delta waits.

        >>> import rdflib, rdflive
        >>> graph = rdflib.Graph()
        >>> with rdflive.subscribe(graph, "ASK { ?s ?p ?o }") as subscription:
        ...     subscription.next(timeout=5).answer
        False
        """
        delta = self._own_source().take(timeout)
        if delta is None:
            raise self._ended()
        return delta

    async def anext(self, timeout: float | None = None) -> Delta:
        """Wait for the next delta and take it, like `next`, without blocking the event loop.

        If it is cancelled while it waits, no delta is lost.

        >>> import asyncio, rdflib, rdflive
        >>> async def first():
        ...     with rdflive.subscribe(rdflib.Graph(), "ASK { ?s ?p ?o }") as subscription:
        ...         return (await subscription.anext(timeout=5)).answer
        >>> asyncio.run(first())
        False
        """
        # imported here, because it is large and most subscriptions call plain functions
        import asyncio

        source = self._own_source()
        try:
            async with asyncio.timeout(timeout):
                delta = await take_async(source)
        except TimeoutError:
            raise TimeoutError(f"no delta within {timeout} s") from None
        if delta is None:
            raise self._ended()
        return delta

    @abstractmethod
    def doubt(self) -> None:
        """Record that a callback was interrupted, perhaps half-way through its delta.

        The full answer is delivered next. Queued deltas are differences to an answer that the subscriber may
        not have, so they are dropped: see `is_overtaken`.
        """

    def is_overtaken(self, delta: Delta) -> bool:
        """True if a delta is dropped, because the full answer follows it."""
        return delta.sequence <= self._doubted and not delta.initial

    @abstractmethod
    def close(self) -> None:
        """Stop, and end the iterators. May be repeated."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._title!r} {self._status}>"

    @property
    def _title(self) -> str:
        """The name, or the start of the query without its prefixes."""
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
        """The header of the rows."""

    @abstractmethod
    def _reading(self) -> AbstractContextManager[object]:
        """Hold the lock of the answer."""

    @abstractmethod
    def _construct(self) -> ConstructedGraph:
        """Make the live graph of the constructed triples."""

    @abstractmethod
    def _now(self) -> int:
        """Return the sequence number of the known answer; raises `ClosedError` if none is known."""

    @abstractmethod
    def _whole(self) -> Delta | None:
        """Return the full answer as an initial delta; None if there is nothing to report."""

    def _open_source(self) -> tuple[DeltaSource, Callable[[], object]]:
        """Return the source of an iterator, and the function to call when the iterator is closed."""
        return MailboxReader(self._open_queue()), lambda: None

    def _open_queue(self) -> Mailbox:
        queue = self._queue
        if queue is not None and (queue.waits or not self.closed):
            return queue
        with self._reading():
            now = self._now()
            if self._queue is None:  # another thread may have opened it
                queue = Mailbox()
                whole = self._whole() if self._receiver.initial else None
                if whole is not None:
                    queue.put(whole)
                # `whole` includes the deltas of commits up to `now`, some of which may still be queued
                self._queue, self._followers = queue, (*self._followers, (queue, now))
            return self._queue

    def _own_source(self) -> DeltaSource:
        own = self._own
        if own is None:
            own = self._own = self._open_source()[0]
        return own

    def _end_delivery(self) -> None:
        if self._elsewhere is not None:
            self._elsewhere.close()
        for mailbox, _ in self._followers:
            mailbox.close()

    def _ended(self) -> ClosedError:
        error = self._closed_error()
        # with a callback, `last_error` may be any of its exceptions
        if self._receiver.callback is None and error is not self.last_error:
            error.__cause__ = self.last_error
        return error

    def _closed_error(self) -> ClosedError:
        return ClosedError(f"subscription {self.name or self.query!r} is closed; subscribe again")
