"""The outbox of a resumed subscription: it delivers one delta at a time, numbered and written before."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from rdflive.delivery.mailbox import Mailbox
from rdflive.delivery.resume.journal import Journal, ResumeError, Rows
from rdflive.delivery.resume.row_texts import (
    Row,
    RowTermTexts,
    read_report,
    read_row,
    texts_of,
    write_report,
    write_row,
)
from rdflive.errors import ClosedError
from rdflive.model import Delta, Header

__all__ = ["Consumer", "Outbox", "texts_for"]

_Result = TypeVar("_Result")


class Outbox:
    """Delivers deltas to the one consumer of a subscription with a journal.

    A delta waits in the mailbox, and later deltas are merged into it, until the consumer requests one. Then
    it is written to the journal with its number (1), delivered (2), and acknowledged by the next request (3).
    If the process ends after (1), the delta is delivered again with the same number.
    """

    def __init__(
        self,
        journal: Journal,
        header: Header,
        *,
        sample: Any,
        initial: bool,
        call: Callable[[Delta], bool] | None,
        stop: Callable[[BaseException], object],
        asked: Row = (),
    ) -> None:
        """Start with the pending delta of the journal; `sample` is any term of the store.

        `call` passes a delta to the callback, and returns false if it failed; it is None if an iterator takes
        the deltas. `stop` ends the subscription after an error. `asked` are the terms for its parameters.
        """
        self.mailbox = Mailbox(limit=0)
        self.count = 0
        """Number of delivered deltas."""
        self._journal = journal
        self._header = header
        self._asked = asked
        self._texts = texts_for(sample)
        self._initial = initial
        self._call = call
        self._stop = stop
        self._consumer: Consumer | None = None
        self._taking = threading.Lock()
        self._pending = self._written()

    def put(self, delta: Delta) -> None:
        """Queue a delta, or call the callback; an initial delta is reduced to the missed changes."""
        if delta.initial and not self._initial and not self._journal.begun:
            # with `initial=False` the answer at the start counts as delivered
            self.attempt(lambda: self._journal.begin(self._to_rows(delta)[0]))
        self.mailbox.put(delta)
        if self._call is not None:
            # a new consumer, so that the delta of an interrupted callback comes again
            self._consumer = consumer = Consumer(self)
            # the last request, which returns None, acknowledges the last delta
            while (numbered := consumer.take_now(_ignore)[0]) is not None:
                if not self._call(numbered):
                    return  # it comes again with the next delta

    def again(self) -> None:
        """Deliver the last delta again, because the callback was interrupted."""
        if self._consumer is not None:
            self._consumer.again()

    def close(self) -> None:
        """Deliver no more; the waiting changes are found again when the subscription is resumed."""
        self._journal.close()
        self.mailbox.close()

    def consumer(self) -> Consumer:
        """Return the consumer for an iterator; raises ResumeError while there is another consumer."""
        if self._consumer is not None or self._call is not None:
            raise ResumeError(
                f"subscription {self._journal.name!r} has a consumer already: a resumed subscription has "
                "one, its callback, an iterator or next(); close that iterator, or subscribe by another name"
            )
        self._consumer = Consumer(self)
        return self._consumer

    def release(self, consumer: object) -> None:
        """Remove a consumer; its unacknowledged delta goes to the next one."""
        if consumer is self._consumer:
            self._consumer = None

    def take(self, consumer: Consumer, wake: Callable[[], None]) -> tuple[Delta | None, bool]:
        """Acknowledge a consumer's last delta, and take the next; see `DeltaSource.take_now`.

        A released consumer gets none.
        """
        return self.attempt(lambda: self._take(consumer, wake)) or (None, False)

    def acknowledge(self, consumer: Consumer) -> None:
        """Acknowledge the delta that a consumer has taken."""
        self.attempt(lambda: self._acknowledge(consumer))

    def attempt(self, step: Callable[[], _Result]) -> _Result | None:
        """Run a step on the journal. An error stops the subscription, which can be resumed."""
        try:
            return step()
        except ClosedError:
            return None
        except BaseException as error:
            self._stop(error)
            raise

    def _take(self, consumer: Consumer, wake: Callable[[], None]) -> tuple[Delta | None, bool]:
        with self._taking:  # a step of a released consumer ends before the next consumer's step
            if not self._serves(consumer):
                return None, False
            self._settle(consumer)
            delta, more = self._look(wake)
            # if it was stopped meanwhile, the delta goes to the next consumer
            if not self._serves(consumer):
                return None, False
            if delta is not None:
                consumer.has_taken = True
                self.count += 1
            return delta, more

    def _look(self, wake: Callable[[], None]) -> tuple[Delta | None, bool]:
        delta, more = None if self._journal.closed else self._pending, True
        while delta is None:
            waiting, more = self.mailbox.take_now(wake)
            if waiting is None:
                break
            delta = self._pending = self._number(waiting)
        return delta, more

    def _acknowledge(self, consumer: Consumer) -> None:
        with self._taking:
            if self._serves(consumer):
                self._settle(consumer)

    def _settle(self, consumer: Consumer) -> None:
        if consumer.has_taken:
            consumer.has_taken = False
            self._journal.acknowledge()
            self._pending = None

    def _serves(self, consumer: Consumer) -> bool:
        return consumer is self._consumer and not consumer.is_stopped

    def _number(self, delta: Delta) -> Delta | None:
        """Write a delta to the journal, and return it with its number; None if there is nothing to report."""
        rows, terms = self._to_rows(delta)
        initial = delta.initial and not self._journal.begun
        if delta.initial and not initial:
            rows = self._journal.missed(rows)
        if not rows and not initial:
            return None
        report = write_report(delta, {row: text for text, row in terms.items() if text in rows})
        number = self._journal.write(rows, initial=initial, report=report)
        return self._to_delta(rows, terms, number, initial, report)

    def _written(self) -> Delta | None:
        found = self._journal.pending()
        if found is None:
            return None
        return self._to_delta(found.rows, {}, found.number, found.initial, found.report)

    def _to_rows(self, delta: Delta) -> tuple[Rows, dict[str, Row]]:
        """Return the weights and the terms of a delta's rows, by their texts."""
        rows: Rows = {}
        terms: dict[str, Row] = {}
        for (
            row,
            weight,
        ) in delta._weights.items():  # in terms of the store; the public attributes convert them
            try:
                text = write_row(self._texts, row)
            except ValueError as error:
                raise ResumeError(
                    f"a file cannot hold an answer of {self._journal.name!r}: {error}"
                ) from error
            rows[text] = rows.get(text, 0) + weight
            terms[text] = row
        return {text: weight for text, weight in rows.items() if weight}, terms

    def _to_delta(
        self, rows: Rows, terms: Mapping[str, Row], number: int, initial: bool, report: str
    ) -> Delta:
        width = 3 if self._header.form == "CONSTRUCT" else len(self._header.names)
        weights: dict[Any, int] = {}
        read: dict[str, Row] = {}
        for text, weight in rows.items():
            try:
                # rows removed while the program did not run are only in the file
                row = terms[text] if text in terms else read_row(self._texts, text, width)
            except ValueError as error:
                raise ResumeError(
                    f"{self._journal.path!r} holds an answer of {self._journal.name!r} that this store "
                    f"cannot hold: {error}; delete the file and start again"
                ) from error
            weights[row] = weight
            read[text] = row
        reported = read_report(report, read)
        return Delta(self._header, weights, sequence=number, initial=initial, asked=self._asked, **reported)


class Consumer:
    """Takes deltas from an outbox; requesting the next delta acknowledges the last."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self.has_taken = False
        """True while it has an unacknowledged delta."""
        self.is_stopped = False

    def take(self, timeout: float | None = None) -> Delta | None:
        """Wait for a delta; None at the end, `TimeoutError` after `timeout` seconds."""
        while True:
            delta, more = self._outbox.take(self, _ignore)
            if delta is not None or not more:
                return delta
            self._outbox.mailbox.wait(timeout, is_over=lambda: self.is_stopped)

    def take_now(self, wake: Callable[[], None]) -> tuple[Delta | None, bool]:
        """Take a delta without blocking; see `DeltaSource`."""
        return self._outbox.take(self, wake)

    @property
    def waits(self) -> bool:
        """True while a delta waits, which may turn out to be empty."""
        return self._outbox.mailbox.waits

    def forget(self, wake: Callable[[], None]) -> None:
        """Cancel the call of `wake`."""
        self._outbox.mailbox.forget(wake)

    def done(self) -> None:
        """Acknowledge the last delta."""
        self._outbox.acknowledge(self)

    def again(self) -> None:
        """Deliver the last delta again."""
        self.has_taken = False

    def stop(self) -> None:
        """Take no more, and end a wait in another thread; waiting deltas go to the next consumer."""
        self.is_stopped = True
        self._outbox.mailbox.wake()


def _ignore() -> None:
    """Do nothing: `put` calls the callback, and threads wait in the mailbox."""


def texts_for(term: Any) -> RowTermTexts:
    """Return the text form for the terms of a store, given one of them."""
    try:
        return texts_of(term)
    except ValueError as error:
        raise ResumeError(f"resume cannot keep the answers of this store: {error}") from error
